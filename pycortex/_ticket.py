"""One job in a runner's hands."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any
from uuid import UUID

from pycortex._carriers import Carrier
from pycortex._outcome import Body
from pycortex.models import Job
from pycortex.progress import JobProgress
from pycortex.registry import Isolation

__all__ = ["Ticket"]

FIRST_DELAY = 0.05
"""Seconds until the second look whether a job may start."""


class Ticket:
    """
    What a runner knows of one attempt at a job.

    Attributes:
        own: Whether the runner spawned the job, so that nobody else may start it.
        uuid: The job's handle, once there is a row.
        runner: The runner's handle when it took the job.
        after: The attempt that came before; 0 for none.
        job: The running job: set where it was claimed, or once it has started.
        isolation: Where its body runs; None: wherever the runner runs bodies.
        progress: What its body holds; set while and after it runs.
        carrier: What runs the body; set with *progress*.
        ready: Done when there is a row, or when there will be none: then *released*.
        before: Done when an earlier attempt in a process is over; None where there is none.
        gone: Done when this attempt is over, or its place was given back.
        over: Done when this process has nothing more to do with the job.
        due: While the job waits for its time: the earliest start, on the monotonic clock.
    """

    def __init__(
        self, kind: str, actor: str, body: Body, isolation: Isolation | None, *, own: bool
    ) -> None:
        self.kind = kind
        self.actor = actor
        self.body = body
        self.isolation = isolation
        self.own = own
        self.uuid = UUID(int=0)
        self.runner: UUID | None = None
        self.after = 0
        self.job: Job | None = None
        self.progress: JobProgress | None = None
        self.carrier: Carrier | None = None
        self.ready: Future[None] = Future()
        self.released = False
        self.before: Future[None] | None = None
        self.gone: Future[None] = Future()
        self.over: Future[None] = Future()
        self.delay = FIRST_DELAY
        self.due = 0.0

    @property
    def fields(self) -> dict[str, Any]:
        """What each log line of the job carries."""
        return {"kind": self.kind, "actor": self.actor, "job": self.uuid}

    def successor(self) -> Ticket:
        """Make a ticket for another attempt at the same job."""
        ticket = Ticket(self.kind, self.actor, self.body, self.isolation, own=self.own)
        ticket.uuid = self.uuid
        ticket.runner = self.runner
        ticket.after = self.job.attempt if self.job is not None else self.after
        ticket.over = self.over
        return ticket
