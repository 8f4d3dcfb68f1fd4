"""What happened in a test with faults, kept outside the job system, and held against its rows."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import namedtuple_row

from pycortex import JobCancelled, JobProgress, JobStopped, sql
from pycortex.models import Spawned

Body = Callable[[JobProgress], Any]

UNKNOWN = "unknown"
"""The result of a body that JSON doesn't hold as it stands."""

SETTLED = 30.0
"""Seconds after a test in which upkeep must have closed whatever it left."""

_numbers = itertools.count(1)


class Journal:
    """A file to which any process appends a line for each thing that happened, in one write."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def add(self, what: str, **facts: Any) -> None:
        """Append a line; the clock is the machine's, the same for all its processes."""
        line = json.dumps({"what": what, "at": time.monotonic(), **facts}, default=str) + "\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)

    def read(self) -> list[dict[str, Any]]:
        """All lines so far."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in lines]

    def body(self, body: Body) -> Recorded:
        """The same body, with a line at its start and one at its end."""
        return body if isinstance(body, Recorded) else Recorded(body, str(self.path))

    def acknowledged(self, job: UUID) -> None:
        """Note that somebody was told of this job."""
        self.add("acknowledged", job=job)


class Recorded:
    """A body that writes down when it runs and what comes out of it."""

    def __init__(self, body: Body, path: str) -> None:
        self.body = body
        self.path = path
        self.__name__ = getattr(body, "__name__", type(body).__name__)
        self.__qualname__ = self.__name__

    def __call__(self, progress: JobProgress) -> Any:
        journal = Journal(self.path)
        run = f"{os.getpid()}-{next(_numbers)}"
        journal.add("began", run=run, pid=os.getpid(), job=progress.uuid, attempt=progress.attempt)
        try:
            result = self.body(progress)
        except BaseException as error:
            journal.add("ended", run=run, status=_status(error), error=repr(error))
            raise
        journal.add("ended", run=run, status="succeeded", result=_plain(result))
        return result


def _status(error: BaseException) -> str | None:
    if isinstance(error, JobStopped):
        return None
    if isinstance(error, JobCancelled):
        return "cancelled"
    return "failed"


def _plain(result: Any) -> Any:
    try:
        return json.loads(json.dumps(result))
    except (TypeError, ValueError):
        return UNKNOWN


@dataclass
class Run:
    """One call of a body."""

    job: UUID
    attempt: int
    pid: int
    began: float
    ended: float | None = None
    killed: bool = False
    status: str | None = None
    result: Any = UNKNOWN
    error: str = ""
    turns: list[float] = field(default_factory=list)
    """When its process was stopped and went on, in turn."""

    @property
    def spans(self) -> list[tuple[float, float]]:
        """The times in which it was going on."""
        ends = [*self.turns, float("inf") if self.ended is None else self.ended]
        return list(zip([self.began, *self.turns[1::2]], ends[::2], strict=True))

    @property
    def known(self) -> bool:
        """Whether its outcome was known to a process that lived on."""
        return self.status is not None and not self.killed


class Ledger(Journal):
    """
    The account of one test: what was promised, what ran, and what its database says at the end.

    Attributes:
        faults: How many faults the test made.
    """

    def __init__(self, path: str | Path, conninfo: str) -> None:
        super().__init__(path)
        self.conninfo = conninfo
        self.faults = 0
        self.allowed: dict[str, str] = {}

    def fault(self, count: int = 1) -> None:
        """Count a fault that the test makes now."""
        self.faults += count

    def signal(self, process: subprocess.Popen[Any], number: int) -> None:
        """Send a process a signal, as a fault; SIGCONT only undoes one."""
        if number != signal.SIGCONT:
            self.fault()
        else:
            self.add("thawed", pid=process.pid)
        os.kill(process.pid, number)
        if number == signal.SIGSTOP:
            self.add("frozen", pid=process.pid)

    def terminate(self, conn: psycopg.Connection[Any], pid: int) -> None:
        """End a session of the server, as a fault."""
        self.fault()
        conn.execute("select pg_catalog.pg_terminate_backend(%s)", [pid])

    def enqueue(self, conn: psycopg.Connection[Any], kind: str, **options: Any) -> Spawned:
        """Spawn a job in SQL, on a connection in autocommit."""
        spawned = sql.spawn_job(conn, kind, **options)
        self.acknowledged(spawned.uuid)
        return spawned

    def watch(self, process: subprocess.Popen[Any]) -> None:
        """Note when a process ends, and whether it was by its own will."""

        def wait() -> None:
            killed = process.wait() != 0
            self.add("gone", pid=process.pid, killed=killed)

        threading.Thread(target=wait, daemon=True).start()

    def allow(self, figure: str, why: str) -> None:
        """Say that a figure, "lost", "doubled" or "left", may be more than 0 in this test."""
        self.allowed[figure] = why

    def runs(self) -> dict[UUID, list[Run]]:
        """The runs of each job, in the order of their beginning."""
        found: dict[str, Run] = {}
        for line in self.read():
            match line["what"]:
                case "began":
                    found[line["run"]] = Run(
                        UUID(line["job"]), line["attempt"], line["pid"], line["at"]
                    )
                case "ended":
                    run = found[line["run"]]
                    run.ended, run.status = line["at"], line["status"]
                    run.result, run.error = line.get("result", UNKNOWN), line.get("error", "")
                case "frozen" | "thawed":
                    for run in found.values():
                        if run.pid == line["pid"] and run.ended is None:
                            run.turns.append(line["at"])
                case "gone":
                    for run in found.values():
                        if run.pid == line["pid"]:
                            run.ended = line["at"] if run.ended is None else run.ended
                            run.killed = line["killed"]
        by_job = defaultdict(list)
        for run in found.values():
            by_job[run.job].append(run)
        return dict(by_job)

    def close(self) -> Figures:
        """Have upkeep close what the test left, as it would be closed anywhere; then count."""
        with psycopg.connect(self.conninfo, autocommit=True) as conn:
            sql.configure(conn, runner_beat="100 ms", runner_grace="300 ms")
            deadline = time.monotonic() + SETTLED
            while True:
                sql.maintain(conn)
                figures = self.count(conn)
                if figures.settled or time.monotonic() > deadline:
                    return figures
                time.sleep(0.05)

    def count(self, conn: psycopg.Connection[Any]) -> Figures:
        """Hold what was written down against the rows."""
        with conn.cursor(row_factory=namedtuple_row) as cursor:
            query = "select uuid, status::text, attempt, result, message from cortex.jobs"
            rows = {row.uuid: row for row in cursor.execute(query).fetchall()}
        promised = {UUID(line["job"]) for line in self.read() if line["what"] == "acknowledged"}
        runs = self.runs()
        return Figures(
            jobs=len(promised | runs.keys()),
            lost=[
                *(f"{job} was acknowledged and has no row" for job in promised - rows.keys()),
                *_unwritten(rows, runs),
                *_invented(rows, runs, promised),
            ],
            doubled=[text for entries in runs.values() for text in _overlaps(entries)],
            left=[
                f"{row.uuid} is {row.status}"
                for row in rows.values()
                if row.status in ("queued", "running")
            ],
            going=[run for entries in runs.values() for run in entries if run.ended is None],
        )


@dataclass
class Figures:
    """The figures of one test, each with the texts that say what went wrong."""

    jobs: int
    lost: list[str]
    doubled: list[str]
    left: list[str]
    going: list[Run]

    @property
    def settled(self) -> bool:
        """Whether nothing is going on any more, and all is written."""
        return not (self.lost or self.left or self.going)


def _unwritten(rows: dict[UUID, Any], runs: dict[UUID, list[Run]]) -> list[str]:
    """Outcomes that were known to a living process and that the row doesn't show."""
    texts = []
    for job, entries in runs.items():
        last = max(entries, key=lambda run: (run.attempt, run.began))
        row = rows.get(job)
        if not last.known or last.ended is None:
            continue
        if row is None:
            texts.append(f"{job} ended {last.status} and has no row")
            continue
        if row.attempt > last.attempt:
            continue  # its last attempt never came to its body
        if row.status == "cancelled" and last.status == "failed":
            continue  # its statement was ended at somebody's request
        same = last.result == UNKNOWN or row.result == last.result
        if row.status != last.status or not same:
            texts.append(
                f"{job} ended {last.status} {last.result!r} {last.error}, its row says "
                f"{row.status} {row.result!r} {row.message!r}"
            )
    return texts


def _invented(rows: dict[UUID, Any], runs: dict[UUID, list[Run]], promised: set[UUID]) -> list[str]:
    """Jobs whose rows claim a success that no body had."""
    return [
        f"{row.uuid} is said to have succeeded and never did"
        for row in rows.values()
        if row.uuid in promised
        and row.status == "succeeded"
        and not any(
            run.status == "succeeded" and run.attempt == row.attempt
            for run in runs.get(row.uuid, ())
        )
    ]


def _overlaps(entries: list[Run]) -> list[str]:
    """Two runs of one job at the same time, or two of the same attempt at any."""
    texts = []
    for one, other in itertools.combinations(sorted(entries, key=lambda run: run.began), 2):
        if one.attempt == other.attempt:
            texts.append(f"attempt {one.attempt} of {one.job} ran twice")
        elif any(
            begin < last and first < end for begin, end in one.spans for first, last in other.spans
        ):
            texts.append(f"{one.job} ran twice at once, attempts {one.attempt}, {other.attempt}")
    return texts


def main_journal() -> Journal:
    """The journal that a program was given by its environment."""
    return Journal(os.environ["PYCORTEX_TEST_JOURNAL"])


__all__ = ["Body", "Figures", "Journal", "Ledger", "Recorded", "Run", "main_journal"]
