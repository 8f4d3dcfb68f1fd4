"""Several sessions at once: threads that start together, and calls that wait in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, IsolationLevel

from tests.waiting import wait_until_blocked

T = TypeVar("T")

LIMIT = 120
"""Seconds after which a call that still hangs fails the test."""


def at_once(calls: Sequence[Callable[[], T]], *, limit: float = LIMIT) -> list[T]:
    """Run every call in a thread of its own, all let go at the same moment; results in order."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        barrier.wait(LIMIT)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(run, call) for call in calls]
        return [future.result(limit) for future in futures]


@contextmanager
def waiting(
    observer: Connection[Any], conn: Connection[Any], call: Callable[[], T]
) -> Iterator[Future[T]]:
    """Start *call*, which uses *conn*, and go on once *observer* sees it wait for a lock."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call)
        try:
            wait_until_blocked(observer, conn.info.backend_pid)
            yield future
        except BaseException:
            conn.cancel_safe(timeout=5)  # or the pool would wait for the call for ever
            raise


@contextmanager
def sessions(
    conninfo: str, number: int, *, isolation: IsolationLevel | None = None, autocommit: bool = False
) -> Iterator[list[Connection[Any]]]:
    """Open that many sessions."""
    opened: list[Connection[Any]] = []
    try:
        for _ in range(number):
            conn: Connection[Any] = psycopg.connect(conninfo, autocommit=autocommit)
            opened.append(conn)
            conn.isolation_level = isolation
        yield opened
    finally:
        for conn in opened:
            conn.close()


def room_for_sessions(conn: Connection[Any], most: int = 100) -> int:
    """How many more sessions the server has room for, leaving some for others; at most *most*."""
    [free] = one(
        conn,
        "select current_setting('max_connections')::integer"
        " - current_setting('superuser_reserved_connections')::integer"
        " - (select count(*) from pg_catalog.pg_stat_activity) - 15",
    )
    return min(most, int(free))


def one(conn: Connection[Any], statement: str, params: Any = None) -> tuple[Any, ...]:
    """The only row of a statement."""
    [row] = conn.execute(statement, params).fetchall()
    return tuple(row)


def scalar(conn: Connection[Any], statement: str, params: Any = None) -> Any:
    """The only value of a statement."""
    [value] = one(conn, statement, params)
    return value


def retried(conn: Connection[Any], call: Callable[[], T], *, tries: int = 1000) -> T:
    """*call*, committed; again from the start of the transaction as long as the answer is 40001."""
    for _ in range(tries):
        try:
            result = call()
            conn.commit()
        except psycopg.errors.SerializationFailure:
            conn.rollback()
        else:
            return result
    raise AssertionError(f"40001 at {tries} tries in a row")


def dealt(items: Iterable[T], hands: int) -> list[list[T]]:
    """*items* dealt to so many hands."""
    every = list(items)
    return [every[hand::hands] for hand in range(hands)]
