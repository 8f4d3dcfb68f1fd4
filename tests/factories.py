"""
Rows in named states, inserted directly and never through the routine under test.

A state respects the rules of the tables, so that a test says only what it is about:
`make_job(conn, "running", silent_for="3 hours")`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import scalar_row
from psycopg.types.json import Jsonb

_STARTED = {"running", "succeeded", "failed", "interrupted"}
_TERMINAL = {"succeeded", "failed", "interrupted", "cancelled"}
_JSON = {"params", "result", "debounce_scope"}
_PLAIN = (dict, list, str, int, float, bool)


def _moment(conn: psycopg.Connection[Any], ago: str) -> datetime:
    """The database's clock, *ago* earlier; read once, so that a row's moments agree."""
    statement = "select pg_catalog.clock_timestamp() - %s::interval"
    moment: datetime = _scalar(conn, statement, [ago])
    return moment


def _insert(conn: psycopg.Connection[Any], table: str, columns: dict[str, Any]) -> UUID:
    values = {
        name: Jsonb(value) if name in _JSON and isinstance(value, _PLAIN) else value
        for name, value in columns.items()
    }
    statement = sql.SQL("insert into cortex.{} ({}) values ({}) returning uuid").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(map(sql.Placeholder, values)),
    )
    uuid: UUID = _scalar(conn, statement, values)
    return uuid


def _scalar(conn: psycopg.Connection[Any], statement: Any, params: Any) -> Any:
    with conn.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(statement, params).fetchone()


def make_job(
    conn: psycopg.Connection[Any],
    status: str = "queued",
    *,
    silent_for: str | None = None,
    kind: str = "test",
    runner: UUID | None = None,
    attempt: int | None = None,
    **columns: Any,
) -> UUID:
    """
    Insert a job that stands in *status* and return its uuid.

    Args:
        silent_for: An interval. Everything that happened to the job, its last sign of life
            included, happened that long ago; now, if left out.
        attempt: 0 where the job never started, else 1, if left out.
        columns: Any other column of cortex.job; params, result and debounce_scope as Python values.
    """
    moment = _moment(conn, silent_for or "0")
    started = status in _STARTED or bool(attempt)
    row: dict[str, Any] = {
        "kind": kind,
        "status": status,
        "runner": runner,
        "attempt": attempt if attempt is not None else int(started),
        "created_at": moment,
        "run_at": moment,
        "updated_at": moment,
        "started_at": moment if started and status != "queued" else None,
        "finished_at": moment if status in _TERMINAL else None,
    }
    return _insert(conn, "job", row | columns)


def make_runner(
    conn: psycopg.Connection[Any],
    *,
    alive: bool = True,
    silent_for: str | None = None,
    **columns: Any,
) -> UUID:
    """
    Insert a runner and return its uuid; nobody holds its lease. It came since the server started.

    Args:
        alive: Seen just now; otherwise last seen an hour ago, longer than any grace.
        silent_for: An interval: last seen exactly that long ago.
        columns: Any other column of cortex.runner.
    """
    moment = _moment(conn, silent_for or ("0" if alive else "1 hour"))
    started = _scalar(conn, "select pg_catalog.pg_postmaster_start_time()", [])
    row: dict[str, Any] = {
        "name": "test runner",
        "host": "test.invalid",
        "pid": 4242,
        "registered_at": max(moment, started),
        "seen_at": moment,
    }
    return _insert(conn, "runner", row | columns)


@dataclass(frozen=True, slots=True)
class Factory:
    """The factories bound to one connection."""

    conn: psycopg.Connection[Any]

    def make_job(self, status: str = "queued", **columns: Any) -> UUID:
        return make_job(self.conn, status, **columns)

    def make_runner(self, **columns: Any) -> UUID:
        return make_runner(self.conn, **columns)
