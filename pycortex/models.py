"""What the database returns, as frozen dataclasses whose fields are its columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

__all__ = [
    "Configuration",
    "DebounceMode",
    "Expired",
    "InterruptPolicy",
    "Job",
    "JobActivity",
    "JobEvent",
    "JobStatus",
    "KindRules",
    "Maintenance",
    "MaintenancePlan",
    "Overview",
    "ReportAnswer",
    "ReportRow",
    "ReportRun",
    "RunnerInfo",
    "RunnerJob",
    "Schedule",
    "Spawned",
    "SqlKind",
    "StatusCount",
    "Stepped",
    "StoredTask",
    "Verdict",
    "Waiting",
]


class JobStatus(StrEnum):
    """Where a job stands in its life; the labels of cortex.job_status."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Whether a job in this state is over."""
        return self not in (JobStatus.QUEUED, JobStatus.RUNNING)


class Verdict(StrEnum):
    """What a job hears when it steps; the labels of cortex.verdict."""

    CONTINUE = "continue"
    CANCEL = "cancel"
    STOP = "stop"


class DebounceMode(StrEnum):
    """Which jobs of a scope keep a new one out; the labels of cortex.debounce_mode."""

    ACTIVE = "active"
    QUEUED = "queued"


class InterruptPolicy(StrEnum):
    """What becomes of an interrupted job; the labels of cortex.interrupt_policy."""

    LEAVE = "leave"
    REQUEUE = "requeue"


@dataclass(frozen=True, slots=True)
class Job:
    """
    One job: a row of cortex.jobs, whose columns are explained there.

    Moments are aware datetimes, in the time zone of the session that read them. ``result`` is None
    both for a body that returned nothing and for a job without a result; its status tells which.
    """

    uuid: UUID
    kind: str
    status: JobStatus
    health: str
    progress_current: int
    progress_total: int | None
    message: str
    actor: str
    params: dict[str, Any]
    result: Any
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration_seconds: float
    seconds_since_update: float
    attempt: int
    priority: int
    run_at: datetime
    debounce_scope: dict[str, Any] | None
    runner: UUID | None
    cancel_requested_at: datetime | None
    cancel_requested_by: str


@dataclass(frozen=True, slots=True)
class Spawned:
    """A job's handle, and whether this call made it or found one that does the work."""

    uuid: UUID
    created: bool


@dataclass(frozen=True, slots=True)
class RunnerJob:
    """
    A job of a runner, and what the body of that attempt should hear.

    Attributes:
        hard: Whether its end may be forced; a schema from before says it of no job.
    """

    job: UUID
    verdict: Verdict
    attempt: int
    hard: bool = False


@dataclass(frozen=True, slots=True)
class Stepped:
    """
    What a job heard whose step was one of several.

    Attributes:
        verdict: None if it was refused.
        refusal: The SQLSTATE that step would have raised; 55P03: somebody has the row locked now.
    """

    job: UUID | None
    verdict: Verdict | None
    refusal: str | None


@dataclass(frozen=True, slots=True)
class StatusCount:
    """How many jobs of one kind are in one state."""

    kind: str
    status: JobStatus
    jobs: int


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What one call of maintain did; with ran false another call was at it."""

    ran: bool
    stale: int
    overdue: int
    orphaned: int
    purged: int
    cron_runs_purged: int
    runners_purged: int


@dataclass(frozen=True, slots=True)
class Overview:
    """
    What waits, runs and ended lately, and who is there.

    Attributes:
        at: The database's time when it was read.
        ready: Those of the queued that anybody may take now; since when, in *oldest_ready_at*.
        oldest_heartbeat_at: The last sign of life of the most silent running job.
    """

    at: datetime
    queued: int
    ready: int
    oldest_ready_at: datetime | None
    running: int
    oldest_heartbeat_at: datetime | None
    succeeded: int
    failed: int
    interrupted: int
    cancelled: int
    runners_alive: int
    last_maintenance_at: datetime | None


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """
    What a reindex or analyze of one table would do, as maintenance_plan tells it.

    Attributes:
        indexes: One object per index: index, bytes, state.
        in_the_way: Sessions that it would wait for.
        plan: In words.
    """

    table_name: str
    partition_of: str | None
    table_bytes: int | None
    index_bytes: int | None
    indexes: list[dict[str, Any]]
    last_analyzed_at: datetime | None
    live_rows: int
    modified_rows: int
    in_the_way: list[str]
    plan: str


@dataclass(frozen=True, slots=True)
class RunnerInfo:
    """One runner: a row of cortex.runners."""

    uuid: UUID
    name: str
    host: str
    pid: int
    registered_at: datetime
    seen_at: datetime
    retired_at: datetime | None
    alive: bool
    kinds: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for a worker, of one kind: a row of cortex.waiting."""

    kind: str
    ready: int
    oldest_run_at: datetime
    workers: int


@dataclass(frozen=True, slots=True)
class SqlKind:
    """A kind with a body inside the database: a row of cortex.sql_kinds."""

    kind: str
    procedure: str
    run_as: str | None
    commits: bool | None
    registered_at: datetime
    registered_by: str


@dataclass(frozen=True, slots=True)
class Schedule:
    """A job that comes back, as list_schedules tells it."""

    name: str
    schedule: str
    kind: str
    params: dict[str, Any]
    active: bool
    last_run_at: datetime | None
    last_run_status: str | None
    last_run_message: str | None
    next_run_at: datetime | None
    last_job: UUID | None
    last_job_status: JobStatus | None
    last_job_message: str | None


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One change of state of a job: a row of cortex.job_events."""

    job: UUID
    at: datetime
    from_status: JobStatus | None
    to_status: JobStatus
    attempt: int
    runner: UUID | None
    actor: str
    role: str
    message: str
    id: int | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Expired:
    """How many jobs of a kind and status are older than they are to be kept."""

    kind: str
    status: JobStatus
    jobs: int


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings in force: the row of cortex.configuration."""

    stale_after: timedelta
    run_timeout: timedelta | None
    queue_timeout: timedelta | None
    max_attempts: int
    backoff: timedelta
    backoff_limit: timedelta
    on_interrupt: InterruptPolicy
    max_running: int | None
    keep: timedelta | None
    cancel_grace: timedelta
    runner_beat: timedelta
    runner_grace: timedelta


@dataclass(frozen=True, slots=True)
class KindRules:
    """What holds for one configured kind: a row of cortex.kinds."""

    kind: str
    stale_after: timedelta
    run_timeout: timedelta | None
    queue_timeout: timedelta | None
    max_attempts: int
    backoff: timedelta
    on_interrupt: InterruptPolicy
    max_running: int | None
    keep: timedelta | None


@dataclass(frozen=True, slots=True)
class JobActivity:
    """What the session of a running job does: a row of cortex.job_activity."""

    job: UUID
    kind: str
    pid: int
    state: str | None
    wait_event_type: str | None
    wait_event: str | None
    query_seconds: float | None
    command: str | None
    phase: str | None
    done: int | None
    total: int | None


@dataclass(frozen=True, slots=True)
class StoredTask:
    """One document that was put on the books; with created false it was there already."""

    entry: str
    task_id: int
    created: bool


@dataclass(frozen=True, slots=True)
class ReportRow:
    """
    One row of a report.

    Attributes:
        grain: ``total``, ``category`` or ``what``: what is counted. None in *category* or *what*
            means all of them only where the grain says so; else it names the messages that have
            none.
        task_count: Distinct tasks.
        computed_at: When they were counted; the same in every row of a slice.
        stale: Whether data changed since; the same in every row of a slice.
    """

    grain: str
    category: str | None
    what: str | None
    task_count: int
    message_count: int
    computed_at: datetime
    stale: bool


@dataclass(frozen=True, slots=True)
class ReportAnswer:
    """
    What became of the wish to see a slice of the reports.

    Attributes:
        ready: Whether it is there, and as new as the data.
        uuid: Else the job that counts it.
        created: Whether that was made now.
    """

    ready: bool
    uuid: UUID | None
    created: bool | None


@dataclass(frozen=True, slots=True)
class ReportRun:
    """
    A count of a slice of the reports in ranges of its tasks.

    Attributes:
        run: Its number.
        tasks: How many tasks the slice has.
        first_task, last_task: The least and the greatest of their ids; None without any.
    """

    run: int
    tasks: int
    first_task: int | None
    last_task: int | None
