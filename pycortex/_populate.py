"""Counting one slice of the reports in ranges of its tasks, over two connections."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg
from psycopg import Connection

from pycortex import sql
from pycortex.models import ReportRun
from pycortex.progress import JobProgress

__all__ = ["BATCH", "populate"]

FIRST_WIDTH = 1000
"""Task numbers of the first range; the next ones are as wide as a second or so allows."""

BATCH = 20_000
"""Rows that are cleared away in one transaction."""

Range = tuple[int, int]


def populate(progress: JobProgress, corpus_id: int, service_id: int, severity: str) -> int:
    """
    Count a slice and publish it; then keep what each task adds, so that the next time is short.

    Every range is a transaction and a step. What is there stays until all ranges are counted.

    Returns:
        How many rows the slice has.

    Raises:
        psycopg.DataError: There is no such slice.
        JobCancelled, JobStopped: As a step does; nothing is published then.
    """
    conn = progress.connection()
    progress.step(0, None, f"looking for changes under the {severity} report")
    rows = sql.refresh_slice(conn, corpus_id, service_id, severity)
    if rows is None:
        rows = _count(progress, conn, (corpus_id, service_id, severity), keeps=False)
        rows = _count(progress, conn, (corpus_id, service_id, severity), keeps=True)
    while sql.clear_runs(conn, batch_size=BATCH) >= BATCH:
        progress.step(1, 1, "clearing away what nobody needs any more")
    progress.step(1, 1, "report ready")
    return rows


def _count(
    progress: JobProgress, conn: Connection[Any], slice_: tuple[int, int, str], *, keeps: bool
) -> int:
    run = sql.begin_run(conn, *slice_, keeps=keeps)
    ranges = _Ranges(run, sql.keep_range if keeps else sql.count_range)
    doing = f"{'keeping the grains of' if keeps else 'counting'} the {slice_[2]} report"
    try:
        progress.step(0, ranges.total, doing)
        with _helper(progress, ranges):
            while ranges.count_one(conn):
                progress.step(ranges.done, ranges.total, doing)
        ranges.raise_trouble()
        return sql.finish_run(conn, run.run)
    except BaseException:
        with suppress(psycopg.Error):
            sql.drop_run(conn, run.run)
        raise


@contextmanager
def _helper(progress: JobProgress, ranges: _Ranges) -> Iterator[None]:
    """Count ranges on a second connection meanwhile, where there is enough to do and it opens."""
    if ranges.total <= FIRST_WIDTH:
        yield
        return
    try:
        conn = progress.connection(new=True)
        conn.execute("set statement_timeout = 0")
    except psycopg.OperationalError:
        yield
        return
    thread = threading.Thread(target=ranges.count_all, args=(conn,), name="cortex-report")
    thread.start()
    try:
        yield
    except BaseException:
        ranges.close()
        with suppress(psycopg.Error):
            conn.cancel()
        raise
    finally:
        thread.join()
        conn.close()


@dataclass
class _Ranges:
    """Which tasks of a run are still to be counted; shared by two threads."""

    run: ReportRun
    count: Callable[[Connection[Any], int, int, int], int]
    done: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _next: int = 0
    _last: int = -1
    _width: int = field(default_factory=lambda: FIRST_WIDTH)
    _trouble: BaseException | None = None

    def __post_init__(self) -> None:
        if self.run.first_task is not None and self.run.last_task is not None:
            self._next, self._last = self.run.first_task, self.run.last_task
        self.total = self._last - self._next + 1

    def close(self) -> None:
        """Have no range taken any more."""
        with self._lock:
            self._next = self._last + 1

    def raise_trouble(self) -> None:
        """Raise what the other thread stumbled on."""
        if self._trouble is not None:
            raise self._trouble

    def count_all(self, conn: Connection[Any]) -> None:
        """Count ranges as long as there are any; keep an error for the other thread."""
        try:
            while self.count_one(conn):
                pass
        except BaseException as error:  # noqa: BLE001 - raised by the thread of the job
            self._trouble = error
            self.close()

    def count_one(self, conn: Connection[Any]) -> bool:
        """Count the next range; false: there is none left."""
        taken = self._take()
        if taken is None:
            return False
        first, last = taken
        began = time.monotonic()
        self.count(conn, self.run.run, first, last)
        took = timedelta(seconds=time.monotonic() - began)
        width = sql.next_width(conn, last - first + 1, took)
        with self._lock:
            self.done += last - first + 1
            self._width = width
        return True

    def _take(self) -> Range | None:
        with self._lock:
            if self._next > self._last:
                return None
            first, last = self._next, min(self._next + self._width - 1, self._last)
            self._next = last + 1
            return first, last
