"""Twins of the routines for the built-in kinds, and of the report cache in schema corpus."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from psycopg import Connection

from pycortex._call import names, one, scalar
from pycortex.models import Spawned

__all__ = [
    "invalidate_all",
    "invalidate_scope",
    "populate_scope",
    "report_populate_active",
    "spawn_analyze",
    "spawn_reindex",
    "spawn_report_populate",
    "spawn_report_refresh",
]


def spawn_reindex(
    conn: Connection[Any],
    *,
    actor: str | None = None,
    tables: Sequence[str] | None = None,
    lock_timeout: timedelta | None = None,
    statement_timeout: timedelta | None = None,
) -> Spawned:
    """
    Queue the rebuild of the indexes of *tables*, one such job at a time.

    Args:
        tables: Names as SQL has them; the configured maintenance tables if left out.
        lock_timeout: How long each wait for a lock may take; a minute if left out, zero for ever.
        statement_timeout: How long each statement may take; if left out or zero, for ever.

    Raises:
        psycopg.DataError, psycopg.ProgrammingError: A name that isn't a table, a limit below zero.
    """
    return one(
        conn,
        "spawn_reindex",
        Spawned,
        actor=actor,
        tables=names(tables, "tables"),
        lock_timeout=lock_timeout,
        statement_timeout=statement_timeout,
    )


def spawn_analyze(
    conn: Connection[Any],
    *,
    actor: str | None = None,
    tables: Sequence[str] | None = None,
    lock_timeout: timedelta | None = None,
    statement_timeout: timedelta | None = None,
) -> Spawned:
    """
    Queue new planner statistics for *tables*, one such job at a time.

    Args:
        tables: Names as SQL has them; the configured maintenance tables if left out.
        lock_timeout: How long each wait for a lock may take; a minute if left out, zero for ever.
        statement_timeout: How long each statement may take; if left out or zero, for ever.

    Raises:
        psycopg.DataError, psycopg.ProgrammingError: A name that isn't a table, a limit below zero.
    """
    return one(
        conn,
        "spawn_analyze",
        Spawned,
        actor=actor,
        tables=names(tables, "tables"),
        lock_timeout=lock_timeout,
        statement_timeout=statement_timeout,
    )


def spawn_report_refresh(conn: Connection[Any], *, actor: str | None = None) -> Spawned:
    """Queue the invalidation of the whole report cache, one such job at a time."""
    return one(conn, "spawn_report_refresh", Spawned, actor=actor)


def spawn_report_populate(
    conn: Connection[Any],
    corpus_id: int,
    service_id: int,
    severity: str,
    *,
    actor: str | None = None,
) -> Spawned:
    """
    Queue the computation of one slice of the report cache, one such job per slice at a time.

    Args:
        severity: warning, error, fatal, invalid or info.

    Raises:
        psycopg.DataError: Not a severity.
    """
    return one(
        conn,
        "spawn_report_populate",
        Spawned,
        corpus_id=corpus_id,
        service_id=service_id,
        severity=severity,
        actor=actor,
    )


def report_populate_active(
    conn: Connection[Any], corpus_id: int, service_id: int, severity: str
) -> bool:
    """Return whether a job that computes this slice is queued or running."""
    return scalar(
        conn,
        "report_populate_active",
        bool,
        corpus_id=corpus_id,
        service_id=service_id,
        severity=severity,
    )


def populate_scope(conn: Connection[Any], corpus_id: int, service_id: int, severity: str) -> int:
    """
    Compute one slice of the report cache and put it in place of the old one.

    Returns:
        How many rows it has now.

    Raises:
        psycopg.DataError: Not a severity.
    """
    return scalar(
        conn,
        "corpus.populate_scope",
        int,
        corpus_id=corpus_id,
        service_id=service_id,
        severity=severity,
    )


def invalidate_scope(conn: Connection[Any], corpus_id: int, service_id: int) -> int:
    """Drop the slices of one corpus and service; returns how many rows went."""
    return scalar(conn, "corpus.invalidate_scope", int, corpus_id=corpus_id, service_id=service_id)


def invalidate_all(conn: Connection[Any]) -> int:
    """Drop the whole report cache; returns how many rows went."""
    return scalar(conn, "corpus.invalidate_all", int)
