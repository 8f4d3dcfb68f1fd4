"""Twins of the routines that put jobs on the books."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from psycopg import Connection

from pycortex._call import column, one, scalar, text, whole
from pycortex.models import DebounceMode, JobStatus, Spawned
from pycortex.values import params_to_array, params_to_jsonb

__all__ = ["cancel_job", "rerun_job", "spawn_job", "spawn_jobs"]


def spawn_job(
    conn: Connection[Any],
    kind: str,
    *,
    actor: str | None = None,
    params: Mapping[str, Any] | None = None,
    debounce_scope: Mapping[str, Any] | None = None,
    debounce_on: DebounceMode | str | None = None,
    run_at: datetime | None = None,
    priority: int | None = None,
    runner: UUID | None = None,
) -> Spawned:
    """
    Queue a job of *kind*, unless an active one of the same kind and scope stands in its place.

    Args:
        kind: 1 to 200 characters.
        actor: Who asks; at most 200 characters.
        params: What the body gets; converted as pycortex.values says, at most 8 MiB of JSON.
        debounce_scope: None: not debounced. Otherwise at most one active job of this kind and
            scope; ``{}`` is one per kind.
        debounce_on: "active": queued and running jobs keep a new one out. "queued": only a waiting
            one does, so that a call while one runs queues exactly one follow-up.
        run_at: Not to be started before; an aware datetime.
        priority: Greater is earlier.
        runner: The runner that will start it; no worker claims it then.

    Returns:
        The job's uuid, and whether this call created it.

    Raises:
        TypeError, ValueError: Params or scope that JSON can't hold, or an argument that isn't what
            it should be; says where.
        psycopg.DataError: An argument that the database refuses.
        RunnerNotFound: There is no such runner, or it has retired.
    """
    if run_at is not None and not isinstance(run_at, date):
        raise TypeError(f"run_at is a datetime, not of type {type(run_at).__name__}")
    return one(
        conn,
        "spawn_job",
        Spawned,
        kind=_kind(kind),
        actor=text(actor, "actor"),
        params=params_to_jsonb(params),
        debounce_scope=params_to_jsonb(debounce_scope, "debounce_scope"),
        debounce_on=debounce_on,
        run_at=run_at,
        priority=whole(priority, "priority"),
        runner=runner,
    )


def spawn_jobs(
    conn: Connection[Any],
    kind: str,
    params: Sequence[Mapping[str, Any]],
    *,
    actor: str | None = None,
    priority: int | None = None,
) -> list[UUID]:
    """
    Queue one job of *kind* for each of *params*, in one statement.

    Returns:
        Their uuids, in the order of *params*.

    Raises:
        TypeError, ValueError: Params that JSON can't hold; says where.
        psycopg.DataError: An argument that the database refuses; then none is made.
    """
    return column(
        conn,
        "spawn_jobs",
        kind=_kind(kind),
        params=params_to_array(params),
        actor=text(actor, "actor"),
        priority=whole(priority, "priority"),
    )


def cancel_job(
    conn: Connection[Any], job: UUID, *, actor: str | None = None, hard: bool | None = None
) -> JobStatus:
    """
    End a waiting job; ask a running one to end.

    Args:
        actor: Who asks; at most 200 characters.
        hard: Also end the statement that the job's attached session runs, and after cancel_grace
            the session.

    Returns:
        The job's state after the call.

    Raises:
        JobNotFound: There is no such job.
    """
    return scalar(conn, "cancel_job", JobStatus, job=job, actor=actor, hard=hard)


def rerun_job(conn: Connection[Any], job: UUID, *, actor: str | None = None) -> Spawned:
    """
    Spawn a job of the same kind, params and scope as one that is over.

    Raises:
        JobNotFound: There is no such job.
        WrongState: The job is still active.
    """
    return one(conn, "rerun_job", Spawned, job=job, actor=actor)


def _kind(kind: str) -> str:
    if kind is None:
        raise TypeError("kind is text, not None")
    return text(kind, "kind") or ""
