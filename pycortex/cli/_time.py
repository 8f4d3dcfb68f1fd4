"""Lengths and points of time as people write them; the database reads them."""

from datetime import datetime, timedelta
from typing import Any

import click
import psycopg
from psycopg import Connection

__all__ = ["moment_of", "span_of"]


def span_of(conn: Connection[Any], text: str | None, option: str) -> timedelta | None:
    """
    Read a length of time, such as "2 hours"; None stays None.

    Raises:
        click.BadParameter: It is none.
    """
    if text is None:
        return None
    try:
        row = conn.execute("select %s::interval", [text]).fetchone()
    except psycopg.DataError as error:  # nor what Python can't hold
        raise click.BadParameter(
            f"{text!r} is not a length of time, such as '2 hours'", param_hint=option
        ) from error
    return row[0] if row else None


def moment_of(conn: Connection[Any], text: str | None, option: str) -> datetime | None:
    """
    Read a point in time with its offset, or how long ago by the database's clock.

    Raises:
        click.BadParameter: It is neither.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        pass
    else:
        if moment.utcoffset() is None:
            raise click.BadParameter(
                f"{text!r} has no time zone: add an offset such as +02:00, or Z for UTC",
                param_hint=option,
            )
        return moment
    try:
        row = conn.execute("select cortex.db_now() - given.span, given.span >= '0'"
            " from (select %s::interval as span) as given", [text]).fetchone()  # fmt: skip
    except psycopg.DataError:
        row = None
    if row is None or not row[1]:
        raise click.BadParameter(
            f"{text!r} is neither a point in time, such as 2031-05-01T03:00:00+02:00, "
            "nor a length of time, such as '2 hours'",
            param_hint=option,
        )
    found: datetime = row[0]
    return found
