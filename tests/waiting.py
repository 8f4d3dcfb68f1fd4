"""Waiting for something to become true, with a limit; tests never just sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg

T = TypeVar("T")

_STEP = 0.02


def wait_until(
    predicate: Callable[[], T], timeout: float = 30, *, what: str = "", step: float = _STEP
) -> T:
    """
    Ask *predicate* again and again until its answer is true, and return that answer.

    Raises:
        AssertionError: It wasn't within *timeout* seconds; says *what* was waited for.
    """
    deadline = time.monotonic() + timeout
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            name = what or getattr(predicate, "__name__", repr(predicate))
            raise AssertionError(f"not within {timeout:g} s: {name} (last answer: {answer!r})")
        time.sleep(step)


def wait_until_blocked(conn: psycopg.Connection[Any], pid: int, timeout: float = 30) -> None:
    """Wait until the session *pid* is seen waiting for a lock; *conn* may be any other session."""

    def blocked() -> bool:
        row = conn.execute("select cardinality(pg_blocking_pids(%s)) > 0", [pid]).fetchone()
        return bool(row and row[0])

    wait_until(blocked, timeout, what=f"session {pid} waits for a lock")
