"""Documents and messages in schema corpus, inserted directly; and a progress for bodies alone."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

SEVERITIES = ("info", "warning", "error", "fatal", "invalid")

_numbers = count(1)

Message = tuple[str, str | None, str | None]
"""Severity, category, what."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A corpus under a service."""

    corpus_id: int
    service_id: int

    def slice(self, severity: str) -> tuple[int, int, str]:
        return (self.corpus_id, self.service_id, severity)


def make_scope(conn: psycopg.Connection[Any]) -> Scope:
    """Insert a corpus and a service."""
    name = f"test {next(_numbers)} {uuid4()}"
    ids = [
        conn.execute(
            sql.SQL("insert into corpus.{} (name) values (%s) returning id").format(
                sql.Identifier(table)
            ),
            [name],
        ).fetchone()[0]
        for table in ("corpora", "services")
    ]
    return Scope(*ids)


def make_task(
    conn: psycopg.Connection[Any],
    scope: Scope,
    status: int = -1,
    messages: Iterable[Message] = (),
    *,
    entry: str | None = None,
) -> int:
    """Insert a document with its messages; returns its id."""
    (task,) = conn.execute(
        "insert into corpus.tasks (corpus_id, service_id, status, entry)"
        " values (%s, %s, %s, %s) returning id",
        [scope.corpus_id, scope.service_id, status, entry or f"document {next(_numbers)}"],
    ).fetchone()
    for severity, category, what in messages:
        conn.execute(
            sql.SQL(
                "insert into corpus.{} (task_id, category, what, details) values (%s, %s, %s, '')"
            ).format(sql.Identifier(f"log_{severity}s")),
            [task, category, what],
        )
    return task


def cached(conn: psycopg.Connection[Any], scope: Scope, severity: str) -> list[tuple[Any, ...]]:
    """The rows of a cached slice, in some stable order."""
    return conn.execute(
        "select r.grain::text, r.category, r.what, r.task_count, r.message_count"
        " from corpus.report_grain_cache as r"
        " where corpus_id = %s and service_id = %s and severity = %s"
        " order by r.grain, r.category nulls first, r.what nulls first",
        scope.slice(severity),
    ).fetchall()


@dataclass
class Progress:
    """What a body needs of a JobProgress; remembers the steps."""

    conn: psycopg.Connection[Any]
    params: dict[str, Any]
    uuid: UUID = field(default_factory=uuid4)
    steps: list[tuple[int, int | None, str]] = field(default_factory=list)
    cancel_requested: bool = False
    _last_call: threading.Event = field(default_factory=threading.Event)

    def connection(self, *, new: bool = False) -> psycopg.Connection[Any]:
        return psycopg.connect(self.conn.info.dsn, autocommit=True) if new else self.conn

    def step(self, current: int, total: int | None = None, message: str = "") -> None:
        self.steps.append((current, total, message))
