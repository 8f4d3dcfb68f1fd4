"""Twins of the routines that keep the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg import Connection

from pycortex._call import NULL, names, one, scalar, tell, text, whole
from pycortex.models import DebounceMode, InterruptPolicy, Maintenance, Spawned
from pycortex.values import params_to_jsonb

__all__ = [
    "configure",
    "configure_kind",
    "interrupt_orphans",
    "maintain",
    "purge_jobs",
    "reap_stale",
    "register_sql_kind",
    "schedule_job",
    "schedule_maintenance",
    "schedule_work",
    "spawn_scheduled",
    "unschedule_job",
    "unschedule_maintenance",
    "unschedule_work",
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


def register_sql_kind(
    conn: Connection[Any],
    kind: str,
    procedure: str | None,
    *,
    run_as: str | None = None,
    commits: bool | None = None,
) -> None:
    """
    Give a kind a body inside the database.

    Args:
        procedure: ``schema.name`` or ``schema.name(uuid)``, a procedure or function that takes the
            job's uuid; None: the kind has none any more.
        run_as: The role that runs it; the current one if left out.
        commits: Whether the procedure ends transactions itself; as its text looks if left out.

    Raises:
        psycopg.errors.UndefinedFunction: There is no such routine.
        psycopg.errors.InsufficientPrivilege: That role may not call it, or should not.
        psycopg.ProgrammingError: It is no body, or there is no such role.
        psycopg.DataError: Not a kind, or not the name of a routine.
    """
    tell(
        conn,
        "register_sql_kind",
        kind=kind,
        procedure=NULL if procedure is None else text(procedure, "procedure"),
        run_as=text(run_as, "run_as"),
        commits=commits,
    )


def schedule_work(
    conn: Connection[Any], *, schedule: str | None = None, max_jobs: int | None = None
) -> int:
    """
    Let pg_cron run jobs whose kind has a body in SQL, as the current role; again to change it.

    Args:
        schedule: As pg_cron understands it; every minute if left out.
        max_jobs: How many jobs one run takes at most; 100 if left out.

    Returns:
        The number of pg_cron's entry.

    Raises:
        psycopg.NotSupportedError: pg_cron can't be called in this database.
    """
    return scalar(
        conn, "schedule_work", int, schedule=schedule, max_jobs=whole(max_jobs, "max_jobs")
    )


def unschedule_work(conn: Connection[Any]) -> bool:
    """
    Take the current role's entry for bodies in SQL off pg_cron.

    Returns:
        Whether it was there.

    Raises:
        psycopg.NotSupportedError: pg_cron can't be called in this database.
    """
    return scalar(conn, "unschedule_work", bool)


def schedule_job(
    conn: Connection[Any],
    name: str,
    schedule: str,
    kind: str,
    *,
    params: Mapping[str, Any] | None = None,
    actor: str | None = None,
    debounce_scope: Mapping[str, Any] | None = None,
    debounce_on: DebounceMode | str | None = None,
    priority: int | None = None,
) -> int:
    """
    Let a job come back, by pg_cron; again with the same *name* to change it.

    Args:
        schedule: As pg_cron understands it; in GMT, unless cron.timezone says otherwise.
        params: What the body gets, as in spawn_job.
        debounce_scope: As in spawn_job, but one job of the kind at a time if left out.

    Returns:
        The number of pg_cron's entry.

    Raises:
        TypeError, ValueError: Params or scope that JSON can't hold; says where.
        psycopg.NotSupportedError: pg_cron can't be called in this database.
        psycopg.DataError: Something that is out of bounds, or not a cron line.
    """
    return scalar(
        conn,
        "schedule_job",
        int,
        name=name,
        schedule=schedule,
        kind=kind,
        params=params_to_jsonb(params),
        actor=text(actor, "actor"),
        debounce_scope=params_to_jsonb(debounce_scope, "debounce_scope"),
        debounce_on=debounce_on,
        priority=whole(priority, "priority"),
    )


def unschedule_job(conn: Connection[Any], name: str) -> bool:
    """
    Let a job come back no more.

    Returns:
        Whether there was such a schedule.
    """
    return scalar(conn, "unschedule_job", bool, name=name)


def spawn_scheduled(conn: Connection[Any], name: str) -> Spawned:
    """
    Spawn the job of a schedule now.

    Raises:
        psycopg.DataError: There is no such schedule.
    """
    return one(conn, "spawn_scheduled", Spawned, name=name)
