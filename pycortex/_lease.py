"""The thread that keeps a runner alive in the eyes of the database."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.errors import ReadOnlySqlTransaction
from psycopg.pq import TransactionStatus

from pycortex import sql
from pycortex._fork import let_go, part_at_fork
from pycortex._log import Outage, brief, logger
from pycortex._pool import is_away, open_connection
from pycortex._threads import start_thread
from pycortex._version import check_version
from pycortex._watch import Watch
from pycortex.errors import RunnerNotFound
from pycortex.models import RunnerJob

__all__ = ["Lease"]

FIRST_DELAY, LAST_DELAY = 0.1, 5.0
"""Seconds between tries to reach the database again; the last well below the grace of a runner."""


LIMIT = 10.0
"""Seconds that a call may take, well below the grace too."""


class Lease:
    """
    A registration that is kept up on a connection of its own, until it is given back.

    Args:
        hear: Called with what the database says of this runner's jobs, at every beat.
    """

    def __init__(
        self,
        conninfo: str,
        name: str,
        outage: Outage,
        watch: Watch,
        hear: Callable[[Sequence[RunnerJob]], None],
    ) -> None:
        self._conninfo = conninfo
        self._name = name
        self._outage = outage
        self._watch = watch
        self._hear = hear
        self._stop = threading.Event()
        self._over = threading.Event()
        self._farewell = ""
        self._conn: Connection[Any] | None = None
        self.uuid: UUID
        self.beat = 5.0
        self.left: int | None = None
        part_at_fork(self)

    def _part(self) -> None:
        # A child that outlives the runner must not keep its lease.
        let_go(self._conn)

    def register(self) -> None:
        """
        Enter the runner into the database; *start* must follow.

        Raises:
            psycopg.OperationalError: The database can't be reached.
            OlderSchema: Its schema is too old for this package.
        """
        conn = open_connection(self._conninfo, self._watch)
        try:
            with self._watch.limit(conn, LIMIT):
                check_version(conn)
        except BaseException:
            conn.close()
            raise
        self._register(conn)

    def start(self) -> None:
        """Start to beat."""
        start_thread(self._run, "pycortex-lease")

    def stop(self, farewell: str, limit: float) -> bool:
        """
        Give the lease back; what the runner leaves is interrupted with *farewell* as its message.

        Returns:
            Whether the database knows, within *limit* seconds.
        """
        self._farewell = farewell
        self._stop.set()
        return self._over.wait(limit) and self.left is not None

    def _register(self, conn: Connection[Any]) -> None:
        try:
            with self._watch.limit(conn, LIMIT):
                self.uuid = sql.register_runner(conn, self._name, socket.gethostname(), os.getpid())
                self.beat = sql.configuration(conn).runner_beat.total_seconds()
        except BaseException:
            conn.close()
            raise
        self._conn = conn

    def _run(self) -> None:
        try:
            self._keep()
            self._retire()
        except BaseException:
            logger.exception("the lease of runner %s is lost", self.uuid)
            raise
        finally:
            self._over.set()

    def _keep(self) -> None:
        wait = self.beat
        delay = FIRST_DELAY
        while not self._stop.wait(wait):
            began = time.monotonic()
            try:
                self._beat_once()
            except Exception as error:  # noqa: BLE001 - this thread must not end before the runner
                self._complain(error)
                if not _is_sound(self._conn):  # else its session keeps the lease meanwhile
                    self._drop()
                wait = delay
                delay = min(2 * delay, LAST_DELAY, self.beat)
            else:
                self._outage.over("lease")
                wait = max(0.0, self.beat - (time.monotonic() - began))
                delay = FIRST_DELAY

    def _beat_once(self) -> None:
        conn = self._connection()
        try:
            try:
                jobs = self._beat_with(conn)
            except ReadOnlySqlTransaction:
                # No primary any more, or not for now: the old session stays until another one gets
                # through, so that the lease is held.
                jobs = self._beat_with_another()
        except RunnerNotFound:
            if self._stop.is_set():
                return
            logger.error("runner %s was retired by somebody else; registering anew", self.uuid)
            self._register(self._connection())
            return
        self._hear(jobs)

    def _beat_with(self, conn: Connection[Any]) -> Sequence[RunnerJob]:
        with self._watch.limit(conn, LIMIT):
            jobs = sql.keep_runner(conn, self.uuid)
            self.beat = sql.configuration(conn).runner_beat.total_seconds()
        return jobs

    def _beat_with_another(self) -> Sequence[RunnerJob]:
        conn = open_connection(self._conninfo, self._watch)
        try:
            jobs = self._beat_with(conn)
        except BaseException:
            conn.close()
            raise
        self._drop()
        self._conn = conn
        return jobs

    def _retire(self) -> None:
        # As long as somebody waits for the outcome; afterwards the process may go any moment.
        for delay in (0.1, 0.5, 1.0, 2.0, 5.0):
            try:
                self.left = sql.retire_runner(self._connection(), self.uuid, message=self._farewell)
            except RunnerNotFound:
                self.left = 0
            except Exception as error:  # noqa: BLE001 - told below
                logger.debug("runner %s can't say goodbye: %s", self.uuid, brief(error))
                self._drop()
                time.sleep(delay)
                continue
            self._drop()
            return
        logger.info("runner %s left without a goodbye; its grace will tell", self.uuid)

    def _complain(self, error: Exception) -> None:
        if is_away(error):
            self._outage.failed("lease", error)
        else:
            logger.warning("a beat of runner %s failed: %s", self.uuid, brief(error))

    def _connection(self) -> Connection[Any]:
        if self._conn is None or self._conn.closed:
            self._conn = open_connection(self._conninfo, self._watch)
        return self._conn

    def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.close()


def _is_sound(conn: Connection[Any] | None) -> bool:
    """Whether a connection is fit for another call."""
    return (
        conn is not None
        and not conn.closed
        and conn.info.transaction_status == TransactionStatus.IDLE
    )
