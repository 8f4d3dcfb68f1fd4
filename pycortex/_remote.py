"""Bodies away from their runner, in another process or on another host: what such a place needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection

from pycortex import sql
from pycortex._log import Outage, logger
from pycortex._outcome import Body, Outcome, run_body
from pycortex._pool import Pool, open_connection
from pycortex._steps import StepWriter, plain_step
from pycortex._watch import Watch
from pycortex.errors import CortexError
from pycortex.models import Job
from pycortex.progress import JobProgress, Step

__all__ = ["Begun", "Desk", "Report", "Task", "carry", "report"]


@dataclass(frozen=True, slots=True)
class Task:
    """
    One attempt at a job, to be carried elsewhere. Holds what the connection string holds.

    Attributes:
        body: The body; a process of ours gets it pickled, so that it can say what is missing.
    """

    job: Job
    body: Body | bytes
    conninfo: str = field(repr=False)  # executors print what they carry
    step_interval: float


@dataclass(frozen=True, slots=True)
class Report:
    """How a body ended elsewhere, and the latest step that it took."""

    outcome: Outcome
    latest: Step | None


class Begun(CortexError):  # noqa: N818 - an outcome, named as such
    """This attempt has begun before: its executor lost it, and started it again."""


class Desk:
    """Writes steps and opens connections for the bodies of one place."""

    def __init__(
        self, conninfo: str, step_interval: float, told: Callable[[Step], None] | None = None
    ) -> None:
        self._conninfo = conninfo
        self._watch = Watch()
        self.pool = Pool(conninfo, self._watch, size=4)
        self._writer = StepWriter(self.pool, Outage(logger), step_interval, told)

    def progress(self, job: Job) -> JobProgress:
        """Make what a body holds in its hands."""
        return JobProgress(job, self._writer, self._connect)

    def end(self, progress: JobProgress) -> None:
        """Take no more steps of a body that is over."""
        progress._close()
        self._writer.forget(progress)

    def close(self) -> None:
        """Give back what is open."""
        self._writer.stop()
        self.pool.close()

    def _connect(self) -> Connection[Any]:
        return open_connection(self._conninfo, self._watch)


_desks: dict[tuple[str, float], tuple[Desk, int]] = {}
_lock = threading.Lock()


@contextmanager
def _desk(conninfo: str, step_interval: float) -> Iterator[Desk]:
    """Share this process's desk; who leaves last closes it."""
    key = conninfo, step_interval
    with _lock:
        found, users = _desks.get(key) or (Desk(conninfo, step_interval), 0)
        _desks[key] = found, users + 1
    try:
        yield found
    finally:
        with _lock:
            _, users = _desks.pop(key)
            if users > 1:
                _desks[key] = found, users - 1
            else:
                found.close()


def carry(task: Task) -> Report:
    """
    Run a body where an executor brought it.

    Raises:
        Begun: It was brought somewhere before.
        psycopg.Error: Nobody knows, as the database can't be asked.
    """
    job = task.job
    with _desk(task.conninfo, task.step_interval) as here:
        with here.pool.connection(new=True) as conn:
            begins = sql.begin_body(conn, job.uuid, job.attempt)
        if not begins:
            raise Begun(f"attempt {job.attempt} of job {job.uuid} has begun elsewhere, or is over")
        progress = here.progress(job)
        assert callable(task.body)  # noqa: S101 - pickled ones go to our own processes
        outcome = run_body(task.body, progress)
        here.end(progress)
        return report(outcome, progress)


def report(outcome: Outcome, progress: JobProgress) -> Report:
    """Say how a body ended, in plain values."""
    latest = progress._latest
    return Report(outcome.portable(), None if latest is None else plain_step(latest))
