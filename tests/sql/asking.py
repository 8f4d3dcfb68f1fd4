"""Short ways to ask the database, for the tests of its routines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

Conn = psycopg.Connection[Any]


def value(conn: Conn, statement: str, params: Any = None) -> Any:
    """The only column of the only row; None where there is no row."""
    found = rows(conn, statement, params)
    assert len(found) <= 1
    return next(iter(found[0].values())) if found else None


def rows(conn: Conn, statement: str, params: Any = None) -> list[dict[str, Any]]:
    """All rows, as dictionaries."""
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement, params).fetchall()


def job_of(conn: Conn, job: UUID) -> dict[str, Any]:
    """The whole row of a job in the table, as it is stored."""
    [found] = rows(conn, "select * from cortex.job where uuid = %s", [job])
    return found


def status_of(conn: Conn, job: UUID) -> str:
    """The state of a job."""
    status: str = job_of(conn, job)["status"]
    return status


def table_of(conn: Conn, table: str = "job") -> list[dict[str, Any]]:
    """All rows of one of the private tables, in the order of their first column."""
    return rows(conn, f"select * from cortex.{table} order by 1")


@contextmanager
def refused(conn: Conn, *sqlstates: str) -> Iterator[pytest.ExceptionInfo[psycopg.Error]]:
    """The database refuses what is done in here, with one of these codes, and changes nothing."""
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        yield caught
    assert caught.value.sqlstate in sqlstates, caught.value
