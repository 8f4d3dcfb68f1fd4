"""Bodies away from their runner, in another process or on another host: what such a place needs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Connection

from pycortex import sql
from pycortex._log import Outage, brief, logger
from pycortex._outcome import Body, Outcome, run_body
from pycortex._pool import Pool, is_away, open_connection
from pycortex._steps import StepWriter, plain_step
from pycortex._text import describe, fit
from pycortex._threads import start_thread
from pycortex._watch import Watch
from pycortex.models import Job, JobStatus, Verdict
from pycortex.progress import JobProgress, Step

__all__ = ["Desk", "Report", "Task", "carry", "report"]

PATIENCE = 30.0
"""Seconds that a body waits where it was brought for the database to answer, before it begins."""

FIRST_DELAY, LAST_DELAY = 0.1, 2.0
"""Seconds between tries to reach it."""

FIRST_LOOK = 1.0
"""Seconds from a body's beginning to the first look what the database wants of it."""


@dataclass(frozen=True, slots=True, repr=False)
class Task:
    """
    One attempt at a job, to be carried elsewhere. Holds what the connection string holds.

    Attributes:
        body: The body; a process of ours gets it pickled, so that it can say what is missing.
    """

    job: Job
    body: Body | bytes
    conninfo: str
    step_interval: float

    def __repr__(self) -> str:
        # Executors print what they carry: neither passwords nor what the job was asked.
        return f"<attempt {self.job.attempt} of job {self.job.uuid}>"


@dataclass(frozen=True, slots=True)
class Report:
    """How a body ended elsewhere, and the latest step that it took."""

    outcome: Outcome
    latest: Step | None


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


class _Lookout:
    """Asks the database what it wants of bodies that their runner's beat can't reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._bodies: set[JobProgress] = set()
        self._over = threading.Event()
        start_thread(self._run, "pycortex-lookout")

    @contextmanager
    def over(self, progress: JobProgress) -> Iterator[None]:
        """Tell a body what is wanted of it for as long as the block takes."""
        self._bodies.add(progress)
        try:
            yield
        finally:
            self._bodies.discard(progress)

    def ask(self, uuid: UUID, attempt: int) -> Verdict:
        """
        Look what the database wants of an attempt.

        Raises:
            psycopg.Error: It doesn't answer.
        """
        job = self._pool.run(lambda conn: sql.find_job(conn, uuid))
        if job is None or job.status is not JobStatus.RUNNING or job.attempt != attempt:
            return Verdict.STOP
        return Verdict.CONTINUE if job.cancel_requested_at is None else Verdict.CANCEL

    def close(self) -> None:
        """Ask no more."""
        self._over.set()

    def _run(self) -> None:
        beat = FIRST_LOOK
        while not self._over.wait(beat):
            try:
                beat = self._pool.run(sql.configuration).runner_beat.total_seconds()
                for progress in tuple(self._bodies):
                    progress._hear(self.ask(progress.uuid, progress.attempt))
            except Exception as error:  # noqa: BLE001 - the next look may get through
                logger.debug("can't ask what is wanted of the bodies here: %s", brief(error))


class _Place:
    """What the bodies share that an executor brought to this process."""

    def __init__(self, conninfo: str, step_interval: float) -> None:
        self.desk = Desk(conninfo, step_interval)
        self.lookout = _Lookout(self.desk.pool)
        self.users = 0


_places: dict[tuple[int, str, float], _Place] = {}
_lock = threading.Lock()


@contextmanager
def _place(conninfo: str, step_interval: float) -> Iterator[_Place]:
    """Share what is open in this process; who leaves last closes it."""
    key = os.getpid(), conninfo, step_interval  # a fork inherits what it must not use
    with _lock:
        place = _places.get(key) or _places.setdefault(key, _Place(conninfo, step_interval))
        place.users += 1
    try:
        yield place
    finally:
        with _lock:
            place.users -= 1
            last = not place.users
            if last:
                del _places[key]
        if last:
            place.lookout.close()
            place.desk.close()


def carry(task: Task) -> Report:
    """Run a body where an executor brought it, if that is the first place."""
    job = task.job
    with _place(task.conninfo, task.step_interval) as here:
        try:
            begins = _begin(here.desk.pool, job)
            goes_on = begins or here.lookout.ask(job.uuid, job.attempt) is not Verdict.STOP
        except psycopg.Error as error:
            what = f"its body could not begin where the executor brought it: {describe(error)}"
            return Report(Outcome(JobStatus.FAILED, fit(what)), None)
        if not goes_on:
            return Report(Outcome(None, "ended before its body began"), None)
        if not begins:
            what = "the executor lost its body and brought it again; none is begun twice"
            return Report(Outcome(JobStatus.FAILED, what), None)
        progress = here.desk.progress(job)
        assert callable(task.body)  # noqa: S101 - pickled ones go to our own processes
        with here.lookout.over(progress):
            outcome = run_body(task.body, progress)
        here.desk.end(progress)
        return report(outcome, progress)


def _begin(pool: Pool, job: Job) -> bool:
    """
    Claim the right to run the body, once the database answers.

    Raises:
        psycopg.Error: It doesn't, or refuses.
    """
    until = time.monotonic() + PATIENCE
    delay = FIRST_DELAY
    while True:
        try:
            # If the answer is lost the right may be, and then the body doesn't run: not pool.run.
            with pool.connection() as conn:
                return sql.begin_body(conn, job.uuid, job.attempt)
        except psycopg.Error as error:
            if not is_away(error) or time.monotonic() > until:
                raise
        time.sleep(delay)
        delay = min(2 * delay, LAST_DELAY)


def report(outcome: Outcome, progress: JobProgress) -> Report:
    """Say how a body ended, in plain values."""
    latest = progress._latest
    return Report(outcome.portable(), None if latest is None else plain_step(latest))
