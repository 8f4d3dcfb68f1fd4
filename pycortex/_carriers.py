"""Where a body runs: in a thread of the runner's process, or wherever an executor takes it."""

from __future__ import annotations

import concurrent.futures
from concurrent.futures import Executor, Future
from typing import Protocol

import psycopg

from pycortex import sql
from pycortex._log import logger
from pycortex._outcome import Body, Outcome, run_body
from pycortex._pool import Pool
from pycortex._remote import Begun, Report, Task, carry
from pycortex._text import describe, fit
from pycortex.models import JobStatus, Verdict
from pycortex.progress import JobProgress

__all__ = ["Carrier", "InExecutor", "InThread"]

GLANCE = 0.5
"""Seconds between two looks whether a body that waits for its executor should still begin."""


class Carrier(Protocol):
    """
    Carries one body.

    Attributes:
        ends_for_good: Whether it can end a body that doesn't heed what it is told.
    """

    ends_for_good: bool

    def run(self) -> Outcome | Future[Outcome]:
        """Run the body to its end, from a thread of the runner; or promise what comes out."""

    def hear(self, verdict: Verdict, *, hard: bool) -> None:
        """Tell the body what the database wants, from any thread; *hard*: it need not heed it."""

    def end(self, why: Verdict, seconds: float | None = None) -> None:
        """End the body if that can be done, for good after *seconds*."""


class InThread:
    """Runs a body in the runner's own thread."""

    ends_for_good = False

    def __init__(self, body: Body, progress: JobProgress) -> None:
        self._body = body
        self._progress = progress

    def run(self) -> Outcome:
        """Run the body to its end."""
        return run_body(self._body, self._progress)

    def hear(self, verdict: Verdict, *, hard: bool) -> None:  # noqa: ARG002 - a thread can't be ended
        """Tell the body."""
        self._progress._hear(verdict)

    def end(self, why: Verdict, seconds: float | None = None) -> None:
        """Do nothing: a thread can't be ended."""


class InExecutor:
    """Has somebody's executor run a body, in whatever thread, process or host that means."""

    ends_for_good = False

    def __init__(self, executor: Executor, task: Task, progress: JobProgress, pool: Pool) -> None:
        self._executor = executor
        self._task = task
        self._progress = progress
        self._pool = pool
        self._verdict: Verdict | None = None
        self._begun = False

    def run(self) -> Outcome:
        """Submit the body and wait for what comes back."""
        try:
            future = self._executor.submit(carry, self._task)
        except Exception as error:  # noqa: BLE001 - an executor may raise anything
            return self._lost(error, "the executor doesn't take it")
        while not concurrent.futures.wait([future], GLANCE).done:
            if self._verdict is not None and not self._begun and self._withdraw(future):
                status = JobStatus.CANCELLED if self._verdict is Verdict.CANCEL else None
                return Outcome(status, "cancelled on request, before its body began")
        try:
            report = future.result()
        except BaseException as error:  # noqa: BLE001 - CancelledError among them
            return self._lost(error, "the executor lost it")
        self._progress._latest = report.latest
        return report.outcome

    def hear(self, verdict: Verdict, *, hard: bool) -> None:  # noqa: ARG002 - no executor can
        """Withdraw the body if it hasn't begun; else its own steps tell it."""
        self._progress._hear(verdict)
        self._verdict = verdict

    def end(self, why: Verdict, seconds: float | None = None) -> None:  # noqa: ARG002
        """Withdraw the body if it hasn't begun."""
        self._verdict = why

    def _withdraw(self, future: Future[Report]) -> bool:
        # By the database's word, not the executor's: some say "cancelled" of what runs on.
        job = self._task.job
        try:
            ours = self._pool.run(lambda conn: sql.begin_body(conn, job.uuid, job.attempt))
        except psycopg.Error:
            return False
        self._begun = not ours
        if ours:
            future.cancel()
        return ours

    def _lost(self, error: BaseException, what: str) -> Outcome:
        if isinstance(error, Begun):
            what = "the executor lost it, and started it again, which is not done"
        logger.debug("job %s: %s", self._task.job.uuid, what, exc_info=error)
        return Outcome(JobStatus.FAILED, fit(f"{what}: {describe(error)}"), error=error)
