"""absurd: asyncio, fifty jobs at a time, looks four times a second; each finish committed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from typing import Any

import absurdctl
import psycopg
from absurd_sdk import Absurd, AsyncAbsurd

from benchmarks.systems import _program

QUEUE = "noops"


def setup(url: str) -> None:
    """Install it."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(absurdctl.BUNDLED_SCHEMA_SQL)
        conn.execute("select absurd.create_queue(%s)", [QUEUE])


def client(url: str) -> Absurd:
    """One that knows the task."""
    found = Absurd(url, queue_name=QUEUE)
    found.register_task("noop")(lambda *_: None)
    return found


def bulk(url: str, count: int, timed: Callable[[Callable[[], object]], None]) -> None:
    """Spawn one by one; it has no other way."""
    absurd = client(url)

    def enqueue() -> None:
        for _ in range(count):
            absurd.spawn("noop", {"at": 0})

    timed(enqueue)


def single(url: str, moments: Iterator[int]) -> None:
    """Spawn one by one."""
    absurd = client(url)
    for at in moments:
        absurd.spawn("noop", {"at": at})


def work(url: str, notes: _program.Notes) -> None:
    """Work until killed."""
    absurd = AsyncAbsurd(url, queue_name=QUEUE)

    @absurd.register_task("noop")
    async def noop(params: Any, context: Any) -> None:  # noqa: ARG001 - is given
        notes.start(params["at"])

    asyncio.run(absurd.start_worker(concurrency=50))


if __name__ == "__main__":
    _program.main(sys.modules[__name__])
