"""Twins of the routines that run jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Json, Jsonb

from pycortex import _log
from pycortex._call import call, many, names, scalar, tell, whole
from pycortex._text import fit
from pycortex.models import Job, JobStatus, RunnerJob, Stepped, Verdict
from pycortex.values import to_jsonb

__all__ = [
    "attach_backend",
    "begin_body",
    "claim_jobs",
    "finish_job",
    "keep_runner",
    "note_end",
    "register_runner",
    "retire_runner",
    "set_running",
    "step",
    "step_jobs",
    "work",
]


def register_runner(conn: Connection[Any], name: str, host: str, pid: int) -> UUID:
    """
    Enter a process that runs jobs; the session of *conn* holds its lease from now on.

    Raises:
        psycopg.DataError: A name or host that is too long.
    """
    return scalar(conn, "register_runner", _same, name=name, host=host, pid=pid)


def keep_runner(conn: Connection[Any], runner: UUID) -> list[RunnerJob]:
    """
    Say that a runner lives.

    Returns:
        Its jobs that should stop, which attempt of each is meant, and whether that may be forced.

    Raises:
        RunnerNotFound: There is no such runner, or it has retired.
    """
    return many(conn, "keep_runner", RunnerJob, runner=runner)


def retire_runner(conn: Connection[Any], runner: UUID, *, message: str | None = None) -> int:
    """
    End a runner's registration; its unfinished jobs become interrupted, with *message*.

    Returns:
        How many jobs it left.

    Raises:
        RunnerNotFound: There is no such runner.
    """
    return scalar(conn, "retire_runner", int, runner=runner, message=_message(message))


def claim_jobs(
    conn: Connection[Any], runner: UUID, kinds: Sequence[str], *, max_jobs: int | None = None
) -> list[Job]:
    """
    Take up to *max_jobs* ready jobs of these kinds from the queue; the runner runs them now.

    Raises:
        RunnerNotFound: There is no such runner, or it has retired.
        psycopg.DataError: Fewer than one job asked for.
    """
    return many(
        conn,
        "claim_jobs",
        Job,
        runner=runner,
        kinds=names(kinds, "kinds"),
        max_jobs=whole(max_jobs, "max_jobs"),
    )


def set_running(conn: Connection[Any], job: UUID, runner: UUID | None = None) -> bool:
    """
    Start one particular job.

    Returns:
        Whether this call took it from queued to running. False also for one whose time has not
        come, whose kind runs as many as it may, or whose predecessor still runs: it waits on, ask
        again.

    Raises:
        JobNotFound: There is no such job.
        RunnerNotFound: There is no such runner, or it has retired.
    """
    return scalar(conn, "set_running", bool, job=job, runner=runner)


def step(
    conn: Connection[Any],
    job: UUID,
    current: int,
    total: int | None = None,
    *,
    message: str | None = None,
    attempt: int | None = None,
) -> Verdict:
    """
    Record that *job* has done *current* of *total* units.

    Args:
        message: What it is doing; past 4000 characters cut in the middle.
        attempt: The attempt that speaks; a lost one is told to stop.

    Returns:
        Whether to continue, wind down because somebody asked, or stop at once.

    Raises:
        JobNotFound: There is no such job.
        psycopg.errors.LockNotAvailable: Somebody kept the row locked for 2 seconds.
    """
    return scalar(
        conn,
        "step",
        Verdict,
        job=job,
        current=current,
        total=total,
        message=_message(message),
        attempt=attempt,
    )


def step_jobs(
    conn: Connection[Any],
    jobs: Sequence[UUID],
    current: Sequence[int],
    *,
    total: Sequence[int | None] | None = None,
    message: Sequence[str | None] | None = None,
    attempt: Sequence[int | None] | None = None,
) -> list[Stepped]:
    """
    Record how far several jobs got, in one statement. Every argument has one member per job.

    A row that somebody has locked is not waited for; only that job's step is refused then.

    Args:
        total: Each None if unknown.
        message: What each is doing; past 4000 characters cut in the middle.
        attempt: The attempts that speak; a lost one is told to stop. Each None for any.

    Returns:
        What each job should hear, or why its step was refused, in the order of *jobs*.

    Raises:
        psycopg.DataError: Sequences that differ in length.
    """
    return many(
        conn,
        "step_jobs",
        Stepped,
        jobs=list(jobs),
        current=list(current),
        total=None if total is None else list(total),
        message=None if message is None else [_message(each) for each in message],
        attempt=None if attempt is None else list(attempt),
    )


def finish_job(
    conn: Connection[Any],
    job: UUID,
    status: JobStatus | str,
    *,
    message: str | None = None,
    result: Any = None,
    attempt: int | None = None,
) -> bool:
    """
    Write how a job ended; safe to repeat.

    Args:
        status: succeeded, failed or cancelled.
        message: How it ended; past 4000 characters cut in the middle.
        result: What the body returned, converted as pycortex.values says. None: nothing is
            recorded; ``Jsonb(None)`` records that nothing was returned.
        attempt: The attempt that speaks.

    Returns:
        True: the outcome is written; a failed job may wait for its next attempt. False: the job is
        over with another outcome, which stands.

    Raises:
        ValueError: A result that is too large or too deep.
        JobNotFound: There is no such job.
        WrongState: It is not started.
        AttemptLost: That attempt is over; the job goes on to a newer one.
    """
    if result is not None and not isinstance(result, Jsonb | Json):
        result, warnings = to_jsonb(result)
        for warning in warnings:
            _log.logger.warning("job %s: %s", job, warning, extra={"job": job})
    return scalar(
        conn,
        "finish_job",
        bool,
        job=job,
        status=status,
        message=_message(message),
        result=result,
        attempt=attempt,
    )


def begin_body(conn: Connection[Any], job: UUID, attempt: int) -> bool:
    """
    Claim the right to run the body of an attempt, where an executor may start it again.

    Returns:
        True exactly once for a running attempt.

    Raises:
        JobNotFound: There is no such job.
    """
    return scalar(conn, "begin_body", bool, job=job, attempt=attempt)


def note_end(conn: Connection[Any], job: UUID, note: str, attempt: int) -> bool:
    """
    Add what became of the body to the message of a job that was interrupted without it.

    Returns:
        Whether it stands there now; False if that attempt was not interrupted.

    Raises:
        JobNotFound: There is no such job.
    """
    return scalar(conn, "note_end", bool, job=job, note=fit(note), attempt=attempt)


def attach_backend(conn: Connection[Any], job: UUID) -> None:
    """
    Tie the session of *conn* to a running job, so that it can be watched and ended from outside.

    Raises:
        JobNotFound: There is no such job.
        WrongState: The job does not run.
    """
    tell(conn, "attach_backend", job=job)


def _message(message: str | None) -> str | None:
    return None if message is None else fit(message)


def _same(value: UUID) -> UUID:
    return value


def work(conn: Connection[Any], *, max_jobs: int | None = None) -> None:
    """
    Run jobs whose kind has a body in SQL, in the session of *conn*, one after the other.

    The one twin whose routine commits: *conn* must be in autocommit and outside of a transaction.

    Args:
        max_jobs: How many at most; one if left out.

    Raises:
        psycopg.errors.InvalidTransactionTermination: It was called inside a transaction.
        psycopg.DataError: Fewer than one job.
    """
    call(conn, "work", max_jobs=whole(max_jobs, "max_jobs"))
