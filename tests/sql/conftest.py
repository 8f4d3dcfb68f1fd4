"""One session for all tests that roll back: most of a short test is a session's first steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest


@pytest.fixture(scope="session")
def _session(shared_database: str) -> Iterator[list[psycopg.Connection[Any]]]:
    kept: list[psycopg.Connection[Any]] = []
    yield kept
    for conn in kept:
        conn.close()


@pytest.fixture
def fresh_conn(shared_database: str) -> Iterator[psycopg.Connection[Any]]:
    """A session of its own in a transaction that is rolled back after the test."""
    with psycopg.connect(shared_database) as conn:
        yield conn
        conn.rollback()


@pytest.fixture
def conn(
    _session: list[psycopg.Connection[Any]], shared_database: str
) -> Iterator[psycopg.Connection[Any]]:
    """A session as good as new, in a transaction that is rolled back after the test."""
    if not _session or _session[-1].broken:
        _session.append(psycopg.connect(shared_database, prepare_threshold=None))
    conn = _session[-1]
    yield conn
    conn.rollback()
    conn.isolation_level = None
    conn.execute("select pg_advisory_unlock_all()")
    conn.rollback()


@pytest.fixture
def notices(conn: psycopg.Connection[Any]) -> Iterator[list[str]]:
    """What the server says to `conn` beside its answers."""
    said: list[str] = []

    def hear(notice: psycopg.errors.Diagnostic) -> None:
        said.append(notice.message_primary or "")

    conn.add_notice_handler(hear)
    yield said
    conn.remove_notice_handler(hear)
