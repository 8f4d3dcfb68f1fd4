"""Twins of the routines that put jobs on the books."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection

from pycortex._call import one
from pycortex.models import DebounceMode, Spawned
from pycortex.values import params_to_jsonb

__all__ = ["spawn_job"]


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
        TypeError, ValueError: Params or scope that JSON can't hold; says where.
        psycopg.DataError: An argument that the database refuses.
        RunnerNotFound: There is no such runner, or it has retired.
    """
    return one(
        conn,
        "spawn_job",
        Spawned,
        kind=kind,
        actor=actor,
        params=params_to_jsonb(params),
        debounce_scope=params_to_jsonb(debounce_scope, "debounce_scope"),
        debounce_on=debounce_on,
        run_at=run_at,
        priority=priority,
        runner=runner,
    )
