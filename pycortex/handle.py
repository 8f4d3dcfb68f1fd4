"""What spawn returns: a job to ask about and to wait for."""

from __future__ import annotations

import concurrent.futures
import time
from concurrent.futures import Future
from uuid import UUID

from pycortex import sql
from pycortex._pool import Pool, is_away
from pycortex.errors import JobNotFound
from pycortex.models import Job

__all__ = ["JobHandle"]

FIRST_DELAY, LAST_DELAY = 0.05, 1.0
"""Seconds between two looks at a job."""


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
        if self._over is not None and local:
            concurrent.futures.wait([self._over], seconds)
        else:
            time.sleep(seconds)
