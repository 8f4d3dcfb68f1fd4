"""DBOS: threads without a limit, looks once a second; each finish committed by itself."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

from dbos import DBOS, DBOSClient, DBOSConfig, EnqueueOptions

from benchmarks.systems import _program

QUEUE = "noops"
OPTIONS: EnqueueOptions = {"queue_name": QUEUE, "workflow_name": "noop", "app_version": "1"}


def config(url: str) -> DBOSConfig:
    """How it is run."""
    return {
        "name": "bench",
        "system_database_url": url,
        "log_level": "ERROR",
        "application_version": "1",
        "run_admin_server": False,
    }


def setup(url: str) -> None:
    """Have it make its tables."""
    launch(url, _program.Notes("/dev/null"))
    DBOS.destroy()


def launch(url: str, notes: _program.Notes) -> None:
    """Start it in this process."""
    DBOS(config=config(url))

    @DBOS.workflow(name="noop")
    def noop(at: int) -> None:
        notes.start(at)

    DBOS.launch()
    DBOS.register_queue(QUEUE)


def bulk(url: str, count: int, timed: Callable[[Callable[[], object]], None]) -> None:
    """Enqueue one by one; it has no other way."""
    client = DBOSClient(system_database_url=url)

    def enqueue() -> None:
        for _ in range(count):
            client.enqueue(OPTIONS, 0)

    timed(enqueue)
    client.destroy()


def single(url: str, moments: Iterator[int]) -> None:
    """Enqueue one by one."""
    client = DBOSClient(system_database_url=url)
    for at in moments:
        client.enqueue(OPTIONS, at)
    client.destroy()


def work(url: str, notes: _program.Notes) -> None:
    """Work until killed."""
    launch(url, notes)
    threading.Event().wait()


if __name__ == "__main__":
    _program.main(sys.modules[__name__])
