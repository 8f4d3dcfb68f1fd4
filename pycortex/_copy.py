"""Bulk loading by COPY: messages as the lines that it reads, made before anybody knows their task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from psycopg import Connection, sql

from pycortex.latexml import Log, Message, Severity, Status

__all__ = ["SEVERITIES", "Parsed", "copy_messages", "parsed"]

SEVERITIES = tuple(Severity)

_STATEMENT = sql.SQL(
    "copy corpus.{} (task_id, category, what, details) from stdin (encoding 'utf8')"
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """
    A document, ready to be stored.

    Attributes:
        status: Its status.
        complete: Whether its log tells how the conversion ended.
        counts: How many messages of each severity, in their order.
        rows: The messages of each severity as lines for COPY, all but the task's number.
    """

    status: int
    complete: bool
    counts: tuple[int, ...]
    rows: tuple[bytes, ...]

    @property
    def cut_off(self) -> bool:
        """Whether the log breaks off."""
        return not self.complete and self.status != Status.INVALID

    @property
    def size(self) -> int:
        """Bytes of its rows."""
        return sum(map(len, self.rows))


def parsed(log: Log) -> Parsed:
    """Make the rows of a document."""
    rows: dict[Severity, list[bytes]] = {severity: [] for severity in SEVERITIES}
    for message in log.messages:
        rows[message.severity].append(_row(message))
    return Parsed(
        log.status.value,
        log.complete,
        tuple(map(len, rows.values())),
        tuple(map(b"".join, rows.values())),
    )


def copy_messages(
    conn: Connection[Any], severity: Severity, documents: Iterable[tuple[int, bytes]]
) -> None:
    """
    Load messages of one *severity*; no statement is sent when there are none.

    Args:
        documents: The number of each document's task, and its rows.
    """
    blocks = [
        block
        for task, rows in documents
        if rows
        for line in (b"\n%d\t" % task,)
        for block in (line[1:], rows[:-1].replace(b"\n", line), b"\n")
    ]
    if blocks:
        with conn.cursor() as cursor:
            table = sql.Identifier(f"log_{severity}s")
            with cursor.copy(_STATEMENT.format(table)) as copy:
                copy.write(b"".join(blocks))


def _row(message: Message) -> bytes:
    text = f"{message.category}\x00{message.what}\x00{message.details}"  # no text has a NUL
    return (
        text.replace("\\", "\\\\")
        .replace("\n", "\\n")
        .replace("\t", "\\t")
        .replace("\r", "\\r")
        .replace("\x00", "\t")
        .encode()
        + b"\n"
    )
