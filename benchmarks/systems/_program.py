"""What the programs have in common: their commands, and how a body tells when it started."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from types import ModuleType

__all__ = ["Notes", "main", "moments", "options", "timed"]

PAUSES = 0.03, 0.09
"""Seconds between two jobs for an idle worker."""


class Notes:
    """
    Where bodies write when they started.

    A body of a full queue writes the first time only, and costs nothing after. A single one, whose
    job says when it was enqueued, writes how long that took.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._begun = False

    def start(self, at: int) -> None:
        """Note that a body begins; *at* is when its job was enqueued, or 0."""
        now = time.monotonic_ns()
        if at:
            os.write(self._file, b"single %d\n" % (now - at))
        elif not self._begun:
            self._begun = True
            os.write(self._file, b"first %d\n" % now)


def moments(count: int) -> Iterator[int]:
    """Pause, then give the moment, for each of *count* jobs."""
    for _ in range(count):
        time.sleep(random.uniform(*PAUSES))  # noqa: S311 - no secret
        yield time.monotonic_ns()


def timed(work: Callable[[], object]) -> None:
    """Do it, and print the seconds that it took."""
    started = time.perf_counter()
    work()
    sys.stdout.write(f"seconds {time.perf_counter() - started}\n")


def options() -> list[tuple[str, str]]:
    """What else the command line says of the worker."""
    return [(name, value) for name, _, value in (word.partition("=") for word in sys.argv[4:])]


def main(system: ModuleType) -> None:
    """Do what the command line says: URL COMMAND ARGUMENT NAME=VALUE…"""
    url, command, argument = sys.argv[1:4]
    if command == "setup":
        system.setup(url)
    elif command == "bulk":
        system.bulk(url, int(argument), timed)
    elif command == "single":
        system.single(url, moments(int(argument)))
    elif command == "work":
        system.work(url, Notes(argument))
