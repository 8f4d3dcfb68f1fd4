"""A few autocommit connections, opened when needed and shared by a runner's own calls."""

from __future__ import annotations

import asyncio
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from weakref import WeakSet

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.errors import (
    Diagnostic,
    IdleInTransactionSessionTimeout,
    ReadOnlySqlTransaction,
)
from psycopg.pq import TransactionStatus

from pycortex._call import ask, bound_idling, scalar
from pycortex._fork import let_go, part_at_fork
from pycortex._log import logger
from pycortex._watch import Watch

__all__ = ["Pool", "is_away", "open_async_connection", "open_connection"]

T = TypeVar("T")

OPEN_LIMIT = 10.0
"""Seconds for the first question to a new connection."""

CALL_LIMIT = 60.0
"""Seconds that a call may take; a spawn waits that long for another one of its scope to commit."""

WAIT = 30.0
"""Seconds to wait for a free connection."""

PREPARE_AFTER = 2
"""Calls of a routine on one connection before it is prepared there."""

IDLE = 60.0
"""Seconds after which an unused connection is not trusted any more."""

UNHEARD = 10.0
"""Seconds that the server keeps a transaction of a runner that the network has cut off."""

GONE = (
    psycopg.InterfaceError,
    ReadOnlySqlTransaction,  # a primary that is one no more
    IdleInTransactionSessionTimeout,  # the server did not hear from us for long
    TimeoutError,
)

NOTICES = 100


def is_away(error: BaseException) -> bool:
    """Whether an error says that the database can't be reached now, rather than that it refused."""
    if isinstance(error, GONE):
        return True
    state = error.sqlstate if isinstance(error, psycopg.OperationalError) else "?"
    return state is None or state[:2] in {"08", "53"} or state[:3] == "57P"


def open_connection(conninfo: str, watch: Watch) -> Connection[Any]:
    """
    Open an autocommit connection, with prepared statements unless a pooler stands between.

    Raises:
        psycopg.OperationalError: The database can't be reached.
    """
    conn = psycopg.connect(conninfo, autocommit=True, prepare_threshold=None)
    try:
        # A pooler that gives every transaction another session shows here.
        with watch.limit(conn, OPEN_LIMIT):
            direct = _session(conn) == conn.info.backend_pid
        if direct:
            conn.prepare_threshold = PREPARE_AFTER
    except BaseException:
        conn.close()
        raise
    return conn


async def open_async_connection(conninfo: str) -> AsyncConnection[Any]:
    """
    Open one of asyncio's, in the same way.

    Raises:
        psycopg.OperationalError: The database can't be reached.
    """
    conn = await AsyncConnection.connect(conninfo, autocommit=True, prepare_threshold=None)
    try:
        async with asyncio.timeout(OPEN_LIMIT):
            direct = await ask(conn, _session) == conn.info.backend_pid
        if direct:
            conn.prepare_threshold = 2
    except TimeoutError as error:
        await conn.close()
        raise psycopg.OperationalError(f"no answer within {OPEN_LIMIT:g} s") from error
    except BaseException:
        await conn.close()
        raise
    return conn


def _session(conn: Connection[Any]) -> int:
    return scalar(conn, "pg_catalog.pg_backend_pid", int)


class Pool:
    """
    At most *size* connections. Unlike in a pool with threads, who needs one opens it.

    So who can't get one has the error itself, and the first call after an outage finds the database
    again at once. Still usable when closed: then each call opens its own connection.
    """

    def __init__(self, conninfo: str, watch: Watch, *, size: int) -> None:
        self._conninfo = conninfo
        self._watch = watch
        self._free = threading.BoundedSemaphore(size)
        self._idle: list[tuple[float, Connection[Any]]] = []
        self._relaxed: WeakSet[Connection[Any]] = WeakSet()
        self._lock = threading.Lock()
        self._size = size
        self._closed = False
        self._notices: set[str] = set()
        self._parents: list[Any] = []
        part_at_fork(self)

    def run(
        self,
        work: Callable[[Connection[Any]], T],
        *,
        limit: float | None = None,
        relaxed: bool = False,
    ) -> T:
        """
        Do *work* with a connection; it must be safe to repeat.

        A connection that broke while it lay idle doesn't count: work is done again with a new one.

        Args:
            limit: Seconds that it may take; CALL_LIMIT by default.
            relaxed: Whether its commit need not wait for the disk: a server that crashes may forget
                it. For heartbeats only.

        Raises:
            psycopg.OperationalError: The database can't be reached.
        """
        reused = False
        try:
            with self._lend(limit=limit, relaxed=relaxed) as (conn, reused):
                return work(conn)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if not reused or not is_away(error):
                raise
        with self._lend(new=True, limit=limit, relaxed=relaxed) as (conn, _):
            return work(conn)

    @contextmanager
    def connection(self, *, new: bool = False) -> Iterator[Connection[Any]]:
        """
        Lend a connection for the block; *new* opens one.

        Raises:
            psycopg.OperationalError: The database can't be reached.
        """
        with self._lend(new=new) as (conn, _):
            yield conn

    @contextmanager
    def _lend(
        self, *, new: bool = False, limit: float | None = None, relaxed: bool = False
    ) -> Iterator[tuple[Connection[Any], bool]]:
        if not self._free.acquire(timeout=WAIT):
            raise psycopg.OperationalError(f"no connection of the runner was free for {WAIT:g} s")
        try:
            conn = None if new else self._take(relaxed=relaxed)
            reused = conn is not None
            if conn is None:
                conn = self._open()
            try:
                with self._watch.limit(conn, CALL_LIMIT if limit is None else limit):
                    self._relax(conn, relaxed=relaxed)
                    yield conn, reused
            except ReadOnlySqlTransaction:
                conn.close()  # a new one may find the server that is the primary now
                raise
            finally:
                self._put_back(conn)
        finally:
            self._free.release()

    def _open(self) -> Connection[Any]:
        conn = open_connection(self._conninfo, self._watch)
        try:
            conn.add_notice_handler(self._log_notice)
            if conn.prepare_threshold is not None:  # a pooler would lend what is set to others
                with self._watch.limit(conn, OPEN_LIMIT):
                    bound_idling(conn, UNHEARD)
        except BaseException:
            conn.close()
            raise
        return conn

    def _relax(self, conn: Connection[Any], *, relaxed: bool) -> None:
        """Have the session wait for the disk at its commits, or not."""
        if (conn in self._relaxed) is relaxed or conn.prepare_threshold is None:
            return  # as it is already; or a pooler would lend what is set to others
        if relaxed:
            self._relaxed.add(conn)  # before, so that it is set back in any case
            conn.execute(b"set synchronous_commit = off")
        else:
            conn.execute(b"reset synchronous_commit")
            self._relaxed.discard(conn)

    def close(self) -> None:
        """Close what lies idle; keep nothing from now on."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for _, conn in idle:
            conn.close()

    def _part(self) -> None:
        # The parent's connections are kept, unused: to close one would end the parent's session.
        self._parents.append(self._idle)
        for _, conn in self._idle:
            let_go(conn)
        self._idle = []
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(self._size)

    def _take(self, *, relaxed: bool) -> Connection[Any] | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                # The latest that need not be set otherwise, or else the latest.
                place = max(
                    range(len(self._idle)),
                    key=lambda at: ((self._idle[at][1] in self._relaxed) is relaxed, at),
                )
                since, conn = self._idle.pop(place)
            if time.monotonic() - since < IDLE and _is_fresh(conn):
                return conn
            conn.close()

    def _put_back(self, conn: Connection[Any]) -> None:
        with suppress(psycopg.Error):
            if not conn.closed and conn.info.transaction_status != TransactionStatus.IDLE:
                conn.rollback()
        now = time.monotonic()
        with self._lock:
            old = [entry for entry in self._idle if now - entry[0] >= IDLE]
            self._idle = self._idle[len(old) :]  # they lie in the order of their return
            idle = not conn.closed and conn.info.transaction_status == TransactionStatus.IDLE
            if idle and not self._closed:
                self._idle.append((now, conn))
            else:
                old.append((now, conn))
        for _, unused in old:
            unused.close()

    def _log_notice(self, notice: Diagnostic) -> None:
        text = notice.message_primary or ""
        leaving = (notice.sqlstate or "").startswith("57P")  # the outage that follows is told
        if notice.severity_nonlocalized != "WARNING" or leaving or text in self._notices:
            return
        if len(self._notices) < NOTICES:  # each once, not at every beat
            self._notices.add(text)
        logger.warning("the database warns: %s", text)


def _is_fresh(conn: Connection[Any]) -> bool:
    """Whether nothing came in while the connection lay idle; a server that leaves says goodbye."""
    try:
        poll = select.poll()
        poll.register(conn.fileno(), select.POLLIN)
        if poll.poll(0):
            conn.execute(b"")
    except (psycopg.Error, OSError):
        return False
    return not conn.closed
