"""What a job's body holds in its hands: how far it is, what it was asked, its connection."""

from __future__ import annotations

import asyncio
import concurrent.futures
import operator
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.errors import Diagnostic

from pycortex import sql
from pycortex._bridge import told
from pycortex._call import ask
from pycortex._fork import part_at_fork
from pycortex._log import logger
from pycortex.errors import JobCancelled, JobStopped
from pycortex.models import Job, Verdict

if TYPE_CHECKING:
    from pycortex._steps import StepWriter

__all__ = ["AsyncJobProgress", "JobProgress"]

MOMENT = 1.0
"""Seconds that a step waits at most for its value to be written."""

BREATH = 0.001
"""Seconds after which a body of asyncio's that only steps lets other tasks go on."""

LEAST, MOST = -(2**63), 2**63 - 1

Step = tuple[int, int | None, str]


class JobProgress:
    """
    A running job as its body sees it.

    Attributes:
        uuid: The job's handle.
        kind: Its kind.
        actor: Who asked for it.
        params: What it was asked, as JSON gave it back.
        attempt: Which start of the job this is; 1 is the first.
    """

    def __init__(
        self, job: Job, writer: StepWriter, connect: Callable[[], Connection[Any]]
    ) -> None:
        self.uuid: UUID = job.uuid
        self.kind: str = job.kind
        self.actor: str = job.actor
        self.params: dict[str, Any] = job.params
        self.attempt: int = job.attempt
        self._writer = writer
        self._connect = connect
        self._connections: list[Connection[Any]] = []
        self._verdict: Verdict | None = None
        # Shared with the writer without a lock. The body first puts its value down, then looks
        # whether a look at it is scheduled; the writer first says that none is, then takes the
        # value. So none is lost.
        self._latest: Step | None = None
        self._written: Step | None = None
        self._scheduled = False
        self._sent_at = float("-inf")
        self._trouble = False
        self._closed = False
        self._last_call = threading.Event()
        self._writing = threading.Lock()
        self._parents: list[Any] = []
        part_at_fork(self)

    @property
    def cancel_requested(self) -> bool:
        """Whether somebody asked for the job's end, or it isn't this attempt's any more."""
        return self._verdict is not None

    def step(
        self, current: int, total: int | None = None, message: str = "", *, flush: bool = False
    ) -> None:
        """
        Say that *current* of *total* units are done; prove the job alive; hear whether to go on.

        Cheap in a tight loop. The first value is written before step returns, later ones at most
        every ``step_interval`` of the runner, the last one always. While the database is away
        values are kept, the body goes on.

        Args:
            current: Any integer of 64 bits; stored as given, it may go back or past *total*.
            total: None if unknown.
            message: What it is doing; past 4000 characters cut in the middle.
            flush: Write this value before returning, if that takes no longer than a second.

        Raises:
            JobCancelled: Somebody asked for the job's end.
            JobStopped: The job was ended or started again elsewhere.
            TypeError, ValueError: A count that is no integer of 64 bits.
        """
        if type(current) is not int or not LEAST <= current <= MOST:
            current = _count(current, "current")
        if total is not None and (type(total) is not int or not LEAST <= total <= MOST):
            total = _count(total, "total")
        self._latest = (current, total, message)
        if not self._scheduled or flush:
            written = self._schedule(flush)
            if written is not None and not concurrent.futures.wait([written], MOMENT).done:
                self._trouble = True  # the writer says when it is over
        if self._verdict is not None:
            self._raise()

    def connection(self, *, new: bool = False) -> Connection[Any]:
        """
        Return the job's own autocommit connection; opened at the first call, closed at the end.

        The database knows its session as the job's: cortex.job_activity shows it, and a hard cancel
        ends its statement.

        It is none of the runner's: whatever the body does to it, steps and the end get written.

        Args:
            new: Open a further one, which the database doesn't know as the job's.

        Raises:
            psycopg.OperationalError: The database can't be reached.
        """
        if not new and self._connections and not self._connections[0].closed:
            return self._connections[0]
        conn = self._connect()
        conn.add_notice_handler(self._log_notice)
        if not new and conn.prepare_threshold is not None:  # else a pooler lends sessions in turn
            with suppress(psycopg.Error):
                sql.attach_backend(conn, self.uuid)
        self._connections.insert(0 if not new else len(self._connections), conn)
        return conn

    def _schedule(self, flush: bool) -> Future[None] | None:
        """See to it that the latest step gets written; returns what to wait for, a moment long."""
        now = time.monotonic()
        due = now if flush else max(now, self._sent_at + self._writer.interval)
        soon = due <= now and (flush or not self._trouble)
        written: Future[None] | None = Future() if soon else None
        self._scheduled = True
        self._writer.schedule(self, due, written)
        return written

    def _raise(self) -> NoReturn:
        if self._verdict is Verdict.STOP:
            raise JobStopped(f"job {self.uuid} is no longer attempt {self.attempt}'s")
        raise JobCancelled("cancelled on request")

    def _part(self) -> None:
        self._parents.append(self._connections)  # kept: to close one would end the parent's session
        self._connections = []
        self._writing = threading.Lock()
        self._scheduled = False
        self._sent_at = float("-inf")

    def _hear(self, verdict: Verdict) -> None:
        if verdict is not Verdict.CONTINUE and self._verdict is not Verdict.STOP:
            self._verdict = verdict

    def _close(self) -> None:
        """Take no more steps; close whatever the body left open, in whatever state."""
        self._closed = True
        for conn in self._connections:
            with suppress(Exception):
                conn.close()
        self._connections.clear()

    def _log_notice(self, notice: Diagnostic) -> None:
        warns = notice.severity_nonlocalized == "WARNING"
        (logger.warning if warns else logger.info)(
            "job %s: %s: %s",
            self.uuid,
            notice.severity,
            notice.message_primary,
            extra={"job": self.uuid, "kind": self.kind, "actor": self.actor},
        )


class AsyncJobProgress:
    """
    A running job as its body sees it, where that is an ``async def`` function.

    Attributes:
        uuid: The job's handle.
        kind: Its kind.
        actor: Who asked for it.
        params: What it was asked, as JSON gave it back.
        attempt: Which start of the job this is; 1 is the first.
        blocking: The same job for code that runs in a thread, such as asyncio.to_thread's. Its
            methods block whoever calls them.
    """

    def __init__(
        self, progress: JobProgress, connect: Callable[[], Awaitable[AsyncConnection[Any]]]
    ) -> None:
        self.uuid: UUID = progress.uuid
        self.kind: str = progress.kind
        self.actor: str = progress.actor
        self.params: dict[str, Any] = progress.params
        self.attempt: int = progress.attempt
        self.blocking: JobProgress = progress
        self._connect = connect
        self._connections: list[AsyncConnection[Any]] = []
        self._opening = asyncio.Lock()
        self._breath = 0.0

    @property
    def cancel_requested(self) -> bool:
        """Whether somebody asked for the job's end, or it isn't this attempt's any more."""
        return self.blocking.cancel_requested

    async def step(
        self, current: int, total: int | None = None, message: str = "", *, flush: bool = False
    ) -> None:
        """
        Say that *current* of *total* units are done; prove the job alive; hear whether to go on.

        Never blocks the loop. Cheap in a tight loop, in which the loop's other tasks go on too. The
        first value is written before step returns, later ones at most every ``step_interval`` of
        the runner, the last one always. While the database is away values are kept, the body goes
        on.

        Args:
            current: Any integer of 64 bits; stored as given, it may go back or past *total*.
            total: None if unknown.
            message: What it is doing; past 4000 characters cut in the middle.
            flush: Write this value before returning, if that takes no longer than a second.

        Raises:
            JobCancelled: Somebody asked for the job's end.
            JobStopped: The job was ended or started again elsewhere.
            TypeError, ValueError: A count that is no integer of 64 bits.
        """
        progress = self.blocking
        progress._latest = (
            _count(current, "current"),
            None if total is None else _count(total, "total"),
            message,
        )
        written = progress._schedule(flush) if flush or not progress._scheduled else None
        if written is not None:
            done, _ = await asyncio.wait([told(written)], timeout=MOMENT)
            if not done:
                progress._trouble = True
            self._breath = time.monotonic()
        elif time.monotonic() - self._breath > BREATH:
            await asyncio.sleep(0)
            self._breath = time.monotonic()
        if progress._verdict is not None:
            progress._raise()

    async def connection(self, *, new: bool = False) -> AsyncConnection[Any]:
        """
        Return the job's own autocommit connection; opened at the first call, closed at the end.

        The database knows its session as the job's: cortex.job_activity shows it, and a hard cancel
        ends its statement.

        Args:
            new: Open a further one, which the database doesn't know as the job's.

        Raises:
            psycopg.OperationalError: The database can't be reached.
        """
        async with self._opening:
            if not new and self._connections and not self._connections[0].closed:
                return self._connections[0]
            conn = await self._connect()
            self._connections.insert(0 if not new else len(self._connections), conn)
            conn.add_notice_handler(self.blocking._log_notice)
            if not new and conn.prepare_threshold is not None:
                with suppress(psycopg.Error):
                    await ask(conn, sql.attach_backend, self.uuid)
            return conn

    async def _close(self) -> None:
        for conn in self._connections:
            with suppress(Exception):
                await conn.close()
        self._connections.clear()


def _count(value: Any, name: str) -> int:
    """Read a number of units: an integer of whatever type, or a float that is one."""
    if isinstance(value, float) and value.is_integer():
        number = int(value)
    elif isinstance(value, float):
        raise ValueError(f"{name} is {value!r}; progress counts whole units")
    elif isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; progress counts whole units")
    else:
        try:
            number = operator.index(value)
        except TypeError:
            kind = type(value).__name__
            raise TypeError(f"{name} is of type {kind}; progress counts whole units") from None
    if not LEAST <= number <= MOST:
        raise ValueError(f"{name} is {number}; it must fit in 64 bits")
    return number
