"""Jobs as the command line reads and words them."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import set_json_loads

from pycortex._call import read_json
from pycortex.cli._errors import RefusedError
from pycortex.cli._table import Column
from pycortex.cli._types import UuidRange
from pycortex.models import Job, JobStatus

__all__ = ["JOB_COLUMNS", "by_uuid", "find", "job_row", "percent", "progress", "span"]

FIELDS = [field.name for field in dataclasses.fields(Job)]

JOB_COLUMNS = (
    Column("JOB"),
    Column("STATUS", status=True),
    Column("KIND", least=12),
    Column("DONE", right=True, drop=2),
    Column("TIME", right=True, drop=3),
    Column("AGE", right=True, drop=4),
    Column("ACTOR", drop=5, least=8),
    Column("MESSAGE", drop=1, least=16),
)


def find(conn: Connection[Any], wanted: UuidRange) -> UUID:
    """
    Turn the beginning of a uuid into the one that it stands for.

    Raises:
        RefusedError: No job's uuid, or more than one, begins so.
    """
    if wanted.exact:
        return wanted.first
    rows = conn.execute(
        "select uuid from cortex.jobs where uuid between %s and %s limit 2",
        [wanted.first, wanted.last],
    ).fetchall()
    if not rows:
        raise RefusedError(f"no such job: {wanted.digits}…", "pycortex list shows the newest")
    if len(rows) > 1:
        raise RefusedError(
            f"more than one job begins with {wanted.digits}", "give more of its digits"
        )
    found: UUID = rows[0][0]
    return found


def by_uuid(conn: Connection[Any], uuids: Iterable[UUID]) -> list[Job]:
    """Read these jobs in one query, in the order of *uuids*; those that are gone are left out."""
    wanted = list(dict.fromkeys(uuids))
    found = {job.uuid: job for job in _read(conn, "uuid = any(%s)", [wanted])}
    return [found[uuid] for uuid in wanted if uuid in found]


def _read(conn: Connection[Any], condition: str, values: Sequence[Any]) -> list[Job]:
    cursor = conn.cursor()
    set_json_loads(read_json, cursor)
    names = ", ".join(FIELDS)
    query = f"select {names} from cortex.jobs where {condition}"  # noqa: S608 - our own words
    rows = cursor.execute(query.encode(), values).fetchall()
    return [_job(dict(zip(FIELDS, row, strict=True))) for row in rows]


def _job(values: dict[str, Any]) -> Job:
    return Job(**values | {"status": JobStatus(values["status"])})


def job_row(job: Job, *, short: bool) -> list[str]:
    """One job as the cells of a table with `JOB_COLUMNS`."""
    age = job.seconds_since_update + (job.updated_at - job.created_at).total_seconds()
    return [
        str(job.uuid)[:8] if short else str(job.uuid),
        job.status,
        job.kind,
        progress(job),
        span(job.duration_seconds) if job.started_at else "",
        span(age),
        job.actor,
        job.message,
    ]


def percent(job: Job) -> int | None:
    """How far a job is, from 0 to 100; None when it doesn't say."""
    if not job.progress_total or job.progress_total < 0:
        return None
    return max(0, min(100, job.progress_current * 100 // job.progress_total))


def progress(job: Job) -> str:
    """How far a job is, in its own numbers."""
    if job.progress_total is None:
        return str(job.progress_current) if job.progress_current else ""
    return f"{job.progress_current}/{job.progress_total}"


def span(seconds: float) -> str:
    """A length of time in one unit or two: 0.4s, 12s, 3m05s, 2h10m, 4d03h."""
    if seconds < 0:
        return "0s"
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    for size, unit, small, part in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "m"),
        (60, "m", 1, "s"),
    ):
        if whole >= size:
            return f"{whole // size}{unit}{whole % size // small:02}{part}"
    return f"{whole}s"
