"""Bodies as tasks of an event loop, which wait without a thread and can be ended for good."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, CancelledError
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import Context
from typing import Any

from pycortex._outcome import Outcome, raised, returned
from pycortex._text import describe, fit
from pycortex.models import JobStatus, Verdict
from pycortex.progress import JobProgress

__all__ = ["InLoop"]

AGAIN, SOONEST = 5.0, 0.1
"""Seconds until a task that has swallowed its cancellation is cancelled again."""

AFTERMATH = 0.5
"""Seconds in which a loop that cancels all its tasks is closed."""


class InLoop:
    """
    Carries one body as a task.

    Args:
        body: Makes the awaitable that is the body.
        close: Closes what the body leaves open; raises nothing.
        context: The variables that the body sees.
        leaving: Says whether the runner is shutting down.
    """

    ends_for_good = True

    def __init__(
        self,
        loop: AbstractEventLoop,
        body: Callable[[], Awaitable[Any]],
        close: Callable[[], Awaitable[None]],
        progress: JobProgress,
        context: Context,
        leaving: Callable[[], bool],
    ) -> None:
        self._loop = loop
        self._body = body
        self._close = close
        self._progress = progress
        self._context = context
        self._leaving = leaving
        self._outcome: Future[Outcome] = Future()
        # The rest is the loop's thread's alone.
        self._task: asyncio.Task[Outcome] | None = None
        self._why: Verdict | None = None
        self._again_at = float("inf")
        self._again: asyncio.TimerHandle | None = None

    def run(self) -> Future[Outcome]:
        """Have the loop run the body."""
        self._tell(self._begin)
        return self._outcome

    def hear(self, verdict: Verdict, *, hard: bool) -> None:
        """Tell the body; where it need not heed that, cancel its task."""
        self._progress._hear(verdict)
        if hard:
            self.end(verdict)

    def end(self, why: Verdict, seconds: float | None = None) -> None:
        """Cancel the body's task; where that is swallowed, again after *seconds*, and so on."""
        self._tell(self._end, why, seconds)

    def _tell(self, what: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(what, *args)
        except RuntimeError:  # the loop is closed, which ends the runner too
            self._settle(Outcome(None))

    def _settle(self, outcome: Outcome) -> None:
        with suppress(InvalidStateError):
            self._outcome.set_result(outcome)

    # In the loop's thread.

    def _begin(self) -> None:
        if self._why is not None:
            self._settle(self._ended())
            return
        coroutine = self._carry()
        try:
            self._task = self._loop.create_task(
                coroutine, name=f"pycortex job {self._progress.uuid}", context=self._context
            )
        except Exception as error:  # noqa: BLE001 - a task factory may raise anything
            coroutine.close()
            what = f"no task could be made of its body: {describe(error)}"
            self._settle(Outcome(JobStatus.FAILED, fit(what), error=error))
        else:
            self._task.add_done_callback(self._over)

    async def _carry(self) -> Outcome:
        try:
            try:
                result = await self._body()
            finally:
                await self._close()
        except (GeneratorExit, KeyboardInterrupt):  # the loop's, not the body's
            raise
        except CancelledError as error:
            if self._why is not None or self._is_cancelled():
                raise
            return raised(error)  # of something that the body waited for
        except BaseException as error:  # noqa: BLE001 - the row always reaches a terminal state
            return raised(error)
        return returned(result)

    def _is_cancelled(self) -> bool:
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0

    def _over(self, task: asyncio.Task[Outcome]) -> None:
        if self._again is not None:
            self._again.cancel()
        if not task.cancelled() and task.exception() is None:
            self._settle(task.result())
        elif task.cancelled() and self._why is not None:
            self._settle(self._ended())
        else:
            # Not our doing. If the loop or the runner ends, that is what has ended the job.
            what = "its task was cancelled by the application"
            if not task.cancelled():
                what = describe(task.exception() or KeyboardInterrupt())
            self._loop.call_later(AFTERMATH, self._fail, what)

    def _fail(self, what: str) -> None:
        self._settle(Outcome(None) if self._leaving() else Outcome(JobStatus.FAILED, what))

    def _ended(self) -> Outcome:
        if self._why is Verdict.CANCEL:
            return Outcome(JobStatus.CANCELLED, "cancelled on request; its task was ended")
        return Outcome(None)

    def _end(self, why: Verdict, seconds: float | None) -> None:
        if self._why is None:
            self._why = why
            self._cancel()
        if seconds is not None:
            self._cancel_again(max(SOONEST, seconds))

    def _cancel(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            self._again_at = float("inf")
            self._cancel_again(AGAIN)

    def _cancel_again(self, seconds: float) -> None:
        """Cancel the task once more when so many seconds have passed, if not sooner."""
        at = self._loop.time() + seconds
        if at >= self._again_at:
            return
        if self._again is not None:
            self._again.cancel()
        self._again_at = at
        self._again = self._loop.call_at(at, self._cancel)
