"""Twins of the routines that keep the truth."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg import Connection

from pycortex._call import names, one, scalar, tell, whole
from pycortex.models import InterruptPolicy, Maintenance

__all__ = [
    "configure",
    "configure_kind",
    "interrupt_orphans",
    "maintain",
    "purge_jobs",
    "reap_stale",
    "schedule_maintenance",
    "unschedule_maintenance",
]

Interval = timedelta | str
"""A span of time: a timedelta, or text that PostgreSQL reads as an interval."""


def reap_stale(conn: Connection[Any], *, older_than: Interval | None = None) -> int:
    """
    Interrupt running jobs that have been silent for longer than their kind allows, or *older_than*.

    Returns:
        How many it ended.

    Raises:
        psycopg.DataError: A time that is not above zero.
    """
    return scalar(conn, "reap_stale", int, older_than=older_than)


def interrupt_orphans(conn: Connection[Any], runner: UUID | None = None) -> int:
    """
    Interrupt all active jobs (the restart sweep of a deployment of one process), or one runner's.

    Returns:
        How many it ended.

    Raises:
        RunnerNotFound: There is no such runner.
    """
    return scalar(conn, "interrupt_orphans", int, runner=runner)


def purge_jobs(
    conn: Connection[Any], *, older_than: Interval | None = None, batch_size: int | None = None
) -> int:
    """
    Delete one batch of finished jobs that are older than they are to be kept.

    Returns:
        How many it deleted; call again while that is a full batch.

    Raises:
        psycopg.DataError: A negative age or a batch below one.
    """
    return scalar(
        conn, "purge_jobs", int, older_than=older_than, batch_size=whole(batch_size, "batch_size")
    )


def maintain(conn: Connection[Any]) -> Maintenance:
    """Close what is dead, delete what is old; what pg_cron and every runner call."""
    return one(conn, "maintain", Maintenance)


def schedule_maintenance(conn: Connection[Any], *, schedule: str | None = None) -> int:
    """
    Let pg_cron call maintain; again to change the schedule.

    Args:
        schedule: As pg_cron understands it; every minute if left out.

    Returns:
        The number of pg_cron's entry.

    Raises:
        psycopg.NotSupportedError: pg_cron can't be called in this database.
    """
    return scalar(conn, "schedule_maintenance", int, schedule=schedule)


def unschedule_maintenance(conn: Connection[Any]) -> bool:
    """
    Take maintain off pg_cron.

    Returns:
        Whether it was there.

    Raises:
        psycopg.NotSupportedError: pg_cron can't be called in this database.
    """
    return scalar(conn, "unschedule_maintenance", bool)


def configure(
    conn: Connection[Any],
    *,
    stale_after: Interval | None = None,
    run_timeout: Interval | None = None,
    queue_timeout: Interval | None = None,
    max_attempts: int | None = None,
    backoff: Interval | None = None,
    backoff_limit: Interval | None = None,
    on_interrupt: InterruptPolicy | str | None = None,
    max_running: int | None = None,
    keep: Interval | None = None,
    cancel_grace: Interval | None = None,
    runner_beat: Interval | None = None,
    runner_grace: Interval | None = None,
    reset: Sequence[str] | None = None,
) -> None:
    """
    Change the defaults for every kind and the rhythm of runners; None leaves a setting as it is.

    Args:
        reset: Names of settings that go back to what they were at first.

    Raises:
        psycopg.DataError: Values that don't go together, or an unknown name in *reset*.
    """
    tell(
        conn,
        "configure",
        stale_after=stale_after,
        run_timeout=run_timeout,
        queue_timeout=queue_timeout,
        max_attempts=max_attempts,
        backoff=backoff,
        backoff_limit=backoff_limit,
        on_interrupt=on_interrupt,
        max_running=max_running,
        keep=keep,
        cancel_grace=cancel_grace,
        runner_beat=runner_beat,
        runner_grace=runner_grace,
        reset=names(reset, "reset"),
    )


def configure_kind(
    conn: Connection[Any],
    kind: str,
    *,
    stale_after: Interval | None = None,
    run_timeout: Interval | None = None,
    queue_timeout: Interval | None = None,
    max_attempts: int | None = None,
    backoff: Interval | None = None,
    on_interrupt: InterruptPolicy | str | None = None,
    max_running: int | None = None,
    keep: Interval | None = None,
    reset: Sequence[str] | None = None,
) -> None:
    """
    Set what one kind does otherwise than the defaults; None leaves a setting as it is.

    Args:
        reset: Names of settings that go back to the defaults.

    Raises:
        psycopg.DataError: A bad kind, values that don't go together, or an unknown name in *reset*.
    """
    tell(
        conn,
        "configure_kind",
        kind=kind,
        stale_after=stale_after,
        run_timeout=run_timeout,
        queue_timeout=queue_timeout,
        max_attempts=max_attempts,
        backoff=backoff,
        on_interrupt=on_interrupt,
        max_running=max_running,
        keep=keep,
        reset=names(reset, "reset"),
    )
