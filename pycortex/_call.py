"""Calls of the database's routines: the only place with SQL text, and how rows become objects."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import psycopg
from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor
from psycopg.abc import Buffer
from psycopg.adapt import Transformer
from psycopg.rows import RowMaker, tuple_row
from psycopg.types.datetime import TimestamptzBinaryLoader
from psycopg.types.json import JsonbBinaryLoader

from pycortex._plainjson import JsonbArray, JsonbArrayDumper
from pycortex._text import refuse_unfit
from pycortex.models import DebounceMode, InterruptPolicy, JobStatus, Verdict

__all__ = [
    "NULL",
    "ask",
    "bound_idling",
    "call",
    "column",
    "listen",
    "many",
    "maybe",
    "names",
    "one",
    "read_json",
    "scalar",
    "tell",
    "text",
    "view",
    "whole",
]

T = TypeVar("T")
P = ParamSpec("P")
Arguments = dict[str, Any]

EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)

NULL: Any = object()
"""SQL's null where it means something; None only leaves an argument out."""

LONGEST_INTEGER = 4000
"""Digits. Python refuses to turn more than 4300 into an int, to bound its time."""

ENUMS: dict[str, type[StrEnum]] = {
    "status": JobStatus,
    "from_status": JobStatus,
    "to_status": JobStatus,
    "last_job_status": JobStatus,
    "verdict": Verdict,
    "debounce_on": DebounceMode,
    "on_interrupt": InterruptPolicy,
}
"""Columns that hold labels of an enum of ours."""


def scalar(conn: Connection[Any], routine: str, type_: Callable[[Any], T], **arguments: Any) -> T:
    """Call a routine that returns one value."""
    [row] = _fetch(_execute(conn, _query(routine, _given(arguments)), arguments), _as_it_is)
    return type_(_text(row[0]))


def column(conn: Connection[Any], routine: str, **arguments: Any) -> list[Any]:
    """Call a routine that returns one value per row."""
    cursor = _execute(conn, _query(routine, _given(arguments)), arguments)
    return [row[0] for row in _fetch(cursor, _as_it_is)]


def tell(conn: Connection[Any], routine: str, **arguments: Any) -> None:
    """Call a routine that returns nothing."""
    _execute(conn, _query(routine, _given(arguments)), arguments)


def call(conn: Connection[Any], procedure: str, **arguments: Any) -> None:
    """Call a procedure, which ends transactions: the connection must not be in one."""
    query = _query(procedure, _given(arguments)).replace(b"select * from", b"call", 1)
    _execute(conn, query, arguments)


def one(conn: Connection[Any], routine: str, class_: type[T], **arguments: Any) -> T:
    """Call a routine that returns exactly one row."""
    [row] = many(conn, routine, class_, **arguments)
    return row


def maybe(conn: Connection[Any], routine: str, class_: type[T], **arguments: Any) -> T | None:
    """Call a routine that returns one row or none."""
    rows = many(conn, routine, class_, **arguments)
    return rows[0] if rows else None


def many(conn: Connection[Any], routine: str, class_: type[T], **arguments: Any) -> list[T]:
    """Call a routine that returns rows."""
    cursor = _execute(conn, _query(routine, _given(arguments)), arguments)
    return _fetch(cursor, _maker(cursor, class_))


def view(
    conn: Connection[Any], name: str, class_: type[T], *, order_by: str = "", **where: Any
) -> list[T]:
    """Read a view of schema cortex, all rows or those with the given values."""
    text = f"select * from cortex.{name}"  # noqa: S608 - names from our own code
    if where:
        text += " where " + " and ".join(f"{column} = %({column})s" for column in where)
    if order_by:
        text += f" order by {order_by}"
    cursor = _execute(conn, text.encode(), where)
    return _fetch(cursor, _maker(cursor, class_))


def names(given: Sequence[str] | None, argument: str) -> list[str] | None:
    """
    Make an array of names; None stays None.

    Raises:
        TypeError: A single text, whose letters nobody means.
    """
    if isinstance(given, str):
        raise TypeError(f"{argument} is a sequence of names, not the text {given!r}")
    return None if given is None else list(given)


def listen(conn: Connection[Any], channel: str) -> None:
    """Have the session of *conn* hear what is notified on a channel."""
    conn.execute(f"listen {channel}".encode())


def bound_idling(conn: Connection[Any], seconds: float) -> None:
    """Have the server end the session of *conn* when it leaves a transaction idle for so long."""
    conn.execute(f"set idle_in_transaction_session_timeout = {seconds * 1000:.0f}".encode())


async def ask(
    conn: AsyncConnection[Any],
    twin: Callable[Concatenate[Connection[Any], P], T],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """
    Call a twin on a connection of asyncio's, as in ``await ask(conn, sql.find_job, uuid)``.

    Returns, Raises:
        As the twin does.
    """
    # The twin is called until all that it asks has an answer: first it says what to ask, then it
    # makes something of that.
    asking = _Asking()
    while True:
        asking.asked = 0
        try:
            return twin(cast("Connection[Any]", asking), *args, **kwargs)
        except _Unanswered as question:
            cursor: AsyncCursor[Any] = AsyncCursor(conn, row_factory=tuple_row)
            _prepare(cursor, question.arguments)
            await cursor.execute(question.query, question.arguments, binary=True)
            asking.answers.append(await _Answer.of(cursor))


class _Unanswered(BaseException):
    """What a twin asks; no error, so that no twin takes it for one."""

    def __init__(self, query: bytes, arguments: Arguments) -> None:
        super().__init__()
        self.query = query
        self.arguments = arguments


class _Asking:
    """Stands for a connection; knows the answers so far."""

    def __init__(self) -> None:
        self.answers: list[_Answer] = []
        self.asked = 0

    def execute(self, query: bytes, arguments: Arguments) -> _Answer:
        if self.asked == len(self.answers):
            raise _Unanswered(query, arguments)
        self.asked += 1
        return self.answers[self.asked - 1]


class _Answer:
    """What a cursor has when its rows are there."""

    def __init__(self, cursor: AsyncCursor[Any], rows: list[Any] | psycopg.DataError) -> None:
        self.connection = cursor.connection
        self.adapters = cursor.adapters
        self.description = cursor.description
        self.pgresult = cursor.pgresult
        self._rows = rows

    @classmethod
    async def of(cls, cursor: AsyncCursor[Any]) -> _Answer:
        try:
            return cls(cursor, await cursor.fetchall())
        except psycopg.DataError as error:  # for whoever reads it
            return cls(cursor, error)

    def fetchall(self) -> list[Any]:
        if isinstance(self._rows, psycopg.DataError):
            raise self._rows
        return self._rows


def _given(arguments: Arguments) -> tuple[str, ...]:
    # Null for an argument with a default means the default, so leaving it out says the same.
    return tuple(name for name, value in arguments.items() if value is not None)


@lru_cache(maxsize=1024)
def _query(routine: str, names: tuple[str, ...]) -> bytes:
    schema, _, name = routine.rpartition(".")
    listed = ", ".join(f"{name} => %({name})s" for name in names)
    return f"select * from {schema or 'cortex'}.{name}({listed})".encode()  # noqa: S608


def _execute(conn: Connection[Any], query: bytes, arguments: Arguments) -> Cursor[Any] | _Answer:
    plain = {name: _plain(value, name) for name, value in arguments.items()}
    if isinstance(conn, _Asking):
        return conn.execute(query, plain)
    cursor: Cursor[Any] = Cursor(conn, row_factory=tuple_row)
    _prepare(cursor, plain)
    return cursor.execute(query, plain, binary=True)


def _prepare(cursor: Cursor[Any] | AsyncCursor[Any], arguments: Arguments) -> None:
    # Not conn.cursor(): whatever row or cursor factory and JSON loader the connection's owner
    # likes, a twin returns the same. Binary, because moments and spans as text depend on what the
    # session is set to.
    cursor.adapters.register_loader("jsonb", _JsonbLoader)
    if type(arguments.get("params")) is JsonbArray:
        cursor.adapters.register_dumper(JsonbArray, JsonbArrayDumper)


def whole(value: Any, name: str) -> int | None:
    """
    Make an argument of type integer, of numpy's integers too; None stays None.

    Raises:
        TypeError: Not a whole number.
        ValueError: One that doesn't fit.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not of type {type(value).__name__}")
    number = operator.index(value)
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"{name} is {number}; it must fit in 32 bits")
    return number


def text(value: Any, name: str) -> str | None:
    """
    Make sure that an argument is text; None stays None.

    Raises:
        TypeError: It isn't.
    """
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is text, not of type {type(value).__name__}")
    return value


def _plain(value: Any, name: str) -> Any:
    if value is NULL:
        return None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        refuse_unfit(value, name)
        return str.__str__(value)
    if isinstance(value, list):
        return [_plain(item, name) for item in value]
    if isinstance(value, float):
        return Decimal(repr(value))  # PostgreSQL has no implicit cast from float to numeric
    if isinstance(value, date) and (not isinstance(value, datetime) or value.utcoffset() is None):
        raise ValueError(
            f"{value.isoformat()} has no time zone: give an aware datetime, for example with "
            "tzinfo=datetime.UTC"
        )
    return value


def _maker(cursor: Cursor[Any] | _Answer, class_: type[T]) -> Callable[[Sequence[Any]], T]:
    # A newer schema may add columns at the end of a view; this class takes those that it knows.
    known = class_.__dataclass_fields__  # type: ignore[attr-defined]
    columns = [
        (place, column.name, ENUMS.get(column.name))
        for place, column in enumerate(cursor.description or ())
        if column.name in known
    ]

    def make(values: Sequence[Any]) -> T:
        return class_(
            **{
                name: _text(values[place]) if enum is None else _label(values[place], enum)
                for place, name, enum in columns
            }
        )

    return make


def _fetch(cursor: Cursor[Any] | _Answer, make: RowMaker[T]) -> list[T]:
    try:
        rows = cursor.fetchall()
    except psycopg.DataError as error:
        if error.sqlstate is not None or cursor.pgresult is None:
            raise
        # A moment that Python can't hold, such as infinity. The call itself is done, and must not
        # be lost for that: read its rows again with loaders that clamp.
        cursor.adapters.register_loader("timestamptz", _ClampingLoader)
        transformer = Transformer(cursor)
        transformer.set_pgresult(cursor.pgresult)
        rows = transformer.load_rows(0, cursor.pgresult.ntuples, _as_it_is)
    return [make(row) for row in rows]


def _label(value: Any, enum: type[StrEnum]) -> StrEnum | None:
    return None if value is None else enum(_text(value))


def _text(value: Any) -> Any:
    # The driver doesn't know our enums, and gives a binary label as bytes.
    return value.decode() if isinstance(value, bytes) else value


def _as_it_is(values: Sequence[Any]) -> Sequence[Any]:
    return values


class _ClampingLoader(TimestamptzBinaryLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except psycopg.DataError:
            early = bytes(data)[0] >= 0x80
            return EARLIEST if early else LATEST


def read_json(data: str | bytes) -> Any:
    """
    Parse JSON as PostgreSQL stores it.

    Integers are exact. A number with a fraction becomes a float, and what no int or float can hold
    a Decimal.
    """
    return json.loads(data, parse_int=_integer, parse_float=_fraction)


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= LONGEST_INTEGER else Decimal(text)


def _fraction(text: str) -> float | Decimal:
    number = float(text)
    if number in (float("inf"), float("-inf")) or (number == 0 and text.strip("-0.")):
        return Decimal(text)
    return number


class _JsonbLoader(JsonbBinaryLoader):
    _loads = staticmethod(read_json)
