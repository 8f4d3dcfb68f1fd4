"""The jobs in a runner's hands, from the place that is reserved for each to its end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Connection

from pycortex import sql
from pycortex._carriers import Carrier
from pycortex._log import Outage, brief, logger
from pycortex._outcome import Finisher, Outcome
from pycortex._places import Life, Places
from pycortex._pool import Pool, is_away
from pycortex._steps import StepWriter
from pycortex._threads import Later
from pycortex._ticket import Ticket
from pycortex.errors import JobNotFound, RunnerNotFound
from pycortex.events import RunnerEvent, Teller
from pycortex.models import Job, JobStatus, RunnerJob, Verdict
from pycortex.progress import JobProgress

__all__ = ["Bodies"]

LONGEST, LONGEST_RETRY = 60.0, 5.0
"""Seconds, at most, between two looks at a job whose time has not come, and after an error."""

BURIAL = 1.0
"""Seconds until a killed process is gone, and its end noted."""

UNSURE = frozenset({"failed", "stopped", "lost"})
"""Ends after which a job may wait for another attempt."""


class Bodies:
    """
    Carries jobs from their places to their ends.

    Args:
        places: Where jobs are carried, each at its time.
        connect: Opens the connections of bodies.
        carrier: Makes what runs one body.
        poll_interval: Seconds, at most, between two looks at a job that waits for another one.
    """

    def __init__(
        self,
        pool: Pool,
        places: Places,
        writer: StepWriter,
        outage: Outage,
        teller: Teller,
        connect: Callable[[], Connection[Any]],
        carrier: Callable[[Ticket, Job, JobProgress], Carrier],
        *,
        poll_interval: float,
    ) -> None:
        self._pool = pool
        self._places = places
        self._writer = writer
        self._outage = outage
        self._teller = teller
        self._connect = connect
        self._carrier = carrier
        self._poll_interval = poll_interval
        self._finisher = Finisher(pool, writer, outage)
        self._later = Later()
        self._tickets: dict[UUID, Ticket] = {}
        self._notes: list[tuple[Job, str]] = []
        self._changed = threading.Condition()
        self._ending = False
        self.busy = 0
        """Places that are taken or asked for."""
        self.freed: list[Callable[[], None]] = []
        """Called whenever a place became free."""

    def reserve(self, ticket: Ticket) -> None:
        """
        Take a place, or queue for one; *launch* or *release* must follow.

        Raises:
            RuntimeError: There are no more places; the interpreter may be about to end.
        """
        with self._changed:
            self._places.take(self._carry(ticket))
            self.busy += 1

    def release(self, ticket: Ticket) -> None:
        """Give a place back."""
        ticket.released = True
        ticket.ready.set_result(None)

    def launch(self, ticket: Ticket, uuid: UUID) -> None:
        """Go on with a ticket whose row exists."""
        ticket.uuid = uuid
        before = self._tickets.get(uuid)
        self._tickets[uuid] = ticket
        if before is not None and before.carrier is not None:
            # Given up, and taken again by this runner before a beat told it.
            before.carrier.hear(Verdict.STOP, hard=True)
            if before.carrier.ends_for_good:
                ticket.before = before.gone
        ticket.ready.set_result(None)

    def find(self, job: UUID) -> Ticket | None:
        """Return the ticket of a job, if it is in this runner's hands."""
        return self._tickets.get(job)

    def hear(self, jobs: Sequence[RunnerJob]) -> None:
        """Tell bodies what the database says of their jobs."""
        for entry in jobs:
            ticket = self._tickets.get(entry.job)
            progress = ticket.progress if ticket is not None else None
            if ticket is None or progress is None or progress.attempt != entry.attempt:
                continue
            carrier = ticket.carrier
            if carrier is None:
                continue
            carrier.hear(entry.verdict, hard=entry.hard)
            if entry.verdict is Verdict.STOP and ticket.own and not carrier.ends_for_good:
                # The body may hang for ever; another attempt must not wait for it.
                self._renew(ticket)

    def wait(self, seconds: Callable[[], float]) -> bool:
        """Wait until nothing is left that can end in so many seconds; returns whether."""
        with self._changed:
            while True:
                left = seconds()
                if not self.busy and not self._waiting(left):
                    return True
                if left <= 0:
                    return False
                self._changed.wait(min(left, 0.2))  # the deadline may be moved

    def end(self, seconds: Callable[[], float]) -> None:
        """
        Start nothing more; end the bodies that can be ended in so many seconds, and wait.

        Others hear that the grace is about to be over, if they ask for it.
        """
        self._ending = True
        self.last_call()
        until = float("inf")
        with self._changed:
            while time.monotonic() < until and (carriers := self._mortal()):
                left = max(0.0, seconds())  # the deadline may be moved
                until = min(until, time.monotonic() + left + BURIAL)
                for carrier in carriers:
                    carrier.end(Verdict.STOP, left)
                self._changed.wait(0.2)

    def last_call(self) -> None:
        """Let bodies hear that the grace is about to be over, if they ask for it."""
        for ticket in tuple(self._tickets.values()):
            if ticket.progress is not None:
                ticket.progress._last_call.set()

    def _mortal(self) -> list[Carrier]:
        return [
            carrier
            for ticket in tuple(self._tickets.values())
            if (carrier := ticket.carrier) is not None and carrier.ends_for_good
        ]

    def write_notes(self) -> None:
        """Add to the jobs that are interrupted by now what became of their bodies."""
        for entry in tuple(self._notes):
            job, note = entry
            try:
                done = self._pool.run(
                    lambda conn, job=job, note=note: sql.note_end(conn, job.uuid, note, job.attempt)  # type: ignore[misc]
                )
            except psycopg.Error as error:
                logger.debug("job %s has no note yet: %s", job.uuid, brief(error))
                continue
            if done:
                with suppress(ValueError):  # another thread was as quick
                    self._notes.remove(entry)

    def stop(self) -> None:
        """Start nothing more."""
        self._later.stop()
        self._writer.stop()
        self._places.close()
        for ticket in tuple(self._tickets.values()):
            if ticket.progress is None:
                self._forget(ticket)

    def _waiting(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        return any(
            ticket.due <= until for ticket in tuple(self._tickets.values()) if not ticket.progress
        )

    def _carry(self, ticket: Ticket) -> Life:
        """One stay in a place: run the job, or find that its time has not come."""
        wait = None
        try:
            yield ticket.ready
            if ticket.before is not None:
                yield ticket.before
            if not ticket.released and not (self._ending and ticket.job is None):
                wait = self._start(ticket) if ticket.job is None else None
                if ticket.job is not None:
                    yield from self._run(ticket, ticket.job)
        except GeneratorExit:  # nobody is there to go on
            raise
        except BaseException:
            logger.critical("job %s fell through", ticket.uuid, exc_info=True, extra=ticket.fields)
            raise
        finally:
            if wait is None:
                self._forget(ticket)
                ticket.gone.set_result(None)
            else:
                self._later.call(wait, lambda: self._again(ticket))
            self._free()

    def _again(self, ticket: Ticket) -> None:
        try:
            self.reserve(ticket)
        except RuntimeError:  # shutting down, which ends the row too
            self._forget(ticket)

    def _free(self) -> None:
        with self._changed:
            self.busy -= 1
            self._changed.notify_all()
        for call in self.freed:
            call()

    def _forget(self, ticket: Ticket) -> None:
        with self._changed:
            if self._tickets.get(ticket.uuid) is not ticket:
                return
            del self._tickets[ticket.uuid]
        ticket.over.set_result(None)

    def _renew(self, ticket: Ticket) -> None:
        """Look for another attempt of a job whose row only this runner may start."""
        successor = ticket.successor()
        try:
            self.reserve(successor)
        except RuntimeError:  # shutting down, which ends the row too
            return
        self.launch(successor, successor.uuid)

    def _start(self, ticket: Ticket) -> float | None:
        """
        Try to take a job to running and put it on its ticket.

        Returns:
            In how many seconds to try again; None if it started, or never will.
        """
        try:
            return self._pool.run(lambda conn: self._start_with(conn, ticket))
        except (JobNotFound, RunnerNotFound) as error:
            logger.warning("job can't start: %s", brief(error), extra=ticket.fields)
            return None
        except Exception as error:  # noqa: BLE001 - the next try may get through
            if is_away(error):
                self._outage.failed("start", error)
            else:
                logger.warning(
                    "job %s can't start yet: %s", ticket.uuid, brief(error), extra=ticket.fields
                )
            return self._longer(ticket, LONGEST_RETRY)

    def _start_with(self, conn: Connection[Any], ticket: Ticket) -> float | None:
        sql.set_running(conn, ticket.uuid, ticket.runner)
        job = sql.find_job(conn, ticket.uuid)
        self._outage.over("start")
        if job is None:
            raise JobNotFound(f"no such job: {ticket.uuid}")
        # Not by set_running's answer: it may have been lost on the way, and it was called again.
        ours = job.runner == ticket.runner and job.attempt > ticket.after
        if job.status is JobStatus.RUNNING and ours:
            ticket.job = job
            return None
        if job.status is not JobStatus.QUEUED:
            if not ticket.after:
                logger.info("job was %s before it started", job.status, extra=ticket.fields)
            return None
        ahead = (job.run_at - sql.db_now(conn)).total_seconds()
        if ahead > 0:
            ticket.due = time.monotonic() + ahead
            return min(ahead, LONGEST)
        return self._longer(ticket, self._poll_interval)

    def _longer(self, ticket: Ticket, most: float) -> float:
        ticket.delay = min(2 * ticket.delay, most)
        return ticket.delay

    def _run(self, ticket: Ticket, job: Job) -> Life:
        began = time.monotonic()
        ticket.progress = JobProgress(job, self._writer, self._connect)
        self._teller.tell(RunnerEvent("started", job.kind, job.actor, job.uuid, job.attempt))
        ticket.carrier = self._carrier(ticket, job, ticket.progress)
        if self._ending:
            ticket.carrier.end(Verdict.STOP, 0)
        outcome = ticket.carrier.run()
        if isinstance(outcome, Future):
            yield outcome
            outcome = outcome.result()
        ticket.progress._close()
        status = yield from self._finisher.write(job, ticket.progress, outcome)
        if outcome.note:
            self._notes.append((job, outcome.note))
            self.write_notes()
        self._tell_end(job, outcome, status, time.monotonic() - began)
        if ticket.own and status in UNSURE and self._waits_again(ticket):
            self._renew(ticket)

    def _waits_again(self, ticket: Ticket) -> bool:
        if self._tickets.get(ticket.uuid, ticket) is not ticket:
            return False  # a successor looks after it
        try:
            job = self._pool.run(lambda conn: sql.find_job(conn, ticket.uuid))
        except Exception:  # noqa: BLE001 - the next look will tell
            return True
        return job is not None and job.status is JobStatus.QUEUED

    def _tell_end(self, job: Job, outcome: Outcome, status: str, elapsed: float) -> None:
        said = outcome.message or outcome.note
        event = RunnerEvent(
            "ended", job.kind, job.actor, job.uuid, job.attempt, elapsed, status, said
        )
        for warning in outcome.warnings:
            logger.warning("job %s: %s", job.uuid, warning, extra={"job": job.uuid})
        if outcome.error is not None or outcome.trace:
            level = logging.ERROR
        else:
            level = logging.INFO if status in ("succeeded", "cancelled") else logging.WARNING
        self._teller.tell(event, level=level, error=outcome.error, trace=outcome.trace)
