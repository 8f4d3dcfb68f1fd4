"""Who carries the jobs in a runner's hands: a thread for each, or a few threads for many."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, Protocol

from pycortex._threads import DaemonExecutor, Later

__all__ = ["Crowd", "Life", "Places", "Threads"]

Life = Iterator[float | Future[Any]]
"""What a job goes through in its place; yields what it waits for: so many seconds, or a future."""


class Places(Protocol):
    """A number of places, for one life each."""

    def take(self, life: Life) -> None:
        """
        Let a life go on when a place is free, in the order of these calls.

        Raises:
            RuntimeError: They are closed.
        """

    def close(self) -> None:
        """Take nothing new, and let nothing begin; what goes on comes to its end."""


class Threads:
    """Places with a thread each, which waits whenever the life does."""

    def __init__(self, places: int) -> None:
        self._executor = DaemonExecutor(places)

    def take(self, life: Life) -> None:
        """Let a life go on when a thread is free."""
        self._executor.submit(_live, life)

    def close(self) -> None:
        """Let nothing begin."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def _live(life: Life) -> None:
    for wait in life:
        if isinstance(wait, Future):
            concurrent.futures.wait([wait])
        else:
            time.sleep(wait)


class Crowd:
    """Many places and few threads: a life that waits keeps its place, and gives its thread back."""

    def __init__(self, places: int, threads: int) -> None:
        self._places = places
        self._taken = 0
        self._queue: deque[Life] = deque()
        self._lock = threading.Lock()
        self._closed = False
        self._threads = DaemonExecutor(threads, "pycortex-visit")
        self._later = Later("pycortex-return")

    def take(self, life: Life) -> None:
        """Let a life go on when a place is free."""
        with self._lock:
            if self._closed:
                raise RuntimeError("these places are closed")
            self._queue.append(life)
            self._admit()

    def close(self) -> None:
        """Let nothing begin; the threads end with the last life."""
        with self._lock:
            self._closed = True
            self._queue.clear()
            self._end_if_empty()

    def _admit(self) -> None:
        while self._taken < self._places and self._queue:
            self._taken += 1
            self._go_on(self._queue.popleft())

    def _go_on(self, life: Life) -> None:
        self._threads.submit(self._visit, life)

    def _visit(self, life: Life) -> None:
        """Have a thread for as long as the life does something."""
        wait = None
        try:
            wait = next(life, None)
        finally:
            if wait is None:
                self._leave()
            elif isinstance(wait, Future):
                wait.add_done_callback(lambda _: self._go_on(life))
            else:
                self._later.call(wait, lambda: self._go_on(life))

    def _leave(self) -> None:
        with self._lock:
            self._taken -= 1
            self._admit()
            self._end_if_empty()

    def _end_if_empty(self) -> None:
        if self._closed and not self._taken:
            self._threads.shutdown(wait=False)
            self._later.stop()
