"""Twins of the routines of schema corpus that count reports in ranges, and keep the grains."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from psycopg import Connection

from pycortex._call import one, scalar
from pycortex.models import ReportAnswer, ReportRun

__all__ = [
    "begin_run",
    "clear_runs",
    "count_now",
    "count_range",
    "drop_run",
    "finish_run",
    "forget_grains",
    "keep_range",
    "next_width",
    "refresh_slice",
    "slice_is_stale",
]


def count_now(
    conn: Connection[Any],
    corpus_id: int,
    service_id: int,
    severity: str,
    *,
    budget: timedelta | None = None,
    actor: str | None = None,
) -> ReportAnswer:
    """
    Have a slice counted: here if that takes no longer than *budget*, 2 seconds by default.

    Returns:
        Whether it is there; if not, the job that counts it.

    Raises:
        psycopg.DataError: Not a corpus, service or severity, or a negative budget.
    """
    return one(
        conn,
        "corpus.count_now",
        ReportAnswer,
        corpus_id=corpus_id,
        service_id=service_id,
        severity=severity,
        budget=budget,
        actor=actor,
    )


def slice_is_stale(
    conn: Connection[Any], corpus_id: int, service_id: int, severity: str
) -> bool | None:
    """Return whether data changed since a slice was counted; None when it is not counted."""
    return scalar(
        conn,
        "corpus.slice_is_stale",
        _maybe_bool,
        corpus_id=corpus_id,
        service_id=service_id,
        severity=severity,
    )


def refresh_slice(
    conn: Connection[Any], corpus_id: int, service_id: int, severity: str
) -> int | None:
    """
    Count a slice from what is kept of its tasks.

    Returns:
        How many rows it has now; None if that can't be done, so that all must be counted.

    Raises:
        psycopg.DataError: Not a corpus, service or severity.
    """
    return scalar(
        conn,
        "corpus.refresh_slice",
        _maybe_int,
        corpus_id=corpus_id,
        service_id=service_id,
        severity=severity,
    )


def begin_run(
    conn: Connection[Any],
    corpus_id: int,
    service_id: int,
    severity: str,
    *,
    keeps: bool | None = None,
) -> ReportRun:
    """
    Begin to count a slice in ranges of its tasks, each in a transaction of its own.

    Args:
        keeps: Whether what each task adds is to be kept; its ranges are for keep_range then.

    Raises:
        psycopg.DataError: Not a corpus, service or severity.
    """
    return one(
        conn,
        "corpus.begin_run",
        ReportRun,
        corpus_id=corpus_id,
        service_id=service_id,
        severity=severity,
        keeps=keeps,
    )


def count_range(conn: Connection[Any], run: int, first_task: int, last_task: int) -> int:
    """Count the tasks of a run with ids from *first_task* to *last_task*; returns rows noted."""
    return scalar(
        conn, "corpus.count_range", int, run=run, first_task=first_task, last_task=last_task
    )


def keep_range(conn: Connection[Any], run: int, first_task: int, last_task: int) -> int:
    """Count a range of the tasks of a run and keep what each adds; returns tasks noted."""
    return scalar(
        conn, "corpus.keep_range", int, run=run, first_task=first_task, last_task=last_task
    )


def next_width(conn: Connection[Any], width: int, took: timedelta) -> int:
    """Return how many ids the next range takes, when one of *width* took so long."""
    return scalar(conn, "corpus.next_width", int, width=width, took=took)


def finish_run(conn: Connection[Any], run: int) -> int:
    """Publish a run, all of whose ranges are counted; returns how many rows the slice has."""
    return scalar(conn, "corpus.finish_run", int, run=run)


def drop_run(conn: Connection[Any], run: int) -> bool:
    """Give a run up; returns whether it was counting."""
    return scalar(conn, "corpus.drop_run", bool, run=run)


def clear_runs(conn: Connection[Any], *, batch_size: int | None = None) -> int:
    """Clear away what dropped runs left, and changes that nobody needs; returns rows deleted."""
    return scalar(conn, "corpus.clear_runs", int, batch_size=batch_size)


def forget_grains(conn: Connection[Any], corpus_id: int, service_id: int) -> int:
    """Give up what is kept of the tasks of a corpus and service; returns of how many slices."""
    return scalar(conn, "corpus.forget_grains", int, corpus_id=corpus_id, service_id=service_id)


def _maybe_bool(value: bool | None) -> bool | None:
    return value


def _maybe_int(value: int | None) -> int | None:
    return value
