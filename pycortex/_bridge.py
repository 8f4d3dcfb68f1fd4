"""From an event loop to threads and back: what would block it goes there, what is done is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from pycortex._threads import DaemonExecutor

__all__ = ["Calls", "told"]

T = TypeVar("T")


class Calls:
    """
    Has threads make calls that would block a loop: at most so many at once, others wait.

    Before *open* and after *close* each call has a thread of its own.
    """

    def __init__(self, threads: int) -> None:
        self._count = threads
        self._threads: DaemonExecutor | None = None

    def open(self) -> None:
        """Start the threads, unless they are."""
        if self._threads is None:
            self._threads = DaemonExecutor(self._count, "pycortex-call")

    def close(self) -> None:
        """Let the threads end when they have nothing more to do."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False)

    def submit(self, what: Callable[[], T]) -> Future[T]:
        """Have a thread make a call."""
        if self._threads is not None:
            return self._threads.submit(what)
        own = DaemonExecutor(1, "pycortex-call")
        future = own.submit(what)
        own.shutdown(wait=False)
        return future

    async def ask(self, what: Callable[[], T]) -> T:
        """Await a call; when cancelled, it isn't made, or goes on unheard."""
        return await asyncio.wrap_future(self.submit(what))


def told(future: Future[Any]) -> asyncio.Future[None]:
    """Make a future of the running loop that is done when *future* is, and may be cancelled."""
    loop = asyncio.get_running_loop()
    here = loop.create_future()

    def tell() -> None:
        if not here.done():
            here.set_result(None)

    def done(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(tell)

    future.add_done_callback(done)
    return here
