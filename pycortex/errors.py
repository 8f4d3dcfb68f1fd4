"""What can go wrong, as classes that callers can tell apart."""

from __future__ import annotations

import psycopg

__all__ = [
    "AttemptLost",
    "CortexError",
    "ExecutorBroken",
    "JobCancelled",
    "JobFailed",
    "JobNotFound",
    "JobStopped",
    "RunnerNotFound",
    "WrongState",
]


class CortexError(psycopg.DatabaseError):
    """An outcome that the database reports with an SQLSTATE of class JC; the driver raises it."""


class JobNotFound(CortexError, code="JC101"):  # noqa: N818 - outcomes, named as such
    """There is no job with this uuid: never was, purged, or its spawn was rolled back."""


class RunnerNotFound(CortexError, code="JC102"):  # noqa: N818
    """There is no runner with this uuid, or it has retired."""


class WrongState(CortexError, code="JC201"):  # noqa: N818
    """The job is in a state in which this can't be done, such as finishing one never started."""


class AttemptLost(CortexError, code="JC202"):  # noqa: N818
    """The job was started again since; the outcome of the earlier attempt counts no more."""


class ExecutorBroken(RuntimeError):  # noqa: N818 - an outcome, named as such
    """The executor of a runner takes no more bodies, so that the runner ended; make both anew."""


class JobFailed(Exception):  # noqa: N818
    """
    Raised by a body to end its job failed, with this reason and no traceback in the log.

    Args:
        result: What was done all the same; kept as the job's result, by the rules of one that a
            body returns.
    """

    def __init__(self, *reason: object, result: object = None) -> None:
        super().__init__(*reason)
        self.result = result


class JobCancelled(BaseException):
    """
    Somebody asked for the job's end; ``progress.step`` raises it, and so may a body itself.

    Like asyncio's, it is no subclass of Exception, so that an ``except Exception`` around one item
    of a body's work doesn't swallow it.
    """


class JobStopped(JobCancelled):
    """The row is no longer this attempt's, it ended or was started again: stop, write nothing."""
