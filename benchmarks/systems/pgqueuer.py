"""pgqueuer: asyncio, a hundred jobs at a time; what ended is written in batches."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from benchmarks.systems import _program

BATCH = 1000


def setup(url: str) -> None:
    """Install it."""

    async def install() -> None:
        conn = await asyncpg.connect(url)
        await Queries(AsyncpgDriver(conn)).install()
        await conn.close()

    asyncio.run(install())


def bulk(url: str, count: int, timed: Callable[[Callable[[], object]], None]) -> None:
    """Enqueue many."""

    async def enqueue(queries: Queries) -> None:
        for first in range(0, count, BATCH):
            number = min(BATCH, count - first)
            await queries.enqueue(["noop"] * number, [b"0"] * number, [0] * number)

    with asyncio.Runner() as loop:
        conn = loop.run(asyncpg.connect(url))
        queries = Queries(AsyncpgDriver(conn))
        timed(lambda: loop.run(enqueue(queries)))
        loop.run(conn.close())


def single(url: str, moments: Iterator[int]) -> None:
    """Enqueue one by one."""

    async def enqueue() -> None:
        conn = await asyncpg.connect(url)
        queries = Queries(AsyncpgDriver(conn))
        for at in moments:
            await queries.enqueue("noop", str(at).encode())
        await conn.close()

    asyncio.run(enqueue())


def work(url: str, notes: _program.Notes) -> None:
    """Work until told to stop."""

    async def run() -> None:
        conn = await asyncpg.connect(url)
        application = PgQueuer(AsyncpgDriver(conn))

        @application.entrypoint("noop")
        async def noop(job: Job) -> None:
            notes.start(int(job.payload or b"0"))

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, application.shutdown.set)
        await application.run(batch_size=100)

    try:
        import uvloop
    except ModuleNotFoundError:
        asyncio.run(run())
    else:
        uvloop.run(run())


if __name__ == "__main__":
    _program.main(sys.modules[__name__])
