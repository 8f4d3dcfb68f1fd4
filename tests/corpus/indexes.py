"""Indexes in states that only failures bring about; and what became of them."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest


def invalidate(conn: psycopg.Connection[Any], index: str, *, dead: bool = False) -> None:
    """Make an index what a failed command leaves, or, if *dead*, a drop that was not finished."""
    try:
        conn.execute(
            "update pg_index set indisvalid = false, indislive = not %(dead)s,"
            " indisready = indisready and not %(dead)s"
            " where indexrelid = to_regclass(%(index)s)",
            {"index": index, "dead": dead},
        )
    except psycopg.errors.InsufficientPrivilege:
        pytest.skip("tests with invalid indexes need a server where they are a superuser")


def invalid(conn: psycopg.Connection[Any]) -> list[str]:
    """The indexes that nobody can use."""
    rows = conn.execute(
        "select indexrelid::regclass::text from pg_index where not indisvalid order by 1"
    )
    return [name for (name,) in rows]


def files(conn: psycopg.Connection[Any], *names: str) -> list[int]:
    """The files that indexes lie in; a rebuilt one has another."""
    return [
        conn.execute("select pg_relation_filenode(to_regclass(%s))", [name]).fetchone()[0]
        for name in names
    ]
