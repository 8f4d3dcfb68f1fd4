"""What running jobs do inside the database at this moment, in words."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from psycopg import Connection

from pycortex import sql
from pycortex.cli._jobs import span
from pycortex.models import Job, JobActivity, JobStatus

__all__ = ["activity_of", "with_activity", "words"]


def with_activity(conn: Connection[Any], jobs: Sequence[Job]) -> list[Job]:
    """Put behind each running job's message what its session does, where that can be seen."""
    seen = activity_of(conn, jobs)
    return [
        replace(job, message=f"{job.message} ({seen[job.uuid]})".lstrip())
        if job.uuid in seen
        else job
        for job in jobs
    ]


def activity_of(conn: Connection[Any], jobs: Sequence[Job]) -> dict[UUID, str]:
    """Word what the sessions of *jobs* do; jobs without an active session are left out."""
    if not any(job.status is JobStatus.RUNNING for job in jobs):
        return {}
    worded = {activity.job: words(activity) for activity in sql.list_activity(conn)}
    return {job: text for job, text in worded.items() if text}


def words(activity: JobActivity) -> str:
    """Word what one session does; nothing while it rests."""
    if activity.phase:
        name = f"{activity.command}: {activity.phase}" if activity.command else activity.phase
        if activity.total:
            return f"{name} {max(0, min(100, (activity.done or 0) * 100 // activity.total))}%"
        return name
    if activity.state != "active":
        return ""
    text = f"statement for {span(activity.query_seconds or 0)}"
    if activity.wait_event_type == "Lock":
        text += f", waiting for a lock ({activity.wait_event})"
    return text
