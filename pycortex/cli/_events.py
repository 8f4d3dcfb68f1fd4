"""What happened to jobs, without a gap and without a repetition, whatever commits late."""

import dataclasses
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.rows import dict_row, tuple_row

from pycortex.models import JobEvent, JobStatus

__all__ = ["Follower", "recent"]

PAGE = 1000
"""Rows to read at a time."""
BEFORE = 10000
"""So many numbers before the first look are watched too, when something was not committed yet."""

NAMES = ", ".join(field.name for field in dataclasses.fields(JobEvent))
SELECT = f"select {NAMES} from cortex.job_events where true"  # noqa: S608 - our own words


def _read(conn: Connection[Any], condition: str, order: str, **values: Any) -> list[JobEvent]:
    cursor = conn.cursor(row_factory=dict_row)
    query = f"{SELECT} and {condition} order by id {order} limit {PAGE}"
    return [_event(row) for row in cursor.execute(query.encode(), values).fetchall()]


def _event(values: dict[str, Any]) -> JobEvent:
    for name in ("from_status", "to_status"):
        if values[name] is not None:
            values[name] = JobStatus(values[name])
    return JobEvent(**values)


def recent(
    conn: Connection[Any],
    *,
    job: UUID | None = None,
    kind: str | None = None,
    since: datetime | None = None,
    limit: int,
) -> list[JobEvent]:
    """Read the newest events, oldest first, at most *limit*, those since then if it is given."""
    found: list[JobEvent] = []
    last: int | None = None
    condition = "(%(job)s::uuid is null or job = %(job)s)"
    while len(found) < limit:
        below = "true" if last is None else "id < %(last)s"
        page = _read(conn, f"{condition} and {below}", "desc", job=job, last=last)
        fitting = [event for event in page if since is None or event.at >= since]
        found += [event for event in fitting if kind is None or event.kind == kind]
        # Numbers follow the clock but for what commits late: a whole page before it is enough.
        if len(page) < PAGE or not fitting:
            break
        last = page[-1].id
    return found[:limit][::-1]


class Follower:
    """
    Reads what is new at each look.

    Numbers are given before a transaction commits, so a lower one may appear after a higher one.
    Each number that was passed over is looked for again, until every transaction has ended that was
    under way when it was passed.
    """

    def __init__(self) -> None:
        self._last = 0
        self._missing: dict[int, int] = {}
        """Numbers passed over, and the transaction before which all must have ended."""

    def start(self, conn: Connection[Any]) -> None:
        """Take everything that is visible now for seen."""
        oldest, _ = _snapshot(conn)
        cursor = conn.cursor(row_factory=tuple_row)
        [last] = cursor.execute(
            "select id from cortex.job_events order by id desc limit 1"
        ).fetchone() or [0]
        self._last = last
        _, next_ = _snapshot(conn)
        if oldest == next_:
            return
        low = max(self._last - BEFORE, 0)
        seen = {
            number
            for (number,) in cursor.execute(
                "select id from cortex.job_events where id between %s and %s", [low, self._last]
            )
        }
        self._missing = {
            number: next_ for number in range(low + 1, self._last) if number not in seen
        }

    def read(self, conn: Connection[Any]) -> Iterator[JobEvent]:
        """Read what has become visible since the last look, in the order of the numbers."""
        oldest, _ = _snapshot(conn)
        if self._missing:
            while late := _read(conn, "id = any(%(ids)s)", "", ids=list(self._missing)):
                for event in late:
                    del self._missing[event.id or 0]
                    yield event
            self._missing = {
                number: until for number, until in self._missing.items() if until > oldest
            }
        while True:
            page = _read(conn, "id > %(last)s", "", last=self._last)
            _, next_ = _snapshot(conn)
            for event in page:
                number = event.id or 0
                for passed in range(self._last + 1, number):
                    self._missing[passed] = next_
                self._last = number
                yield event
            if len(page) < PAGE:
                return


def _snapshot(conn: Connection[Any]) -> tuple[int, int]:
    """The oldest transaction that has not ended, and the first that has not begun."""
    [oldest, next_] = (
        conn.cursor(row_factory=tuple_row)
        .execute(
            "select pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint"
            " from pg_current_snapshot() as s"
        )
        .fetchone()
    ) or (0, 0)
    return oldest, next_
