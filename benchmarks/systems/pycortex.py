"""pycortex: threads of one worker, each finish committed by itself."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator

import psycopg

import pycortex
from benchmarks.systems import _program
from pycortex import JobProgress, Runner, Worker, sql
from pycortex.install import install

BATCH = 1000
THREADS = 10


def setup(url: str) -> None:
    """Install it."""
    install(url)


def bulk(url: str, count: int, timed: Callable[[Callable[[], object]], None]) -> None:
    """Spawn many."""
    with psycopg.connect(url, autocommit=True) as conn:

        def enqueue() -> None:
            for first in range(0, count, BATCH):
                sql.spawn_jobs(conn, "noop", [{"at": 0}] * min(BATCH, count - first))

        timed(enqueue)


def single(url: str, moments: Iterator[int]) -> None:
    """Spawn one by one."""
    with psycopg.connect(url, autocommit=True, prepare_threshold=0) as conn:
        for at in moments:
            sql.spawn_job(conn, "noop", params={"at": at})


def work(url: str, notes: _program.Notes) -> None:
    """Work until told to stop."""

    @pycortex.job("noop")
    def noop(progress: JobProgress) -> None:
        notes.start(progress.params["at"])

    options = {name: int(value) for name, value in _program.options()}
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with Runner(url, max_workers=THREADS, grace=2.0, **options) as runner:
        Worker(runner, ["noop"]).run(stop)


if __name__ == "__main__":
    _program.main(sys.modules[__name__])
