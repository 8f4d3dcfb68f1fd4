"""Jobs as they move, where nothing can be redrawn: a line whenever one has something new to say."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import IO, Any
from uuid import UUID

from pycortex.cli._jobs import progress, span
from pycortex.cli._output import clean, say
from pycortex.cli._picture import Picture, WatchedJob
from pycortex.cli._row import silence
from pycortex.models import Job, JobStatus

__all__ = ["Lines"]

QUIET = 2.0
"""Seconds between two lines about one job in the same status."""


class Lines:
    """Writes lines to *stream*: when, which job, how far."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._said: dict[UUID, tuple[float, JobStatus, tuple[Any, ...]]] = {}
        self._away = False

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, jobs: Sequence[Job] | Picture) -> None:
        """Write a line for each of *jobs* that changed."""
        jobs = jobs.jobs if isinstance(jobs, Picture) else jobs
        now = time.monotonic()
        for job in jobs:
            news = (
                job.progress_current,
                job.progress_total,
                job.message,
                job.attempt,
                silence(job),
                job.cancel_requested_at,
            )
            then, status, old = self._said.get(job.uuid, (0.0, None, ()))
            if job.status is status and (news == old or now - then < QUIET):
                continue
            self._said[job.uuid] = (now, job.status, news)
            self._stream.write(_words(job) + "\n")
            self._stream.flush()
        shown = {job.uuid for job in jobs}
        for gone in self._said.keys() - shown:
            del self._said[gone]

    def away(self, why: str) -> None:
        """Say once, on standard error, why the database doesn't answer."""
        if not self._away:
            say(f"the database is {why}; waiting for it")
        self._away = True

    def back(self) -> None:
        """Say that it is back."""
        say("the database is back")
        self._away = False

    def pause(self, seconds: float) -> bool:
        """Wait; nobody can want to leave but by Ctrl-C."""
        time.sleep(seconds)
        return False


def _words(job: Job) -> str:
    parts = [datetime.now(UTC).isoformat(timespec="seconds"), str(job.uuid), job.status]
    parts += [clean(job.kind), progress(job), clean(job.message)]
    if isinstance(job, WatchedJob):
        if job.activity:
            parts.append(f"({clean(job.activity)})")
        if silence(job) and job.stale_after is not None:
            age, limit = job.seconds_since_update, job.stale_after.total_seconds()
            parts.append(f"[silent for {span(age)} of {span(limit)}]")
    return " ".join(part for part in parts if part)
