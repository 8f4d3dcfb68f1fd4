"""Messages by COPY: into the tables, from lines made before anybody knows their task; and out."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any

from psycopg import Connection, sql

from pycortex.latexml import Log, Message, Severity, Status

__all__ = [
    "COLUMNS",
    "SEVERITIES",
    "Parsed",
    "copy_messages",
    "count_messages",
    "messages_as_csv",
    "messages_as_json",
    "parsed",
    "scope_id",
]

SEVERITIES = tuple(Severity)

_STATEMENT = sql.SQL(
    "copy corpus.{} (task_id, category, what, details) from stdin (encoding 'utf8')"
)

COLUMNS = ("entry", "status", "severity", "category", "what", "details")
"""Of an export, in their order."""

_SELECT = sql.SQL("""
select t.entry, t.status, {severity} as severity, l.category, l.what, l.details
from corpus.{table} as l
join corpus.tasks as t on t.id = l.task_id
where t.corpus_id = {corpus_id} and t.service_id = {service_id}
order by l.task_id, l.id
""")

_COUNT = sql.SQL("""
select count(*)
from corpus.{} as l
join corpus.tasks as t on t.id = l.task_id
where t.corpus_id = %s and t.service_id = %s
""")

_AS_CSV = sql.SQL("copy ({}) to stdout (format csv, encoding 'utf8')")

# JSON has neither of these two characters, so that nothing is quoted once more.
_AS_JSON = sql.SQL(
    "copy (select row_to_json(r)::text from ({}) as r)"
    " to stdout (format csv, encoding 'utf8', quote e'\\x01', delimiter e'\\x02')"
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


def scope_id(conn: Connection[Any], table: str, name: object) -> int | None:
    """Find a corpus or a service, by its name or its number; table is corpora or services."""
    column = "id" if isinstance(name, int) else "name"
    query = sql.SQL("select id from corpus.{} where {} = %s").format(
        sql.Identifier(table), sql.Identifier(column)
    )
    row = conn.execute(query, [name]).fetchone()
    return None if row is None else row[0]


def count_messages(
    conn: Connection[Any], corpus_id: int, service_id: int, severity: Severity
) -> int:
    """Count the messages of a scope, whatever the status of their tasks."""
    query = _COUNT.format(sql.Identifier(f"log_{severity}s"))
    (count,) = conn.execute(query, [corpus_id, service_id]).fetchone() or (0,)
    return int(count)


def messages_as_csv(
    conn: Connection[Any], corpus_id: int, service_id: int, severity: Severity
) -> Generator[bytes, None, None]:
    """Yield the messages of a scope, each as a line of CSV that ends in a newline, as they come."""
    return _copy_out(conn, _AS_CSV.format(_select(corpus_id, service_id, severity)))


def messages_as_json(
    conn: Connection[Any], corpus_id: int, service_id: int, severity: Severity
) -> Generator[bytes, None, None]:
    """Yield the messages of a scope, each as a line of JSON that ends in a newline."""
    return _copy_out(conn, _AS_JSON.format(_select(corpus_id, service_id, severity)))


def _select(corpus_id: int, service_id: int, severity: Severity) -> sql.Composed:
    return _SELECT.format(
        severity=sql.Literal(severity.value),
        table=sql.Identifier(f"log_{severity}s"),
        corpus_id=sql.Literal(corpus_id),
        service_id=sql.Literal(service_id),
    )


def _copy_out(conn: Connection[Any], statement: sql.Composed) -> Generator[bytes, None, None]:
    count = 0
    with conn.cursor() as cursor:
        with cursor.copy(statement) as copy:
            for row in copy:  # the protocol sends a message for each
                count += 1
                yield bytes(row)
        if cursor.rowcount != count:
            raise RuntimeError(f"{count} rows came, the server sent {cursor.rowcount}")


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
