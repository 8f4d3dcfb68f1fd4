"""A spawn that ends in certainty: there is a job, or the caller is told that there is none."""

from __future__ import annotations

import time
from typing import Any

import psycopg
from psycopg.errors import (
    DeadlockDetected,
    IdleInTransactionSessionTimeout,
    SerializationFailure,
)

from pycortex import sql
from pycortex._bodies import Bodies
from pycortex._pool import Pool, is_away
from pycortex._ticket import Ticket
from pycortex.errors import JobCancelled
from pycortex.models import Spawned
from pycortex.progress import JobProgress

__all__ = ["spawn"]

TRIES = 5
SETTLE_LIMIT = 10.0
"""Seconds to find out whether a commit went through whose answer was lost."""


class _LostError(Exception):
    """The answer to a commit was lost."""

    def __init__(self, spawned: Spawned, cause: psycopg.Error) -> None:
        super().__init__()
        self.spawned = spawned
        self.cause = cause


def spawn(pool: Pool, bodies: Bodies, ticket: Ticket, arguments: dict[str, Any]) -> Spawned:
    """
    Call spawn_job in a transaction of its own.

    Nothing is committed before its uuid is known here; so a lost connection either left no job, or
    one that can be looked up.

    Raises:
        psycopg.Error: There is no job. Should the database not answer for long, one that comes to
            light later is cancelled.
    """
    try:
        spawned = _try(pool, ticket, arguments)
    except _LostError as lost:
        if not _settle(pool, bodies, ticket, lost.spawned):
            raise lost.cause from None
        spawned = lost.spawned
    return spawned


def _try(pool: Pool, ticket: Ticket, arguments: dict[str, Any]) -> Spawned:
    for left in reversed(range(TRIES)):
        spawned = None
        try:
            with pool.connection(new=left < TRIES - 1) as conn, conn.transaction():
                spawned = sql.spawn_job(conn, runner=ticket.runner, **arguments)
        except (SerializationFailure, DeadlockDetected, IdleInTransactionSessionTimeout):
            if not left:
                raise
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if spawned is not None and is_away(error):
                raise _LostError(spawned, error) from error
            if not is_away(error) or left < TRIES - 1:
                raise
        else:
            return spawned
    raise AssertionError("unreachable")


def _settle(pool: Pool, bodies: Bodies, ticket: Ticket, spawned: Spawned) -> bool:
    """Find out whether the job of a lost commit is there."""
    deadline = time.monotonic() + SETTLE_LIMIT
    while time.monotonic() < deadline:
        try:
            return pool.run(lambda conn: sql.find_job(conn, spawned.uuid)) is not None
        except psycopg.Error:
            time.sleep(0.2)
    if spawned.created:
        ticket.body = _disown
        bodies.launch(ticket, spawned.uuid)
    return False


def _disown(_: JobProgress) -> None:
    raise JobCancelled("its spawn was reported as failed, because the database didn't answer")
