"""procrastinate: asyncio, ten jobs at a time; each finish committed by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import procrastinate

from benchmarks.systems import _program

BATCH = 1000


def setup(url: str) -> None:
    """Install it."""
    app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=url))
    with app.open():
        app.schema_manager.apply_schema()


def bulk(url: str, count: int, timed: Callable[[Callable[[], object]], None]) -> None:
    """Defer many."""
    app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=url))
    with app.open():

        def enqueue() -> None:
            for first in range(0, count, BATCH):
                jobs = [{"at": 0}] * min(BATCH, count - first)
                app.configure_task("noop").batch_defer(*jobs)

        timed(enqueue)


def single(url: str, moments: Iterator[int]) -> None:
    """Defer one by one."""
    app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=url))
    with app.open():
        deferrer = app.configure_task("noop")
        for at in moments:
            deferrer.defer(at=at)


def work(url: str, notes: _program.Notes) -> None:
    """Work until told to stop."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))

    @app.task(name="noop")
    async def noop(at: int) -> None:
        notes.start(at)

    app.run_worker(concurrency=10)


if __name__ == "__main__":
    _program.main(sys.modules[__name__])
