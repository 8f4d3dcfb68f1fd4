"""
Other job systems on the same server: how fast one worker drains, how fast jobs get in and start.

Each system is a program of benchmarks.systems, run as its documentation shows and with the setting
that was the quickest of a few. In each round each of them gets a fresh database, fills it, has one
worker process empty it, and then has that worker, idle now, pick up single jobs. A drain lasts from
the start of the first body until the database says that no job is unfinished.

Like is compared with like: some commit each finish by itself, pgqueuer writes what ended in
batches, which a crash does again.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from benchmarks.harness import Sheet, Wanted, percentile
from benchmarks.server import Bench, plain_environment
from pycortex import Runner

__all__ = ["TITLE", "WANTED", "run"]

TITLE = "Against other job systems"
ROOT = Path(__file__).parents[1]
LIMIT = 240.0
"""Seconds that a worker gets to drain, or to pick up."""

WANTED = [
    Wanted("drain.procrastinate", "drain, each finish committed / procrastinate", at_least=5),
    Wanted("drain.absurd", "drain, each finish committed / absurd", at_least=3),
    Wanted("drain.dbos", "drain, each finish committed / DBOS", at_least=2.8),
    Wanted("drain.pgqueuer", "drain, batched finishes / pgqueuer, batch_size 100", at_least=1.3),
    Wanted("drain.single.pgqueuer", "drain, each finish committed / pgqueuer, batch_size 100"),
    Wanted("enqueue.pgqueuer", "bulk enqueue / pgqueuer", at_least=1),
    Wanted("enqueue.procrastinate", "bulk enqueue / procrastinate"),
    Wanted("pickup.p50", "pickup by an idle worker, p50 / pgqueuer", at_most=0.8),
    Wanted("pickup.p99", "pickup by an idle worker, p99 / pgqueuer", at_most=1),
    Wanted("pickup.procrastinate", "pickup by an idle worker, p50 / procrastinate"),
    Wanted("pickup.absurd", "pickup by an idle worker, p50 / absurd"),
    Wanted("pickup.dbos", "pickup by an idle worker, p50 / DBOS"),
]


@dataclass(slots=True)
class Peer:
    """
    A system, and what it gave so far, a value for each round.

    Attributes:
        module: Its program in benchmarks.systems.
        package: What has to be installed, besides what that needs.
        unfinished: Asks its database whether any job is not over.
        jobs: How many it drains.
        pickups: How many single ones it picks up after that.
        options: For its program.
    """

    name: str
    module: str
    package: str
    unfinished: str
    jobs: int
    pickups: int
    options: tuple[str, ...] = ()
    drained: list[float] = field(default_factory=list)
    enqueued: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    reason: str = ""

    @property
    def label(self) -> str:
        """Its name and version."""
        try:
            version = importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            version = ""
        return f"{self.name} {version}".strip()


def peers(bench: Bench) -> list[Peer]:
    """All that are compared, ours first; what is missing says so."""
    many = bench.scale.drain, bench.scale.pickups
    few = bench.scale.slow_drain, max(1, bench.scale.pickups // 3)
    active = "select exists (select from cortex.job where status in ('queued', 'running'))"
    found = [
        Peer("pycortex", "pycortex", "pycortex-jobs", active, *many),
        Peer("pycortex, batched", "pycortex", "pycortex-jobs", active, *many, batch_options()),
        Peer("pgqueuer", "pgqueuer", "pgqueuer", "select exists (select from pgqueuer)", *many),
        Peer(
            "procrastinate", "procrastinate", "procrastinate",
            "select exists (select from procrastinate_jobs where status in ('todo', 'doing'))",
            *few,
        ),
        Peer(
            "absurd", "absurd", "absurd-sdk",
            "select exists (select from absurd.t_noops where state <> 'completed')", *few,
        ),
        Peer(
            "DBOS", "dbos", "dbos",
            "select exists ("
            "select from dbos.workflow_status where status in ('ENQUEUED', 'PENDING'))", *few,
        ),
    ]  # fmt: skip
    for peer in found:
        wanted = {"absurd-sdk": ("absurd_sdk", "absurdctl"), "pgqueuer": ("pgqueuer", "asyncpg")}
        modules = wanted.get(peer.package, (peer.module,))
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        if missing:
            peer.reason = (
                f"{' and '.join(missing)} not installed: pip install --group bench, or make bench"
            )
        elif (
            peer.jobs == bench.scale.slow_drain
            and bench.scale.name == "quick"
            and peer.name != "procrastinate"
        ):
            peer.reason = "left out of the quick run, as it takes long to start"
    if not batch_options():
        found[1].reason = "this runner has no batched finishes"
    return found


def batch_options() -> tuple[str, ...]:
    """How a runner is told to write what ended in batches; empty if it can't."""
    names = inspect.signature(Runner.__init__).parameters
    return tuple(f"{name}={value}" for name, value in (("finish_batch", 100),) if name in names)


def run(bench: Bench, sheet: Sheet) -> None:
    """Measure all of it."""
    with ExitStack() as stack:
        found = peers(bench)
        templates: dict[str, str] = {}
        for peer in found:
            if peer.reason:
                continue
            if peer.module not in templates:
                url = stack.enter_context(bench.database(peer.module, installed=False))
                try:
                    program(peer, url, "setup", "-")
                except RuntimeError as error:
                    peer.reason = str(error)
                    continue
                templates[peer.module] = url.rpartition("/")[2]
        for _ in range(max(1, min(bench.scale.rounds, 5))):
            began = time.monotonic()
            for peer in found:
                if not peer.reason:
                    try:
                        measure(bench, peer, templates[peer.module])
                    except (RuntimeError, psycopg.Error) as error:
                        peer.reason = f"{peer.label} failed: {error}"
            found = found[1:] + found[:1]
            if 2 * time.monotonic() - began > bench.deadline:
                break  # another round would take too long; the number of rounds is on record
    tell(sheet, {peer.name: peer for peer in found})


def measure(bench: Bench, peer: Peer, template: str) -> None:
    """Fill, drain and pick up, once."""
    name = f"{template}_round"
    with tempfile.TemporaryDirectory() as folder:
        url = bench.server.create(name, template)
        try:
            said = program(peer, url, "bulk", str(peer.jobs))
            notes = Path(folder) / "notes"
            with (
                psycopg.connect(url, autocommit=True, prepare_threshold=0) as conn,
                worker(peer, url, notes),
            ):
                until_over(conn, peer)
                ended = time.monotonic_ns()
                [first] = lines(notes, "first")
                program(peer, url, "single", str(peer.pickups))
                until_over(conn, peer)
                waits = [number / 1e6 for number in lines(notes, "single")]
        finally:
            bench.server.drop(name)
    if len(waits) != peer.pickups:
        raise RuntimeError(f"{len(waits)} of {peer.pickups} jobs were picked up")
    peer.enqueued.append(peer.jobs / float(said.split("seconds ")[1]))
    peer.drained.append(peer.jobs / ((ended - first) / 1e9))
    peer.p50.append(percentile(waits, 0.5))
    peer.p99.append(percentile(waits, 0.99))


def command(peer: Peer, url: str, verb: str, argument: str) -> list[str]:
    """How its program is called."""
    module = f"benchmarks.systems.{peer.module}"
    return [sys.executable, "-m", module, url, verb, argument, *peer.options]


def program(peer: Peer, url: str, verb: str, argument: str) -> str:
    """Run its program; returns what it printed."""
    try:
        done = subprocess.run(  # noqa: S603 - ourselves
            command(peer, url, verb, argument), cwd=ROOT, env=plain_environment(),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{verb} took longer than {LIMIT:g} s") from None
    if done.returncode:
        raise RuntimeError(f"{verb} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


@contextmanager
def worker(peer: Peer, url: str, notes: Path) -> Iterator[None]:
    """Its worker, for the block."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 - ourselves
            command(peer, url, "work", str(notes)), cwd=ROOT, env=plain_environment(),
            stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
        )  # fmt: skip
        try:
            yield
        except RuntimeError as error:
            errors.seek(0)
            raise RuntimeError(f"{error}: {errors.read()[-500:].decode()}") from None
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def until_over(conn: psycopg.Connection[tuple[bool]], peer: Peer) -> None:
    """Wait until the database says that no job is unfinished."""
    deadline = time.monotonic() + LIMIT
    while True:
        [row] = conn.execute(peer.unfinished).fetchall()
        if not row[0]:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"not all jobs were over in {LIMIT:g} s")
        time.sleep(0.01)


def lines(notes: Path, word: str) -> list[int]:
    """The numbers that bodies noted."""
    said = notes.read_text().splitlines() if notes.exists() else []
    return [int(line.split()[1]) for line in said if line.startswith(word + " ")]


def tell(sheet: Sheet, found: dict[str, Peer]) -> None:
    """Note the ratios."""

    def ratio(key: str, what: str, unit: str, ours: str, theirs: str) -> None:
        us, them = found[ours], found[theirs]
        if us.reason or them.reason:
            sheet.skip(us.reason or them.reason, key)
            return
        counted = f"{len(us.drained)} rounds"
        jobs = "" if us.jobs == them.jobs else f", {us.jobs:,} jobs, theirs {them.jobs:,}"
        sheet.ratio(
            key, getattr(us, what), getattr(them, what), names=(us.label, them.label), unit=unit,
            note=counted + jobs if what == "drained" else counted,
        )  # fmt: skip

    for name in ("procrastinate", "absurd", "DBOS"):
        ratio(f"drain.{name.lower()}", "drained", "/s", "pycortex", name)
        ratio(f"pickup.{name.lower()}", "p50", "ms", "pycortex", name)
    ratio("drain.pgqueuer", "drained", "/s", "pycortex, batched", "pgqueuer")
    ratio("drain.single.pgqueuer", "drained", "/s", "pycortex", "pgqueuer")
    for name in ("pgqueuer", "procrastinate"):
        ratio(f"enqueue.{name}", "enqueued", "/s", "pycortex", name)
    ratio("pickup.p50", "p50", "ms", "pycortex", "pgqueuer")
    ratio("pickup.p99", "p99", "ms", "pycortex", "pgqueuer")
