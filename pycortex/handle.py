"""What spawn returns: a job to ask about and to wait for."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import time
from concurrent.futures import Future
from uuid import UUID

from pycortex import sql
from pycortex._bridge import Calls, told
from pycortex._pool import Pool, is_away
from pycortex.errors import JobNotFound
from pycortex.models import Job

__all__ = ["AsyncJobHandle", "JobHandle"]

FIRST_DELAY, LAST_DELAY = 0.05, 1.0
"""Seconds between two looks at a job."""

LEAST = 1.0
"""Seconds that the last look may take."""


class JobHandle:
    """
    A job that was spawned, or found doing the work already.

    Attributes:
        uuid: Its handle for everybody.
        created: Whether this call spawned it; False where it was debounced.
    """

    def __init__(self, uuid: UUID, created: bool, pool: Pool, over: Future[None] | None) -> None:
        self.uuid = uuid
        self.created = created
        self._pool = pool
        self._over = over
        self._pid = os.getpid()

    def __repr__(self) -> str:
        return f"<JobHandle {self.uuid}>"

    def job(self) -> Job:
        """
        Read the job's row.

        Raises:
            JobNotFound: It is gone.
            psycopg.OperationalError: The database can't be reached.
        """
        job = self._pool.run(lambda conn: sql.find_job(conn, self.uuid))
        if job is None:
            raise JobNotFound(f"no such job: {self.uuid}")
        return job

    def wait(self, timeout: float | None = None) -> Job:
        """
        Wait until the job is over; goes on waiting while the database is away.

        Args:
            timeout: Seconds; None waits for ever.

        Returns:
            The job as it ended, whichever way.

        Raises:
            TimeoutError: It is not over yet.
            JobNotFound: It is gone.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        delay = FIRST_DELAY
        while True:
            ended = self._over is not None and self._over.done()
            error: Exception | None = None
            try:
                job = self.job()
            except Exception as caught:
                if not is_away(caught):
                    raise
                error = caught
            else:
                if job.status.terminal:
                    return job
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"job {self.uuid} is not over after {timeout:g} s") from error
            self._sleep(delay if left is None else min(delay, left), local=not ended)
            delay = min(2 * delay, LAST_DELAY)

    def _sleep(self, seconds: float, *, local: bool) -> None:
        # A job of this process wakes whoever waits; for any other the clock must do.
        if self._over is not None and local and self._pid == os.getpid():
            concurrent.futures.wait([self._over], seconds)
        else:
            time.sleep(seconds)


class AsyncJobHandle:
    """
    A job that was spawned, or found doing the work already, for whoever awaits it.

    Attributes:
        uuid: Its handle for everybody.
        created: Whether this call spawned it; False where it was debounced.
    """

    def __init__(self, handle: JobHandle, calls: Calls) -> None:
        self.uuid = handle.uuid
        self.created = handle.created
        self._handle = handle
        self._calls = calls

    def __repr__(self) -> str:
        return f"<AsyncJobHandle {self.uuid}>"

    async def job(self) -> Job:
        """
        Read the job's row.

        Raises:
            JobNotFound: It is gone.
            psycopg.OperationalError: The database can't be reached.
        """
        return await self._calls.ask(self._handle.job)

    async def wait(self, timeout: float | None = None) -> Job:
        """
        Wait until the job is over; goes on waiting while the database is away.

        Whoever stops waiting, by a timeout or cancelled, doesn't end the job.

        Args:
            timeout: Seconds; None waits for ever.

        Returns:
            The job as it ended, whichever way.

        Raises:
            TimeoutError: It is not over yet.
            JobNotFound: It is gone.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        over = None if self._handle._over is None else told(self._handle._over)
        delay = FIRST_DELAY
        while True:
            ended = over is not None and over.done()
            error: Exception | None = None
            left = None if deadline is None else deadline - time.monotonic()
            try:
                async with asyncio.timeout(None if left is None else max(left, LEAST)):
                    job = await self.job()
            except Exception as caught:
                if not is_away(caught):
                    raise
                error = caught
            else:
                if job.status.terminal:
                    return job
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"job {self.uuid} is not over after {timeout:g} s") from error
            seconds = delay if left is None else min(delay, left)
            if over is not None and not ended:
                await asyncio.wait([over], timeout=seconds)
            else:
                await asyncio.sleep(seconds)
            delay = min(2 * delay, LAST_DELAY)
