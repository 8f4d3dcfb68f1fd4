"""The pulse of a job amid a long statement: it says that the job lives, and ends the statement."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import Connection

from pycortex._log import logger
from pycortex._maintenance import _queries
from pycortex._threads import start_if_possible
from pycortex.errors import JobCancelled, JobStopped
from pycortex.progress import JobProgress

__all__ = ["Pulse"]

GLANCE = 0.1
"""Seconds between two looks whether somebody wants the job's end."""

BEAT = 1.0
"""Seconds between two steps, and from a statement's beginning to the first."""

LAST_WORDS = 5.0
"""Seconds that the server gets to hear that a statement is to end."""


class Pulse:
    """
    A thread that steps for a job whose body waits for a statement.

    A long statement is thus not taken for a hang, its row says who is in its way, and a job whose
    end is asked for, or whose runner leaves, ends its statement on the server.

    Attributes:
        blocker: Who was in the way of the statement when it was looked at last; in words, or empty.
    """

    def __init__(self, progress: JobProgress) -> None:
        self.blocker = ""
        self._progress = progress
        self._conn: Connection[Any] | None = None
        self._lock = threading.Lock()
        self._statement: tuple[Connection[Any], tuple[int, int, str]] | None = None
        self._ended: JobCancelled | None = None
        self._began = 0.0
        self._over = threading.Event()
        self._running = False

    @contextmanager
    def over(self, conn: Connection[Any], step: tuple[int, int, str]) -> Iterator[None]:
        """Beat while *conn* runs a statement; *step* is what the row says meanwhile."""
        self.check()
        if not self._running:
            self._running = start_if_possible(self._run, "pycortex-pulse")
        with self._lock:
            self.blocker = ""
            self._began = time.monotonic()
            self._statement = conn, step
        try:
            yield
        finally:
            with self._lock:  # it may be about to cancel this statement, not the next one
                self._statement = None

    def check(self) -> None:
        """
        Hear whether the job is to end.

        Raises:
            JobCancelled, JobStopped: It is.
        """
        if self._ended is None and self._progress._last_call.is_set():
            self._ended = JobStopped("its runner leaves")
        if self._ended is not None:
            raise self._ended

    def pids(self) -> list[int]:
        """Name the sessions that are the job's own."""
        return [] if self._conn is None or self._conn.closed else [self._conn.info.backend_pid]

    def close(self) -> None:
        """Beat no more."""
        self._over.set()
        with self._lock:
            if self._conn is not None:
                self._conn.close()

    def _run(self) -> None:
        beaten = 0.0
        while not self._over.wait(GLANCE):
            with self._lock:
                statement = self._statement
                began = self._began
            if statement is None:
                continue
            now = time.monotonic()
            if now - max(began, beaten) >= BEAT:
                beaten = now
                self._beat(*statement)
            if self._progress.cancel_requested or self._progress._last_call.is_set():
                self._end(statement[0])

    def _beat(self, conn: Connection[Any], step: tuple[int, int, str]) -> None:
        place, total, doing = step
        with self._lock:
            if self._statement is None or self._over.is_set():
                return
            seen = ""
            try:
                seen = self._look(conn)
            except psycopg.Error as error:
                logger.debug("can't see what job %s waits for: %s", self._progress.uuid, error)
            self.blocker = seen or self.blocker
            waits = f", waiting for {seen}" if seen else ""
            with suppress(JobCancelled):  # heard as cancel_requested
                self._progress.step(place, total, doing + waits)

    def _look(self, conn: Connection[Any]) -> str:
        if self._conn is None or self._conn.closed:
            self._conn = self._progress.connection(new=True)
        row = self._conn.execute(_queries.LOOK, [conn.info.backend_pid]).fetchone()
        return "" if row is None else str(row[0])

    def _end(self, conn: Connection[Any]) -> None:
        """Cancel the statement, unless it has ended."""
        with self._lock:
            if self._statement is None:
                return
            if self._ended is None:
                try:
                    self.check()
                    self._progress.step(*self._statement[1])
                except JobCancelled as told:
                    self._ended = told
                else:
                    return
            self._statement = None  # cancelled once
            with suppress(psycopg.Error):
                conn.cancel_safe(timeout=LAST_WORDS)
