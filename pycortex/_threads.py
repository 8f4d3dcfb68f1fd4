"""Threads that never keep a process from ending: an executor, and calls at a later time."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from pycortex._log import logger

__all__ = ["DaemonExecutor", "Later", "start_if_possible", "start_thread"]

P = ParamSpec("P")
T = TypeVar("T")


def start_thread(target: Callable[[], None], name: str) -> threading.Thread:
    """Start a daemon thread."""
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread


def start_if_possible(target: Callable[[], None], name: str) -> bool:
    """Start a daemon thread, unless the interpreter is about to end; returns whether."""
    try:
        start_thread(target, name)
    except RuntimeError:
        return False
    return True


class DaemonExecutor(Executor):
    """
    A pool of threads like ThreadPoolExecutor, except that the interpreter doesn't wait for them.

    All of them are started at once: when the interpreter ends it may be too late to start one.
    """

    def __init__(self, max_workers: int, name: str = "pycortex-body") -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._shut = False
        self._futures: set[Future[Any]] = set()
        self._threads = [
            start_thread(self._work, f"{name}-{number}") for number in range(1, max_workers + 1)
        ]

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """
        Have a thread call *fn*.

        Raises:
            RuntimeError: The executor is shut down.
        """
        future: Future[T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - the thread must survive
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._futures.add(future)
            self._queue.put(call)
        future.add_done_callback(self._futures.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; the threads end when those they have are done."""
        with self._lock:
            first, self._shut = not self._shut, True
        if cancel_futures:
            for future in tuple(self._futures):
                future.cancel()
        if first:
            for _ in self._threads:
                self._queue.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _work(self) -> None:
        while (call := self._queue.get()) is not None:
            call()
            del call  # keep nothing alive while waiting


class Later:
    """Makes calls after a delay, from a thread of its own; the calls must be short."""

    def __init__(self, name: str = "pycortex-later") -> None:
        self._heap: list[tuple[float, int, Callable[[], object]]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = start_thread(self._run, name)

    def call(self, delay: float, what: Callable[[], object]) -> None:
        """Call *what* after *delay* seconds, unless stopped before."""
        with self._changed:
            heapq.heappush(self._heap, (time.monotonic() + delay, next(self._order), what))
            self._changed.notify()

    def stop(self) -> None:
        """Make no more calls."""
        with self._changed:
            self._stopped = True
            self._heap.clear()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._stopped and (not self._heap or self._heap[0][0] > time.monotonic()):
                    self._changed.wait(self._heap[0][0] - time.monotonic() if self._heap else None)
                if self._stopped:
                    return
                _, _, what = heapq.heappop(self._heap)
            try:
                what()
            except Exception:  # noqa: BLE001 - the thread must survive
                logger.exception("a delayed call failed")
