"""Asynchronous runners for tests: a loop and a runner for each, a gate, and waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from pycortex import AsyncJobProgress, AsyncRunner

T = TypeVar("T")

LIMIT = 60.0


def run(coroutine: Callable[[], Awaitable[T]]) -> T:
    """Call an async function in a loop of its own, with a limit."""

    async def limited() -> T:
        async with asyncio.timeout(LIMIT):
            return await coroutine()

    return asyncio.run(limited())


@pytest.fixture
def in_runner(database: str) -> Callable[..., Any]:
    """Calls an async function with a started AsyncRunner on `database`, made with options."""

    def call(main: Callable[[AsyncRunner], Awaitable[T]], url: str = database, **options: Any) -> T:
        async def inside() -> T:
            async with AsyncRunner(url, **{"grace": 5, "poll_interval": 0.05, **options}) as runner:
                return await main(runner)

        return run(inside)

    return call


async def until(predicate: Callable[[], T], *, what: str = "") -> T:
    """Ask *predicate* again and again, without blocking the loop, until its answer is true."""
    deadline = time.monotonic() + 30
    while not (answer := predicate()):
        assert time.monotonic() < deadline, f"not within 30 s: {what or predicate}"
        await asyncio.sleep(0.02)
    return answer


class AsyncGate:
    """A body that says when it runs, and ends when it is told to."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()
        self.progress: AsyncJobProgress
        self.task: asyncio.Task[Any]
        self.cancelled = 0

    async def __call__(self, progress: AsyncJobProgress) -> str:
        self.progress = progress
        task = asyncio.current_task()
        assert task is not None
        self.task = task
        self.entered.set()
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "passed"

    async def wait_entered(self) -> AsyncJobProgress:
        """Wait until the body runs; gives its progress object."""
        async with asyncio.timeout(20):
            await self.entered.wait()
        return self.progress

    def open(self) -> None:
        """Let the body end."""
        self.opened.set()
