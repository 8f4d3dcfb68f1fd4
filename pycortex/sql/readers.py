"""Twins of the routines and views that only look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg import Connection

from pycortex._call import many, maybe, names, one, scalar, text, view, whole
from pycortex.models import (
    Configuration,
    Expired,
    Job,
    JobActivity,
    JobEvent,
    JobStatus,
    KindRules,
    MaintenancePlan,
    Overview,
    RunnerInfo,
    Schedule,
    SqlKind,
    StatusCount,
    Waiting,
)
from pycortex.values import params_to_jsonb

__all__ = [
    "configuration",
    "count_recent_with_status",
    "cron_entry",
    "db_now",
    "find_job",
    "list_activity",
    "list_events",
    "list_jobs",
    "list_kinds",
    "list_recent",
    "list_runners",
    "list_schedules",
    "list_sql_kinds",
    "list_waiting",
    "maintenance_plan",
    "metrics",
    "overview",
    "purge_plan",
    "schema_version",
    "status_counts",
]


Interval = timedelta | str
"""A span of time: a timedelta, or text that PostgreSQL reads as an interval."""


def find_job(conn: Connection[Any], job: UUID) -> Job | None:
    """
    Find a job by its uuid.

    Returns:
        The job, or None if there is none.
    """
    return maybe(conn, "find_job", Job, job=job)


def list_recent(
    conn: Connection[Any], *, active_only: bool | None = None, max_rows: int | None = None
) -> list[Job]:
    """
    List the newest jobs, newest first, after closing those that only look alive.

    Raises:
        psycopg.DataError: A negative number of rows.
    """
    return many(
        conn, "list_recent", Job, active_only=active_only, max_rows=whole(max_rows, "max_rows")
    )


def list_jobs(
    conn: Connection[Any],
    *,
    kinds: Sequence[str] | None = None,
    statuses: Sequence[JobStatus | str] | None = None,
    actor: str | None = None,
    scope: Mapping[str, Any] | None = None,
    since: datetime | None = None,
    after_created_at: datetime | None = None,
    after_uuid: UUID | None = None,
    max_rows: int | None = None,
) -> list[Job]:
    """
    List jobs that match, newest first, a page at a time; None filters nothing.

    Args:
        scope: Their whole debounce scope.
        since: Created then or later; aware.
        after_created_at: Of the last job of the page before; with *after_uuid*, its uuid.
        max_rows: At most so many; 50 if left out.

    Raises:
        TypeError, ValueError: Not a status; a scope that JSON can't hold; a time without a zone.
        psycopg.DataError: A negative number of rows, or half a place to begin at.
    """
    listed = names(statuses, "statuses")
    # As text: the driver would make it an array of text, which isn't one of statuses.
    labels = None if listed is None else "{" + ",".join(map(JobStatus, listed)) + "}"
    return many(
        conn,
        "list_jobs",
        Job,
        kinds=names(kinds, "kinds"),
        statuses=labels,
        actor=text(actor, "actor"),
        scope=params_to_jsonb(scope, "scope"),
        since=since,
        after_created_at=after_created_at,
        after_uuid=after_uuid,
        max_rows=whole(max_rows, "max_rows"),
    )


def count_recent_with_status(
    conn: Connection[Any], status: JobStatus | str, *, hours: float | Decimal | None = None
) -> int:
    """
    Count the jobs created in the last *hours* that are in *status* now.

    Raises:
        psycopg.DataError: Not a status, or a window that makes no sense.
    """
    return scalar(conn, "count_recent_with_status", int, status=status, hours=hours)


def status_counts(
    conn: Connection[Any], *, hours: float | Decimal | None = None
) -> list[StatusCount]:
    """
    Count jobs by kind and state: active ones always, ended ones if they ended in the last *hours*.

    Returns:
        All six states of each kind that has such a job, zeros included.

    Raises:
        psycopg.DataError: A window that makes no sense.
    """
    return many(conn, "status_counts", StatusCount, hours=hours)


def db_now(conn: Connection[Any]) -> datetime:
    """Return the database's time, which is the one that counts; aware."""
    return scalar(conn, "db_now", _same)


def schema_version(conn: Connection[Any]) -> str:
    """Return the name of the newest migration that the database has seen."""
    return scalar(conn, "schema_version", str)


def cron_entry(conn: Connection[Any]) -> str:
    """Return the name of the pg_cron entry for this database's upkeep."""
    return scalar(conn, "cron_entry", str)


def metrics(conn: Connection[Any]) -> str:
    """Return the state of the job system as Prometheus text."""
    return scalar(conn, "metrics", str)


def overview(
    conn: Connection[Any], *, kind: str | None = None, hours: float | Decimal | None = None
) -> Overview:
    """
    Tell what waits, runs and ended in the last *hours*, of one *kind* or of all; and who is there.

    Raises:
        psycopg.DataError: A window that makes no sense.
    """
    return one(conn, "overview", Overview, kind=kind, hours=hours)


def purge_plan(conn: Connection[Any], *, older_than: Interval | None = None) -> list[Expired]:
    """
    Count what purge_jobs would delete, by kind and status.

    Raises:
        psycopg.DataError: A negative age.
    """
    return many(conn, "purge_plan", Expired, older_than=older_than)


def list_runners(conn: Connection[Any]) -> list[RunnerInfo]:
    """List the runners that were ever registered and not deleted, oldest first."""
    return view(conn, "runners", RunnerInfo, order_by="registered_at, uuid")


def list_events(conn: Connection[Any], job: UUID) -> list[JobEvent]:
    """List what happened to a job, oldest first; nothing for an unknown one."""
    return view(conn, "job_events", JobEvent, order_by="at", job=job)


def configuration(conn: Connection[Any]) -> Configuration:
    """Return the settings in force."""
    [row] = view(conn, "configuration", Configuration)
    return row


def _same(value: datetime) -> datetime:
    return value


def list_kinds(conn: Connection[Any]) -> list[KindRules]:
    """List what holds for each configured kind."""
    return view(conn, "kinds", KindRules, order_by="kind")


def list_activity(conn: Connection[Any]) -> list[JobActivity]:
    """List what the attached sessions of running jobs do at this moment."""
    return view(conn, "job_activity", JobActivity)


def list_waiting(conn: Connection[Any]) -> list[Waiting]:
    """List what waits for a worker, by kind, and how many live runners take that kind."""
    return view(conn, "waiting", Waiting, order_by="kind")


def list_schedules(conn: Connection[Any]) -> list[Schedule]:
    """List the jobs that come back: when, how the last run went, when the next one is."""
    return many(conn, "list_schedules", Schedule)


def list_sql_kinds(conn: Connection[Any]) -> list[SqlKind]:
    """List the kinds that have a body inside the database."""
    return view(conn, "sql_kinds", SqlKind, order_by="kind")


def maintenance_plan(
    conn: Connection[Any], kind: str, *, tables: Sequence[str] | None = None
) -> list[MaintenancePlan]:
    """
    Look what a reindex or analyze of *tables* would do now.

    Args:
        kind: reindex or analyze.
        tables: Names as SQL has them; the configured maintenance tables if left out.

    Raises:
        psycopg.DataError, psycopg.ProgrammingError: Another kind, or a name that isn't a table.
    """
    return many(
        conn, "maintenance_plan", MaintenancePlan, kind=kind, tables=names(tables, "tables")
    )
