"""From a body to the end of its row: call it, judge what came out, write that down."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg.errors import AdminShutdown, QueryCanceled
from psycopg.types.json import Jsonb

from pycortex import sql
from pycortex._log import Outage, brief, logger
from pycortex._pool import Pool, is_away
from pycortex._steps import StepWriter
from pycortex._text import describe, fit
from pycortex.errors import (
    AttemptLost,
    JobCancelled,
    JobFailed,
    JobNotFound,
    JobStopped,
    WrongState,
)
from pycortex.models import Job, JobStatus, Verdict
from pycortex.progress import JobProgress
from pycortex.values import to_jsonb

__all__ = ["Body", "Finisher", "Outcome", "raised", "returned", "run_body"]

Body = Callable[[JobProgress], Any]

FIRST_DELAY, LAST_DELAY = 0.1, 5.0
"""Seconds between tries to write an outcome."""

TOLD = (AttemptLost, JobNotFound, WrongState)
REFUSED = (
    psycopg.DataError,
    psycopg.errors.ProgramLimitExceeded,
    ValueError,
    TypeError,
    MemoryError,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What came out of a body.

    Attributes:
        status: How the job ends; None: there is nothing to write, somebody else has ended it.
        message: Why.
        result: What the body returned.
        warnings: What its result lost on the way to JSON.
        error: What it raised, in this process.
        trace: The traceback of what it raised in another one.
        cut_off: Whether a statement of its connection was ended from outside.
        note: What became of the body of a job that somebody else has ended.
    """

    status: JobStatus | None
    message: str = ""
    result: Jsonb | None = None
    warnings: tuple[str, ...] = ()
    error: BaseException | None = None
    trace: str = ""
    cut_off: bool = False
    note: str = ""

    def portable(self) -> Outcome:
        """Make it fit for another process, which may not know the exception's class."""
        if self.error is None:
            return self
        trace = "".join(traceback.format_exception(self.error)).rstrip()
        return replace(self, error=None, trace=trace)


def run_body(body: Body, progress: JobProgress) -> Outcome:
    """Call a body; whatever it raises, SystemExit and KeyboardInterrupt included, is an outcome."""
    try:
        result = body(progress)
    except BaseException as error:  # noqa: BLE001 - the row always reaches a terminal state
        return raised(error)
    return returned(result)


def returned(result: Any) -> Outcome:
    """Judge what a body returned."""
    try:
        converted, warnings = to_jsonb(result)
    except ValueError as error:
        return Outcome(JobStatus.FAILED, fit(str(error)))
    except BaseException as error:  # noqa: BLE001 - somebody's type may do anything
        return _failed(fit(f"the result can't be stored: {describe(error)}"), error)
    return Outcome(JobStatus.SUCCEEDED, "", converted, tuple(warnings))


def raised(error: BaseException) -> Outcome:
    """Judge what a body raised."""
    match _only(error):
        case JobStopped() as stopped:
            return Outcome(None, describe(stopped))
        case JobCancelled() as cancelled:
            return Outcome(JobStatus.CANCELLED, _reason(cancelled, "cancelled"))
        case JobFailed() as failed:
            kept = _failed_with(_reason(failed, "failed without a reason"), failed.result)
            cause = failed.__cause__
            return replace(kept, cut_off=cause is not None and _ended_from_outside(cause))
    return _failed(describe(error), error)


def _only(error: BaseException) -> BaseException:
    """Take what several tasks of a body raised at once, if they agree, as if one had."""
    members = _members(error)
    for sort in (JobStopped, JobCancelled, JobFailed):
        if all(isinstance(member, sort) for member in members):
            return members[0]
    return error


def _members(error: BaseException) -> list[BaseException]:
    members = [error]
    for member in members:
        if isinstance(member, BaseExceptionGroup):
            members += member.exceptions
    return [member for member in members if not isinstance(member, BaseExceptionGroup)]


def _failed(message: str, error: BaseException) -> Outcome:
    return Outcome(JobStatus.FAILED, message, error=error, cut_off=_ended_from_outside(error))


def _failed_with(reason: str, result: Any) -> Outcome:
    """Keep what a body that failed gives as its result; the reason matters more."""
    if result is None:
        return Outcome(JobStatus.FAILED, reason)
    kept = returned(result)
    if kept.status is JobStatus.SUCCEEDED:
        return replace(kept, status=JobStatus.FAILED, message=reason)
    return replace(kept, message=fit(f"{reason}; {kept.message}"))


def _reason(error: BaseException, default: str) -> str:
    text = describe(error)
    name = type(error).__name__
    return default if text == name else text.removeprefix(f"{name}: ")


class Finisher:
    """Writes outcomes, for as long as it takes."""

    def __init__(self, pool: Pool, writer: StepWriter, outage: Outage) -> None:
        self._pool = pool
        self._writer = writer
        self._outage = outage

    def write(
        self, job: Job, progress: JobProgress, outcome: Outcome
    ) -> Generator[float, None, str]:
        """
        Write the last step and the outcome; try until they are written or the database says no.

        Yields:
            In how many seconds to go on.

        Returns:
            What the row says now, as far as this process knows.
        """
        self._writer.forget(progress)
        if outcome.status is None:
            if progress._verdict is not Verdict.STOP:  # the row tells how far it got
                with suppress(Exception):
                    self._writer.write(progress)
            return "stopped"
        warned = False
        refusals = 0
        for delay in _delays():
            try:
                if outcome.cut_off:
                    outcome = self._judge(progress, outcome)
                    if outcome.status is None:
                        return "stopped"
                self._write_last_step(progress)
                done = self._pool.run(lambda conn, it=outcome: _finish(conn, job, it))  # type: ignore[misc]
            except TOLD as error:
                logger.warning("the end of job %s counts no more: %s", job.uuid, brief(error))
                return "lost"
            except REFUSED as error:
                refusals += 1
                outcome = _instead(outcome, error, plain=refusals > 1)
                logger.error("the end of job %s was refused: %s", job.uuid, brief(error))
                yield delay if refusals > 1 else 0.0
            except Exception as error:  # noqa: BLE001 - anything may pass by the next try
                if is_away(error):
                    self._outage.failed("finish", error)
                elif not warned:
                    warned = True
                    logger.warning(
                        "the end of job %s isn't written yet: %s", job.uuid, brief(error)
                    )
                yield delay
            else:
                self._outage.over("finish")
                if done:
                    return str(outcome.status)
                logger.warning("job %s had ended otherwise before", job.uuid)
                return "lost"
        raise AssertionError("unreachable")

    def _judge(self, progress: JobProgress, outcome: Outcome) -> Outcome:
        """Find out why the body's statement was ended from outside: it may not be its failure."""
        # By a step, which waits for whoever ended the statement to commit; a look would not.
        match self._writer.write(progress, again=True):
            case Verdict.STOP:
                return replace(outcome, status=None)
            case Verdict.CANCEL:
                message = "cancelled on request, amid a statement"
                return Outcome(JobStatus.CANCELLED, message, outcome.result)
        return outcome

    def _write_last_step(self, progress: JobProgress) -> None:
        try:
            self._writer.write(progress)
        except Exception as error:
            if is_away(error):
                raise
            logger.warning("the last step of job %s is lost: %s", progress.uuid, brief(error))
            progress._written = progress._latest


def _ended_from_outside(raised: BaseException) -> bool:
    for member in _members(raised):
        error: BaseException | None = member
        for _ in range(10):  # a body may have wrapped what the driver raised
            if isinstance(error, QueryCanceled | AdminShutdown):
                return True
            error = None if error is None else error.__cause__ or error.__context__
    return False


def _finish(conn: psycopg.Connection[Any], job: Job, outcome: Outcome) -> bool:
    return sql.finish_job(
        conn,
        job.uuid,
        outcome.status or JobStatus.FAILED,
        message=outcome.message,
        result=outcome.result,
        attempt=job.attempt,
    )


def _instead(outcome: Outcome, error: Exception, *, plain: bool) -> Outcome:
    message = "its outcome was refused by the database"
    if not plain:
        message = fit(f"{message}: {brief(error)}; it was: {outcome.status} {outcome.message}")
    return replace(outcome, status=JobStatus.FAILED, message=message, result=None)


def _delays() -> Iterator[float]:
    delay = FIRST_DELAY
    while True:
        yield delay
        delay = min(2 * delay, LAST_DELAY)
