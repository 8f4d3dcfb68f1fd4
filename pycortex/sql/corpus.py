"""Twins of the routines of schema corpus that store documents and show reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import Connection

from pycortex._call import many, scalar
from pycortex.models import ReportRow, StoredTask

__all__ = ["open_corpus", "open_service", "put_tasks", "report_slice"]


def open_corpus(conn: Connection[Any], name: str) -> int:
    """Return the id of the corpus of this *name*, which is made when there is none."""
    return scalar(conn, "corpus.open_corpus", int, name=name)


def open_service(conn: Connection[Any], name: str) -> int:
    """Return the id of the service of this *name*, which is made when there is none."""
    return scalar(conn, "corpus.open_service", int, name=name)


def put_tasks(
    conn: Connection[Any],
    corpus_id: int,
    service_id: int,
    entries: Sequence[str],
    statuses: Sequence[int],
) -> list[StoredTask]:
    """
    Store documents with their statuses, without messages; those they had are deleted.

    Args:
        entries: Names of the documents, each once.
        statuses: Of each, in the same order: 0 to do, -1 no problem, -2 warning, -3 error,
            -4 fatal, -5 invalid.

    Returns:
        The task of each document, in no order.
    """
    return many(
        conn,
        "corpus.put_tasks",
        StoredTask,
        corpus_id=corpus_id,
        service_id=service_id,
        entries=list(entries),
        statuses=list(statuses),
    )


def report_slice(
    conn: Connection[Any], corpus_id: int, service_id: int, severity: str
) -> list[ReportRow]:
    """
    Return the counts of one slice: the total, then the categories, each followed by what is in it.

    Returns:
        Nothing when the slice was never computed or has been invalidated since.

    Raises:
        psycopg.DataError: Not a corpus, service or severity.
    """
    return many(
        conn,
        "corpus.report_slice",
        ReportRow,
        corpus_id=corpus_id,
        service_id=service_id,
        severity=severity,
    )
