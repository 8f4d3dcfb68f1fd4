"""Bulk loading by COPY."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from psycopg import Connection, sql

from pycortex.latexml import Severity

__all__ = ["copy_messages"]

_STATEMENT = sql.SQL("copy corpus.{} (task_id, category, what, details) from stdin")


def copy_messages(
    conn: Connection[Any], severity: Severity, rows: Iterable[tuple[int, str, str, str]]
) -> int:
    """
    Load messages of one *severity*; no statement is sent when there are none.

    Args:
        rows: The task's id, category, what and details of each.

    Returns:
        How many there were.
    """
    source = iter(rows)
    first = next(source, None)
    if first is None:
        return 0
    count = 1
    with conn.cursor() as cursor:
        table = sql.Identifier(f"log_{severity}s")
        with cursor.copy(_STATEMENT.format(table)) as copy:
            copy.write_row(first)
            for row in source:
                copy.write_row(row)
                count += 1
    return count
