"""Maintenance of tables, one after the other: what fails is named, the rest goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from psycopg import Connection, sql

from pycortex.errors import JobFailed
from pycortex.progress import JobProgress

__all__ = ["ANALYZE", "REINDEX", "Work", "maintain", "session"]

LOCK_TIMEOUT = "60s"
"""How long a table's turn waits for a lock, unless params say otherwise."""

PATIENCE = 60.0
"""Seconds during which a table's turn that ended in a deadlock is tried again."""


@dataclass(frozen=True, slots=True)
class Work:
    """
    One kind of maintenance.

    Attributes:
        statement: With a place for the table's name; can't run in a transaction or needn't.
        doing: What is being done to a table, as a word.
        done: The key of the result.
        complete: The last message.
    """

    statement: sql.SQL
    doing: str
    done: str
    complete: str


REINDEX = Work(
    sql.SQL("reindex (concurrently) table {}"), "reindexing", "reindexed", "reindex complete"
)
ANALYZE = Work(sql.SQL("analyze {}"), "analyzing", "analyzed", "analyze complete")

_FIND = """
select c.oid, n.nspname, c.relname
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where array[n.nspname::text, c.relname::text] = parse_ident(%s)
"""

# Indexes that REINDEX CONCURRENTLY made and did not finish, of a table, its partitions and their
# TOAST tables.
_UNFINISHED = """
with recursive relation as (
    select %s::oid as oid
    union
    select i.inhrelid
    from pg_catalog.pg_inherits as i
    join relation as r on r.oid = i.inhparent
)
select n.nspname, c.relname
from relation as r
join pg_catalog.pg_class as t on t.oid = r.oid
join pg_catalog.pg_index as x on x.indrelid in (t.oid, t.reltoastrelid) and not x.indisvalid
join pg_catalog.pg_class as c on c.oid = x.indexrelid and c.relname ~ '_cc(new|old)[0-9]*$'
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
order by 1, 2
"""

# Who holds a lock on the table; if nobody does, who has the oldest transaction.
_BLOCKERS = """
select a.pid, a.application_name, a.state
from pg_catalog.pg_stat_activity as a
left join pg_catalog.pg_locks as l
    on l.pid = a.pid and l.relation = %s and l.granted and l.locktype = 'relation'
where a.datname = current_database()
    and a.pid <> pg_backend_pid()
    and (l.pid is not null or a.xact_start is not null)
order by l.pid is null, a.xact_start
limit 1
"""


@contextmanager
def session(progress: JobProgress) -> Iterator[Connection[Any]]:
    """Give the job's connection, without the limit that its role may set to a statement."""
    conn = progress.connection()
    _set(conn, "statement_timeout", "0")
    yield conn


def maintain(progress: JobProgress, work: Work) -> dict[str, list[str]]:
    """
    Do *work* to each table of the params, each in a transaction of its own.

    Params:
        tables: Names, qualified and quoted, as the spawn routine stored them.
        lock_timeout: How long to wait for a lock, per table, as PostgreSQL writes it; 60s.

    Raises:
        JobFailed: A table failed, or was skipped by the server; says which, and which are done.
        psycopg.errors.QueryCanceled: Somebody cancelled the statement; the rest is not done.
    """
    tables = progress.params.get("tables")
    if not isinstance(tables, list) or not tables or not all(isinstance(t, str) for t in tables):
        raise JobFailed('params: "tables" must be a list of table names')
    done: list[str] = []
    failed: list[str] = []
    with session(progress) as conn:
        try:
            _set(conn, "lock_timeout", str(progress.params.get("lock_timeout", LOCK_TIMEOUT)))
        except psycopg.DataError as error:
            raise JobFailed(f"params: {_said(error)}") from None
        for place, table in enumerate(tables):
            progress.step(place, len(tables), f"{work.doing} {table}")
            if reason := _one(conn, work, table):
                failed.append(f"{table}: {reason}")
            else:
                done.append(table)
    if failed:
        progress.step(len(done), len(tables), f"{len(failed)} of {len(tables)} tables failed")
        rest = f"; {work.done}: {', '.join(done)}" if done else ""
        raise JobFailed(f"{len(failed)} of {len(tables)} tables failed: {'; '.join(failed)}{rest}")
    progress.step(len(tables), len(tables), work.complete)
    return {work.done: done}


def _one(conn: Connection[Any], work: Work, table: str) -> str:
    """Do one table; return what went wrong, or nothing."""
    try:
        row = conn.execute(_FIND, [table]).fetchone()
    except psycopg.DataError:
        row = None  # not a name at all
    if row is None:
        return "there is no such table any more"
    oid, schema, name = row
    deadline = time.monotonic() + PATIENCE
    while True:
        before = _unfinished(conn, oid)
        try:
            with _warnings(conn) as warnings:
                conn.execute(work.statement.format(sql.Identifier(schema, name)))
        except psycopg.Error as error:
            if conn.broken:
                raise
            reason = _said(error)
            if isinstance(error, psycopg.errors.LockNotAvailable):
                reason += _blocker(conn, oid)
            reason += _clean_up(conn, _unfinished(conn, oid) - before)
            if isinstance(error, psycopg.errors.QueryCanceled):
                raise  # somebody wants the job to end, not just this table
            # A REINDEX waits for all older snapshots, and an ANALYZE of the same table holds one
            # while it waits for the REINDEX. The one that the server sends away comes again.
            if not isinstance(error, psycopg.errors.DeadlockDetected):
                return reason
            if time.monotonic() > deadline:
                return reason
        else:
            return "; ".join(warnings)
        time.sleep(0.2)


def _set(conn: Connection[Any], name: str, value: str) -> None:
    conn.execute("select set_config(%s, %s, false)", [name, value])


@contextmanager
def _warnings(conn: Connection[Any]) -> Iterator[list[str]]:
    """Collect what the server warns of: a table that it skipped is no error to it."""
    warnings: list[str] = []

    def collect(diagnostic: psycopg.errors.Diagnostic) -> None:
        if diagnostic.severity_nonlocalized == "WARNING":
            warnings.append(diagnostic.message_primary or "a warning without a text")

    conn.add_notice_handler(collect)
    try:
        yield warnings
    finally:
        conn.remove_notice_handler(collect)


def _unfinished(conn: Connection[Any], oid: int) -> set[tuple[str, str]]:
    return {(schema, name) for schema, name in conn.execute(_UNFINISHED, [oid])}


def _clean_up(conn: Connection[Any], indexes: set[tuple[str, str]]) -> str:
    """Drop what a failed REINDEX left behind, without locking readers out; say what stays."""
    stays = []
    for schema, name in sorted(indexes):
        try:
            conn.execute(sql.SQL("drop index concurrently {}").format(sql.Identifier(schema, name)))
        except psycopg.Error:
            if conn.broken:
                raise
            stays.append(f"{schema}.{name}")
    return f" (left behind: invalid index {', '.join(stays)})" if stays else ""


def _blocker(conn: Connection[Any], oid: int) -> str:
    row = conn.execute(_BLOCKERS, [oid]).fetchone()
    if row is None:
        return ""
    pid, application, state = cast("tuple[int, str | None, str | None]", row)
    known = ", ".join(word for word in (application, state) if word)
    return f"; in the way is session {pid}" + (f" ({known})" if known else "")


def _said(error: psycopg.Error) -> str:
    return error.diag.message_primary or str(error) or type(error).__name__
