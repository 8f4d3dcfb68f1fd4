"""Where a body runs: in a thread of the runner's process, or wherever an executor takes it."""

from __future__ import annotations

import concurrent.futures
import pickle
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Protocol

import psycopg

from pycortex import sql
from pycortex._log import logger
from pycortex._outcome import Body, Outcome, run_body
from pycortex._pool import Pool, is_away
from pycortex._remote import Task, carry
from pycortex._text import describe, fit
from pycortex.models import JobStatus, Verdict
from pycortex.progress import JobProgress

__all__ = ["Carrier", "InExecutor", "InThread"]

GLANCE = 0.5
"""Seconds between two looks whether a body that waits for its executor should still begin."""

UNPORTABLE = pickle.PicklingError, AttributeError, TypeError
"""What pickling raises."""


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
    """
    Has somebody's executor run a body, in whatever thread, process or host that means.

    Args:
        broken: Called with the reason when the executor takes nothing any more.
    """

    ends_for_good = False

    def __init__(
        self,
        executor: Executor,
        task: Task,
        progress: JobProgress,
        pool: Pool,
        broken: Callable[[str], None],
    ) -> None:
        self._executor = executor
        self._task = task
        self._progress = progress
        self._pool = pool
        self._broken = broken
        self._verdict: Verdict | None = None
        self._begun = False

    def run(self) -> Outcome:
        """Submit the body and wait for what comes back."""
        try:
            future = self._executor.submit(carry, self._task)
            while not future.done():  # which wait doesn't hear where an executor just cancels it
                concurrent.futures.wait([future], GLANCE)
                if self._verdict is not None and not self._begun and self._withdraw():
                    future.cancel()
                    if self._verdict is Verdict.STOP:
                        return Outcome(None, "ended before its body began")
                    what = "cancelled on request, before its body began"
                    return Outcome(JobStatus.CANCELLED, what)
            report = future.result()
        except BaseException as error:  # noqa: BLE001 - executors raise anything; CancelledError
            return self._lost(error)
        self._progress._latest = report.latest
        return report.outcome

    def hear(self, verdict: Verdict, *, hard: bool) -> None:  # noqa: ARG002 - no executor can
        """Withdraw the body if it hasn't begun; else its own steps tell it."""
        self._progress._hear(verdict)
        self._verdict = verdict

    def end(self, why: Verdict, seconds: float | None = None) -> None:  # noqa: ARG002
        """Withdraw the body if it hasn't begun."""
        self._verdict = why

    def _withdraw(self) -> bool:
        """See to it that the body doesn't begin any more; returns whether that could be done."""
        # By the database's word, not the executor's: some say "cancelled" of what runs on.
        job = self._task.job
        try:
            ours = self._pool.run(lambda conn: sql.begin_body(conn, job.uuid, job.attempt))
        except psycopg.Error as error:
            self._begun = not is_away(error)
            return False
        self._begun = not ours
        return ours

    def _lost(self, error: BaseException) -> Outcome:
        logger.debug("job %s: no word from its body", self._task.job.uuid, exc_info=error)
        reason = self._why_unfit()
        if reason is not None:
            self._broken(reason)
            while not self._withdraw():
                if self._begun:
                    break
                time.sleep(GLANCE)
            else:
                return Outcome(None, note="its body had not begun")
        elif isinstance(error, UNPORTABLE):
            while isinstance(error.__cause__, UNPORTABLE):  # Dask says but that there is one
                error = error.__cause__
            what = f"the executor can't carry its body: {describe(error)}"
            return Outcome(JobStatus.FAILED, fit(what))
        return Outcome(JobStatus.FAILED, fit(f"the executor lost its body: {describe(error)}"))

    def _why_unfit(self) -> str | None:
        """Find out whether it was the executor or the body."""
        try:
            self._executor.submit(bool).cancel()
        except Exception as error:  # noqa: BLE001 - an executor may raise anything
            return describe(error)
        return None
