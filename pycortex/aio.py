"""Jobs for applications of asyncio: a runner whose bodies are ``async def`` functions."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, CancelledError
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context, copy_context
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import psycopg

from pycortex import sql
from pycortex._bridge import Calls
from pycortex._call import ask
from pycortex._carriers import Carrier
from pycortex._log import brief, logger
from pycortex._loop import InLoop
from pycortex._places import Crowd, Places
from pycortex._pool import Pool, open_async_connection
from pycortex._threads import start_if_possible
from pycortex._ticket import Ticket
from pycortex.errors import JobCancelled
from pycortex.events import RunnerEvent
from pycortex.handle import AsyncJobHandle, JobHandle
from pycortex.models import DebounceMode, Job, RunnerJob
from pycortex.progress import AsyncJobProgress, JobProgress
from pycortex.registry import check_async_body
from pycortex.runner import Runner

__all__ = ["AsyncRunner", "ask"]

AsyncBody = Callable[[AsyncJobProgress], Coroutine[Any, Any, Any]]

VISITS, CALLS = 4, 4
"""Threads that start and finish jobs, and those that spawn them and look them up."""

LAST_MOMENT = 1.0
"""Seconds of a shutdown's grace that are left to bodies once they are cancelled."""


class AsyncRunner:
    """
    Spawns jobs from an asyncio application and runs their bodies, ``async def`` functions, as tasks
    of its event loop.

    Use it as an asynchronous context manager, or await ``start`` (the first ``spawn`` does) and
    ``shutdown``. It belongs to the loop in which it was started. A body that waits costs no thread:
    a few are enough for all. They keep the runner's lease, write steps and ends, also while the
    loop is busy.

    Args:
        conninfo: A URL or key=value string; what it leaves out libpq's environment says. Limits on
            waits for the network are added where it has none.
        max_jobs: How many bodies run at the same time; more wait in the order of their spawn.
        name: For people who look at ``cortex.runners``; by default the program's.
        step_interval: Seconds between two writes of one job's progress.
        grace: Seconds that shutdown lets bodies go on, unless told otherwise.
        poll_interval: Seconds, at most, between two looks at a job that waits for another one.
        on_event: Called in the loop with a RunnerEvent soon after a job was spawned, started or
            ended here.

    Raises:
        ValueError: A conninfo that can't be parsed, or an option that makes no sense.
    """

    def __init__(
        self,
        conninfo: str = "",
        *,
        max_jobs: int = 100,
        name: str | None = None,
        step_interval: float = 0.25,
        grace: float = 10.0,
        poll_interval: float = 1.0,
        on_event: Callable[[RunnerEvent], object] | None = None,
    ) -> None:
        if max_jobs < 1:
            raise ValueError(f"max_jobs is {max_jobs}; a runner needs at least one")
        self._runner = _LoopRunner(
            conninfo,
            max_workers=max_jobs,
            name=name,
            step_interval=step_interval,
            grace=grace,
            poll_interval=poll_interval,
            kill_after=LAST_MOMENT,
            on_event=None if on_event is None else partial(self._pass_on, on_event),
        )
        self._calls = Calls(CALLS)

    @property
    def name(self) -> str:
        """Its name in ``cortex.runners``."""
        return self._runner.name

    @property
    def uuid(self) -> UUID:
        """
        The runner's handle in the database; a new one if somebody retired it meanwhile.

        Raises:
            RuntimeError: It isn't started.
        """
        return self._runner.uuid

    @property
    def closing(self) -> bool:
        """Whether it is shutting down or shut down."""
        return self._runner.closing

    async def start(self) -> Self:
        """
        Register with the database and start the threads; nothing if that is done.

        Raises:
            psycopg.OperationalError: The database can't be reached.
            RuntimeError: It was shut down, or belongs to another event loop or process.
        """
        self._runner.bind(asyncio.get_running_loop())
        if self._runner.started:
            self._runner.start()  # says what is wrong, if anything is
            self._calls.open()
            return self
        self._calls.open()
        try:
            await self._calls.ask(self._runner.start)
        finally:
            if not self._runner.started:
                self._calls.close()
        return self

    async def spawn(
        self,
        kind: str,
        body: AsyncBody,
        *,
        actor: str = "",
        params: Mapping[str, Any] | None = None,
        debounce_scope: Mapping[str, Any] | None = None,
        debounce_on: DebounceMode | str = DebounceMode.ACTIVE,
        run_at: datetime | None = None,
        priority: int = 0,
    ) -> AsyncJobHandle:
        """
        Put a job on the books and run *body* for it, in a copy of the caller's context.

        When this is cancelled before it returns, there is no job, or the job is cancelled too.

        Args:
            kind: 1 to 200 characters.
            body: An ``async def`` function. Called with an AsyncJobProgress; what it returns
                becomes the job's result.
            actor: Who asks; at most 200 characters.
            params: What the body gets; converted as pycortex.values says, at most 8 MiB of JSON.
            debounce_scope: None: not debounced. Otherwise at most one active job of this kind and
                scope; ``{}`` is one per kind. Then the handle is the first one's.
            debounce_on: "active": queued and running jobs keep a new one out. "queued": only a
                waiting one does, so that a call while one runs queues exactly one follow-up.
            run_at: Not to be started before; an aware datetime.
            priority: For the listing; a runner starts its own jobs in the order of their spawn.

        Raises:
            TypeError, ValueError: Params, scope or body that won't do; says why.
            RuntimeError: The runner is shut down, or belongs to another event loop or process.
            psycopg.OperationalError: The database can't be reached; there is no job then.
            psycopg.DataError: An argument that the database refuses.
        """
        check_async_body(body)
        await self.start()
        asked = _Asked(body, copy_context())
        spawning = self._calls.submit(
            partial(
                self._runner.spawn,
                kind,
                asked,
                actor=actor,
                params=params,
                debounce_scope=debounce_scope,
                debounce_on=debounce_on,
                run_at=run_at,
                priority=priority,
            )
        )
        try:
            handle = await asyncio.wrap_future(spawning)
        except CancelledError:
            asked.withdrawn = True
            spawning.add_done_callback(self._withdraw)
            raise
        return AsyncJobHandle(handle, self._calls)

    async def shutdown(self, grace: float | None = None) -> None:
        """
        Take nothing new, let bodies end, then cancel and mark interrupted what is left, and leave.

        Returns within the grace and 5 seconds, whether the database answers or not. Cancelled, it
        makes haste and is over soon.

        Args:
            grace: Seconds for bodies to end; by default as the runner was made. The last one of
                them, but no more than half, is what a cancelled body has to clean up.
        """
        going = asyncio.wrap_future(Calls(1).submit(partial(self._runner.shutdown, grace)))
        try:
            await asyncio.shield(going)
        except CancelledError:
            self._runner._hurry(0)
            await asyncio.shield(going)
            raise
        finally:
            self._calls.close()

    async def __aenter__(self) -> Self:
        try:
            return await self.start()
        except CancelledError:
            self._runner.abandon()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Under asyncio.run the first Ctrl-C only cancels: this is one more, of somebody impatient.
        await self.shutdown(0 if isinstance(error, KeyboardInterrupt) else None)

    def _withdraw(self, spawning: Future[JobHandle]) -> None:
        """End the job of a spawn whose caller was cancelled."""
        if not spawning.cancelled() and spawning.exception() is None and spawning.result().created:
            self._calls.submit(partial(self._runner.withdraw, spawning.result().uuid))

    def _pass_on(self, on_event: Callable[[RunnerEvent], object], event: RunnerEvent) -> None:
        loop = self._runner.loop
        if loop is not None:
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(on_event, event)


class _Asked:
    """A body as it was asked for; called with what it holds, gives the coroutine."""

    def __init__(self, body: AsyncBody, context: Context) -> None:
        self._body = body
        self.context = context
        self.withdrawn = False

    def __call__(self, progress: Any) -> Coroutine[Any, Any, Any]:
        if self.withdrawn:
            raise JobCancelled("cancelled, as the call that spawned it was")
        return self._body(progress)


class _LoopRunner(Runner):
    """A runner whose bodies are tasks of an event loop."""

    loop: AbstractEventLoop | None = None

    def __init__(self, conninfo: str, **options: Any) -> None:
        super().__init__(conninfo, **options)
        self._pool = Pool(self._conninfo, self._watch, size=VISITS + CALLS + 4)

    def bind(self, loop: AbstractEventLoop) -> None:
        """
        Belong to a loop from now on.

        Raises:
            RuntimeError: It belongs to another one.
        """
        if self.loop is not loop and self._pid is not None:
            raise RuntimeError("this runner belongs to another event loop")
        self.loop = loop

    @property
    def started(self) -> bool:
        """Whether it was started, maybe in the process that this one was forked from."""
        return self._pid is not None

    def abandon(self) -> None:
        """Leave at once, also where a start is still going on."""

        def leave() -> None:
            with self._starting:
                pass
            self.shutdown(0)

        self._hurry(0)
        start_if_possible(leave, "pycortex-leave")

    def withdraw(self, job: UUID) -> None:
        """Ask for the end of a job that nobody wants any more."""
        try:
            self._pool.run(lambda conn: sql.cancel_job(conn, job))
        except psycopg.Error as error:  # its body doesn't begin, or hears of it later
            logger.debug("job %s is not cancelled yet: %s", job, brief(error))

    def _places(self) -> Places:
        return Crowd(self.max_workers, VISITS)

    def _carrier(self, ticket: Ticket, job: Job, progress: JobProgress) -> Carrier:  # noqa: ARG002
        assert self.loop is not None  # noqa: S101 - bound before it was started
        here = AsyncJobProgress(progress, partial(open_async_connection, self._conninfo))
        body: Callable[[Any], Any] = ticket.body
        context = body.context.copy() if isinstance(body, _Asked) else Context()
        return InLoop(
            self.loop, partial(body, here), here._close, progress, context, lambda: self.closing
        )

    def _hear(self, jobs: Sequence[RunnerJob]) -> None:
        super()._hear(jobs)
        if self.loop is not None and self.loop.is_closed() and not self.closing:
            logger.error("runner %s ends: its event loop was closed before it", self.name)
            self.abandon()

    def _leave(self, grace: float) -> None:
        if self.loop is None or not self.loop.is_running():  # no body can end within it
            grace = 0.0
            self._hurry(grace)
        super()._leave(grace)

    def _why(self, grace: float) -> str:
        if self.loop is not None and self.loop.is_closed():
            return "as its runner ended: its event loop was closed"
        return super()._why(grace)
