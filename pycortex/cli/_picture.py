"""What a live view shows at one moment, and the one query that reads it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg import Connection, errors
from psycopg.rows import dict_row

from pycortex import sql
from pycortex.cli._activity import words
from pycortex.models import Job, JobActivity, JobStatus, Overview

__all__ = ["Picture", "WatchedJob", "Watcher"]

MOST = 200
"""So many jobs are followed at once, where the terminal's height sets no limit."""
RARELY = 2.0
SHARE = 20.0
"""The overview is asked for every two seconds, or so that it takes a twentieth of the time."""

# Not the params and the result: they may be large, and nobody sees them here.
UNSEEN: dict[str, Any] = {"params": {}, "result": None, "debounce_scope": None}
READ = [field.name for field in fields(Job) if field.name not in UNSEEN]
DOES = ("state", "wait_event_type", "wait_event", "query_seconds", "command", "phase", "done")

# Read by status and age, or by uuid: never joined with a list, for which a planner might read all.
QUERY = f"""
with chosen as (
    (
        select {", ".join(READ)} from cortex.jobs
        where %(all)s and status = 'running' and (%(kind)s::text is null or kind = %(kind)s)
        order by created_at limit %(most)s
    )
    union all
    (
        select {", ".join(READ)} from cortex.jobs
        where %(all)s and status = 'queued' and (%(kind)s::text is null or kind = %(kind)s)
        order by created_at limit %(most)s
    )
    union all
    select {", ".join(READ)} from cortex.jobs where uuid = any(%(known)s::uuid[])
)
select
    {", ".join(f"j.{name}" for name in READ if name != "run_at")},
    -- Python's calendar ends with the year 9999, and begins with 1.
    least(greatest(j.run_at, '0002-01-01 00:00+00'), '9999-12-30 00:00+00') as run_at,
    coalesce(k.stale_after, c.stale_after) as stale_after,
    a.pid as activity_pid,
    a.total as activity_total,
    {", ".join(f"a.{name} as activity_{name}" for name in DOES)}
from chosen as j
cross join cortex.configuration as c
left join cortex.kinds as k on k.kind = j.kind
left join cortex.job_activity as a on a.job = j.uuid
order by j.created_at, j.uuid
"""  # noqa: S608 - names from our own classes


@dataclass(frozen=True, slots=True)
class WatchedJob(Job):
    """
    A job as the live view reads it: without params and result.

    Attributes:
        stale_after: How long it may be silent.
        activity: What its session in the database does, in words.
    """

    stale_after: timedelta | None = None
    activity: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """
    What there is to show.

    Attributes:
        jobs: Those that are followed.
        overview: The rest in numbers, where all jobs or a kind are watched.
        more: How many active jobs are left out.
    """

    jobs: Sequence[Job]
    overview: Overview | None = None
    more: int = 0


class Watcher:
    """
    Reads what is to be watched: the given jobs, or the active ones of a kind or of all kinds.

    What was seen active stays until it is seen how it ended, the latest of these for long.

    Args:
        most: So many of the running, the queued and the ended ones are read.
        overview: Whether somebody looks at the numbers.
    """

    def __init__(
        self,
        uuids: Sequence[UUID] = (),
        *,
        kind: str | None = None,
        most: int = MOST,
        overview: bool = False,
    ) -> None:
        self._given = bool(uuids)
        self._known: list[UUID] = list(uuids)
        self._kind = kind
        self.most = most
        self._wants_overview = overview and not self._given
        self._overview: Overview | None = None
        self._due = 0.0

    def read(self, conn: Connection[Any]) -> Picture:
        """Read it; one query, and now and then a second."""
        jobs = self._read_jobs(conn)
        if self._given:
            return Picture(jobs)
        active = [job for job in jobs if not job.status.terminal]
        ended = sorted(
            (job for job in jobs if job.status.terminal),
            key=lambda job: job.finished_at or job.updated_at,
        )[-self.most :]
        self._known = [job.uuid for job in (*active[: 2 * self.most], *ended)]
        self._look_around(conn)
        more = 0
        if self._overview is not None:
            more = max(self._overview.running + self._overview.queued - len(active), 0)
        active.sort(key=lambda job: job.status is not JobStatus.RUNNING)
        return Picture([*active, *reversed(ended)], self._overview, more)

    def _read_jobs(self, conn: Connection[Any]) -> list[WatchedJob]:
        values = {
            "all": not self._given,
            "kind": self._kind,
            "most": self.most,
            "known": self._known,
        }
        with conn.cursor(row_factory=dict_row) as cursor:
            rows = cursor.execute(QUERY.encode(), values).fetchall()
        found = {row["uuid"]: _job(row) for row in rows}
        if self._given:
            return [found[uuid] for uuid in self._known if uuid in found]
        return list(found.values())

    def _look_around(self, conn: Connection[Any]) -> None:
        began = time.monotonic()
        if not self._wants_overview or began < self._due:
            return
        try:
            self._overview = sql.overview(conn, kind=self._kind)
        except (errors.UndefinedFunction, errors.InsufficientPrivilege):
            self._wants_overview = False  # a schema from before has none
        took = time.monotonic() - began
        self._due = began + took + max(RARELY, SHARE * took)


def _job(row: dict[str, Any]) -> WatchedJob:
    does = {
        name.removeprefix("activity_"): row.pop(name)
        for name in list(row)
        if name.startswith("activity_")
    }
    status = JobStatus(row.pop("status"))
    job = WatchedJob(**row, status=status, **UNSEEN)
    if does["pid"] is None or status is not JobStatus.RUNNING:
        return job
    return replace(job, activity=words(JobActivity(job=job.uuid, kind=job.kind, **does)))
