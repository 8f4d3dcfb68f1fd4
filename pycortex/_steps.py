"""The thread that writes the steps of a runner's jobs, so that no body waits for the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING

import psycopg

from pycortex import sql
from pycortex._fork import part_at_fork
from pycortex._log import Outage, brief, logger
from pycortex._pool import Pool, is_away
from pycortex._threads import start_if_possible
from pycortex.errors import JobNotFound
from pycortex.models import Verdict

if TYPE_CHECKING:
    from pycortex.progress import JobProgress, Step

__all__ = ["StepWriter", "plain_step"]

FIRST_DELAY, LAST_DELAY = 0.25, 2.0
"""Seconds between tries to write a step that failed."""


LIMIT = 10.0
"""Seconds that a write may take; the database itself gives up on a locked row after 2."""

TOGETHER = 200
"""Steps that are written in one call at most."""

MISSING = (psycopg.errors.UndefinedFunction, psycopg.errors.InsufficientPrivilege)
"""An installation that knows only single steps, or that grants only these."""

SLACK = 1 / 8
"""Of the interval: so long a step waits for others that are due soon, unless its body waits."""


NO_STEP = (0, None, "")
"""What a job's row says before its first step."""


class StepWriter:
    """
    Writes each job's latest step when it is due.

    Args:
        interval: Seconds between two writes of one job.
        told: Called with every step that is written.
    """

    def __init__(
        self,
        pool: Pool,
        outage: Outage,
        interval: float,
        told: Callable[[Step], None] | None = None,
    ) -> None:
        self.interval = interval
        self._told = told
        self._pool = pool
        self._outage = outage
        self._due: dict[JobProgress, float] = {}
        self._waiting: dict[JobProgress, list[Future[None]]] = {}
        self._delay: dict[JobProgress, float] = {}
        self._together = TOGETHER
        self._changed = threading.Condition()
        self._running = False
        self._stopped = False
        part_at_fork(self)

    def _part(self) -> None:
        self._due = {}
        self._waiting = {}
        self._delay = {}
        self._changed = threading.Condition()
        self._running = False

    def schedule(
        self, progress: JobProgress, due: float, written: Future[None] | None = None
    ) -> None:
        """Look at *progress* at the monotonic time *due*; *written* is done after the next try."""
        with self._changed:
            self._due[progress] = min(due, self._due.get(progress, due))
            if written is not None:
                self._waiting.setdefault(progress, []).append(written)
            if not self._running:
                self._running = start_if_possible(self._run, "pycortex-steps")
            if not self._running:  # the last step of all is written with the end
                _tell(self._waiting.pop(progress, ()))
            self._changed.notify()

    def stop(self) -> None:
        """Let the thread end when nothing is due; a body that still runs starts another."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def forget(self, progress: JobProgress) -> None:
        """Write no more for a job that is over; wait for a write that is going on."""
        with self._changed:
            self._due.pop(progress, None)
            self._delay.pop(progress, None)
            _tell(self._waiting.pop(progress, ()))
        with progress._writing:
            pass

    def write(self, progress: JobProgress, *, again: bool = False) -> Verdict:
        """
        Write the latest step if it isn't yet, or *again*.

        Returns:
            What the body should hear.

        Raises:
            psycopg.Error: It could not be written.
        """
        with progress._writing:
            latest = progress._latest or NO_STEP
            if not again and (latest is NO_STEP or latest is progress._written):
                return Verdict.CONTINUE
            current, total, message = plain = plain_step(latest)
            try:
                verdict = self._pool.run(
                    lambda conn: sql.step(
                        conn,
                        progress.uuid,
                        current,
                        total,
                        message=message,
                        attempt=progress.attempt,
                    ),
                    limit=LIMIT,
                    relaxed=True,
                )
            except JobNotFound:
                verdict = Verdict.STOP
            self._note(progress, latest, plain)
        progress._hear(verdict)
        return verdict

    def _note(self, progress: JobProgress, latest: Step, plain: Step) -> None:
        progress._written = latest
        if self._told is not None:
            self._told(plain)

    def _run(self) -> None:
        while found := self._next():
            try:
                left = self._write_together(list(found)) if len(found) > 1 else list(found)
                # Whoever is through need not wait for those that are written one by one.
                for progress in found.keys() - left:
                    _tell(found.pop(progress))
                for progress in left:
                    self._write_or_retry(progress)
                    _tell(found.pop(progress))
            finally:
                for waiting in found.values():
                    _tell(waiting)
            del found, left

    def _write_together(self, due: list[JobProgress]) -> list[JobProgress]:
        """Write the steps of several jobs in one call; returns those to be written singly."""
        steps: dict[JobProgress, Step] = {}
        left: list[JobProgress] = []
        try:
            for progress in due:
                progress._scheduled = False
                if progress._closed:
                    continue
                if not progress._writing.acquire(blocking=False):
                    left.append(progress)  # its last step is being written, with its end
                    continue
                steps[progress] = latest = progress._latest or NO_STEP
                if latest is not NO_STEP and latest is not progress._written:
                    if isinstance(latest[2], str):
                        continue
                    left.append(progress)  # to make text of it may take its time
                else:
                    self._succeed(progress)
                del steps[progress]
                progress._writing.release()
            left += self._send(steps)
        finally:
            for progress in steps:
                progress._writing.release()
        return left

    def _send(self, steps: dict[JobProgress, Step]) -> list[JobProgress]:
        if not steps:
            return []
        try:
            answers = self._pool.run(
                lambda conn: sql.step_jobs(
                    conn,
                    [progress.uuid for progress in steps],
                    [current for current, _, _ in steps.values()],
                    total=[total for _, total, _ in steps.values()],
                    message=[message for _, _, message in steps.values()],
                    attempt=[progress.attempt for progress in steps],
                ),
                limit=LIMIT,
                relaxed=True,
            )
        except Exception as error:  # noqa: BLE001 - a step never fails its job
            if isinstance(error, psycopg.Error) and is_away(error):
                for progress in steps:
                    self._retry(progress, error)
                return []
            if isinstance(error, MISSING):
                self._together = 1
            return list(steps)  # one of them may be the reason
        left = []
        for (progress, step), answer in zip(steps.items(), answers, strict=True):
            if answer.verdict is None and answer.refusal != JobNotFound.sqlstate:
                left.append(progress)  # somebody has its row; a single step waits for that
                continue
            self._note(progress, step, step)
            progress._hear(answer.verdict or Verdict.STOP)
            self._succeed(progress)
        return left

    def _next(self) -> dict[JobProgress, list[Future[None]]]:
        """Wait for what is due; each with whoever waits for it. Nothing: the thread may end."""
        with self._changed:
            while True:
                now = time.monotonic()
                first = min(self._due.values(), default=None)
                if first is None and self._stopped:
                    self._running = False
                    return {}
                if first is not None and not self._waiting and len(self._due) > 1:
                    first += SLACK * self.interval
                if first is None:
                    self._changed.wait()
                elif first > now:
                    self._changed.wait(first - now)
                else:
                    due = [progress for progress, at in self._due.items() if at <= now]
                    due = due[: self._together]
                    for progress in due:
                        del self._due[progress]
                    return {progress: self._waiting.pop(progress, []) for progress in due}

    def _write_or_retry(self, progress: JobProgress) -> None:
        progress._scheduled = False
        if progress._closed:
            return
        try:
            self.write(progress)
        except Exception as error:  # noqa: BLE001 - a step never fails its job
            self._retry(progress, error)
        else:
            self._succeed(progress)

    def _retry(self, progress: JobProgress, error: Exception) -> None:
        self._report(progress, error)
        progress._trouble = True
        progress._scheduled = True
        with self._changed:
            delay = self._delay.get(progress, FIRST_DELAY)
            self._delay[progress] = min(2 * delay, LAST_DELAY)
            if not progress._closed:
                self._due[progress] = time.monotonic() + delay

    def _succeed(self, progress: JobProgress) -> None:
        progress._sent_at = time.monotonic()
        progress._trouble = False
        self._outage.over("progress")
        self._delay.pop(progress, None)

    def _report(self, progress: JobProgress, error: Exception) -> None:
        if isinstance(error, psycopg.Error) and is_away(error):
            self._outage.failed("progress", error)
        elif progress not in self._delay:
            logger.warning(
                "a step of job %s is not written yet: %s",
                progress.uuid,
                brief(error),
                extra={"job": progress.uuid, "kind": progress.kind, "actor": progress.actor},
            )


def _tell(waiting: Iterable[Future[None]]) -> None:
    for written in waiting:
        written.set_result(None)


def plain_step(step: Step) -> Step:
    """Make text of what a body gave as its message."""
    current, total, message = step
    if isinstance(message, str):
        return step
    if message is None:
        return current, total, ""
    try:
        return current, total, str(message)
    except Exception:  # noqa: BLE001 - somebody's __str__ may raise anything, and the counts stand
        return current, total, f"{type(message).__name__} whose text can't be had"
