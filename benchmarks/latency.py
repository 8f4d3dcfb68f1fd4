"""
How long things take that people wait for: a start, a death, a cancel.

The end of a body is when the job's row says so, which is after the body has stopped.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.harness import Sheet, Wanted, percentile, rounds
from benchmarks.server import Bench, plain_environment
from pycortex import JobProgress, Runner, sql

__all__ = ["TITLE", "WANTED", "run"]

TITLE = "Latency"
ROOT = Path(__file__).parents[1]
LIMIT = 90.0
NAP = 0.002
SHORT = "1 second", "3 seconds"
"""A runner's beat and grace, besides the usual 5 and 30 seconds."""

WANTED = [
    Wanted("latency.start.p50", "spawn to body, idle worker of another process, p50", "ms"),
    Wanted("latency.start.p99", "spawn to body, idle worker of another process, p99", "ms"),
    Wanted("latency.start.here", "spawn to body, runner of this process", "ms"),
    Wanted("latency.kill", "SIGKILL of a runner to interrupted, grace 30 s", "s"),
    Wanted("latency.kill.short", "SIGKILL of a runner to interrupted, grace 3 s", "s"),
    Wanted("latency.cancel.thread", "cancel_job to a stopped body that steps, thread", "ms"),
    Wanted("latency.cancel.process", "cancel_job to a stopped body that steps, process", "ms"),
    Wanted("latency.hard.statement", "hard cancel to the end of a body's statement, thread", "ms"),
    Wanted("latency.hard.process", "hard cancel to the end of a body that is deaf, process", "ms"),
    Wanted("latency.hard.sql", "hard cancel to the end of a body in SQL", "ms"),
]

VICTIM = """
import sys, time
from pycortex import Runner
runner = Runner(sys.argv[1], max_workers=1).start()
print(runner.spawn("victim", lambda progress: time.sleep(600)).uuid, flush=True)
time.sleep(600)
"""


def run(bench: Bench, sheet: Sheet) -> None:
    """Measure all of it."""
    with bench.database("latency") as url, psycopg.connect(url, autocommit=True) as conn:
        starts(bench, sheet, url)
        cancels(bench, sheet, url, conn)
    kills(bench, sheet)


def starts(bench: Bench, sheet: Sheet, url: str) -> None:
    """From spawn to the first line of the body."""
    p50, p99, here = [], [], []
    program = [sys.executable, "-m", "benchmarks.systems.pycortex", url]
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        worker = subprocess.Popen(  # noqa: S603 - ourselves
            [*program, "work", str(notes)], cwd=ROOT, env=plain_environment()
        )
        try:
            single(program, notes, 1)
            for _ in range(bench.scale.latencies):
                waits = single(program, notes, bench.scale.pickups)
                p50.append(percentile(waits, 0.5))
                p99.append(percentile(waits, 0.99))
        finally:
            worker.terminate()
            worker.wait(30)
    with Runner(url, max_workers=1) as runner:
        for _ in range(bench.scale.latencies):
            waits = [start_here(runner) for _ in range(bench.scale.pickups)]
            here.append(percentile(waits, 0.5))
    sheet.values("latency.start.p50", p50)
    sheet.values("latency.start.p99", p99)
    sheet.values("latency.start.here", here)


def single(program: list[str], notes: Path, count: int) -> list[float]:
    """Have single jobs picked up; returns milliseconds."""
    before = len(noted(notes))
    subprocess.run(  # noqa: S603 - ourselves
        [*program, "single", str(count)], cwd=ROOT, env=plain_environment(), check=True
    )
    until(lambda: len(noted(notes)) >= before + count)
    return [int(line.split()[1]) / 1e6 for line in noted(notes)[before:]]


def noted(notes: Path) -> list[str]:
    """What bodies wrote, line by line."""
    return notes.read_text().splitlines() if notes.exists() else []


def start_here(runner: Runner) -> float:
    """Milliseconds from spawn to body, in this process."""
    began: list[float] = []
    started = time.perf_counter()
    handle = runner.spawn("noop", lambda _: began.append(time.perf_counter()))
    handle.wait(timeout=LIMIT)
    return 1000 * (began[0] - started)


def stepping(progress: JobProgress) -> None:
    """A body that steps for ever."""
    number = 0
    while True:
        number += 1
        progress.step(number)
        time.sleep(0.01)


def deaf(progress: JobProgress) -> None:
    """A body that steps once, and hears nothing after."""
    progress.step(1, flush=True)
    while True:
        time.sleep(1)


def asking(progress: JobProgress) -> None:
    """A body whose statement takes for ever."""
    with progress.connection() as conn:
        progress.step(1, flush=True)
        conn.execute("select pg_sleep(600)")


def cancels(bench: Bench, sheet: Sheet, url: str, conn: psycopg.Connection[Any]) -> None:
    """From a cancel to the end."""
    conn.execute(
        "create procedure public.sleeper(job uuid) language plpgsql as $$"
        " begin perform cortex.step(job => job, current => 1); perform pg_sleep(600); end $$"
    )
    conn.execute("select cortex.register_sql_kind('sleeper', 'public.sleeper(uuid)')")
    with Runner(url, max_workers=2, grace=0.0) as runner:

        def cancel(
            body: Callable[[JobProgress], None], *, isolation: str, hard: bool = False
        ) -> float:
            job = runner.spawn(body.__name__, body, isolation=isolation).uuid
            until(lambda: sql.find_job(conn, job).progress_current > 0)  # type: ignore[union-attr]
            if body is asking:
                until(lambda: asleep(conn))  # an earlier cancel finds no statement to end
            return ended(conn, job, hard=hard)

        found = rounds(
            bench.scale.latencies,
            {
                "cancel.thread": lambda: cancel(stepping, isolation="thread"),
                "cancel.process": lambda: cancel(stepping, isolation="process"),
                "hard.statement": lambda: cancel(asking, isolation="thread", hard=True),
                "hard.process": lambda: cancel(deaf, isolation="process", hard=True),
                "hard.sql": lambda: cancel_sql(url, conn),
            },
            warm=False,
        )
    for name, values in found.items():
        sheet.values(f"latency.{name}", values)


def cancel_sql(url: str, conn: psycopg.Connection[Any]) -> float:
    """The same for a body in SQL, which another session runs."""
    job = sql.spawn_job(conn, "sleeper").uuid

    def work() -> None:
        with psycopg.connect(url, autocommit=True) as other, suppress(psycopg.Error):
            other.execute("call cortex.work()")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        until(lambda: sql.find_job(conn, job).status == "running")  # type: ignore[union-attr]
        until(lambda: asleep(conn))
        return ended(conn, job, hard=True)
    finally:
        thread.join(LIMIT)


def asleep(conn: psycopg.Connection[Any]) -> bool:
    """Whether any session sleeps."""
    [row] = conn.execute(
        "select exists (select from pg_stat_activity where wait_event = 'PgSleep')"
    ).fetchall()
    return bool(row[0])


def ended(conn: psycopg.Connection[Any], job: UUID, *, hard: bool) -> float:
    """Cancel a job; returns milliseconds until it is over."""
    started = time.perf_counter()
    sql.cancel_job(conn, job, hard=hard)
    until(lambda: sql.find_job(conn, job).finished_at is not None)  # type: ignore[union-attr]
    return 1000 * (time.perf_counter() - started)


def kills(bench: Bench, sheet: Sheet) -> None:
    """From SIGKILL to interrupted, where another runner lives; several deaths at once."""
    for key, short in (("latency.kill", False), ("latency.kill.short", True)):
        if not short and bench.scale.name != "full":
            sheet.skip("left out of the quick run, as it takes most of a minute", key)
            continue
        with bench.database("kill") as url, psycopg.connect(url, autocommit=True) as conn:
            if short:
                conn.execute(
                    "select cortex.configure(runner_beat => %s, runner_grace => %s)", SHORT
                )
            with Runner(url):
                sheet.values(key, deaths(bench, url, conn))


def deaths(bench: Bench, url: str, conn: psycopg.Connection[Any]) -> list[float]:
    """Kill runners one after another, and wait for all their jobs; returns seconds."""
    victims = []
    try:
        for _ in range(bench.scale.latencies):
            victim = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-c", VICTIM, url], cwd=ROOT, env=plain_environment(),
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            victims.append(victim)
        jobs = [UUID(victim.stdout.readline().strip()) for victim in victims if victim.stdout]
        for job in jobs:
            until(lambda job=job: sql.find_job(conn, job).status == "running")
        killed = []
        for victim in victims:
            victim.kill()
            killed.append(time.perf_counter())
            time.sleep(0.2)
        seconds: dict[UUID, float] = {}

        def all_over() -> bool:
            for job, moment in zip(jobs, killed, strict=True):
                found = sql.find_job(conn, job)
                if found is not None and found.status == "interrupted" and job not in seconds:
                    seconds[job] = time.perf_counter() - moment
            return len(seconds) == len(jobs)

        until(all_over)
        return [seconds[job] for job in jobs]
    finally:
        for victim in victims:
            victim.kill()
            victim.wait()
            if victim.stdout:
                victim.stdout.close()


def until(reached: Callable[[], bool]) -> None:
    """
    Wait for it.

    Raises:
        RuntimeError: It takes too long.
    """
    deadline = time.monotonic() + LIMIT
    while not reached():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited for {LIMIT:g} s in vain")
        time.sleep(NAP)
