"""Runs the jobs of this process, and keeps the database informed."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from psycopg import Connection

from pycortex import _spawn, registry
from pycortex._bodies import Bodies
from pycortex._carriers import Carrier, InExecutor, InThread
from pycortex._conninfo import with_defaults
from pycortex._goodbye import remember
from pycortex._lease import Lease
from pycortex._log import Outage, logger
from pycortex._outcome import Body
from pycortex._places import Places, Threads
from pycortex._pool import Pool, open_connection
from pycortex._process import InProcess, check_portable
from pycortex._remote import Task
from pycortex._steps import StepWriter
from pycortex._text import describe
from pycortex._threads import start_if_possible, start_thread
from pycortex._ticket import Ticket
from pycortex._upkeep import Upkeep
from pycortex._watch import Watch
from pycortex.errors import ExecutorBroken
from pycortex.events import RunnerEvent, Teller
from pycortex.handle import JobHandle
from pycortex.models import DebounceMode, Job, RunnerJob
from pycortex.progress import JobProgress
from pycortex.registry import Isolation, check_body
from pycortex.values import check_params

__all__ = ["Runner"]

FAREWELL_LIMIT = 5.0
"""Seconds that shutdown waits, past its grace, for the database to hear of it."""


class Runner:
    """
    Spawns jobs and runs their bodies: in threads, in processes of their own, or in an executor.

    Use it as a context manager, or call ``start`` (the first ``spawn`` does) and ``shutdown``. It
    holds one connection for its registration, and a few more while there is something to write. It
    also keeps the truth: at every beat it calls ``cortex.maintain()``.

    Args:
        conninfo: A URL or key=value string; what it leaves out libpq's environment says. Limits on
            waits for the network are added where it has none.
        max_workers: How many bodies run at the same time.
        name: For people who look at ``cortex.runners``; by default the program's.
        step_interval: Seconds between two writes of one job's progress.
        grace: Seconds that shutdown lets bodies go on, unless told otherwise.
        poll_interval: Seconds, at most, between two looks at a job that waits for another one.
        isolation: "thread", the default: bodies run in threads of this process, which nothing can
            end. "process": each in a fresh process, which a hard cancel, the reaper and a shutdown
            end for good.
        executor: Runs the bodies instead; any that concurrent.futures knows, here or elsewhere. It
            stays the caller's, who shuts it down after the runner. When it takes no more, the
            runner ends, and what it has left is interrupted with the reason.
        kill_after: Seconds from SIGTERM to SIGKILL where a process is ended.
        on_event: Called with a RunnerEvent whenever a job is spawned, claimed, started or ended
            here, in the thread where that happens; must be quick.

    Raises:
        ValueError: A conninfo that can't be parsed, or an option that makes no sense.
    """

    def __init__(
        self,
        conninfo: str = "",
        *,
        max_workers: int = 4,
        name: str | None = None,
        step_interval: float = 0.25,
        grace: float = 10.0,
        poll_interval: float = 1.0,
        isolation: Isolation | str | None = None,
        executor: Executor | None = None,
        kill_after: float = 5.0,
        on_event: Callable[[RunnerEvent], object] | None = None,
    ) -> None:
        if max_workers < 1:
            raise ValueError(f"max_workers is {max_workers}; a runner needs at least one")
        spans = {"step_interval": step_interval, "grace": grace, "kill_after": kill_after}
        for label, value in spans.items():
            if not value >= 0:
                raise ValueError(f"{label} is {value}; give seconds, from 0 up")
        self._isolation = None if isolation is None else Isolation.of(isolation)
        if executor is not None and self._isolation is not None:
            raise ValueError("give an isolation or an executor: where bodies run is for one to say")
        if not poll_interval > 0:
            raise ValueError(f"poll_interval is {poll_interval}; give seconds, above 0")
        self.name = name or _program()
        self.max_workers = max_workers
        self.grace = grace
        self._step_interval = step_interval
        self._poll_interval = poll_interval
        self._executor = executor
        self._kill_after = kill_after
        self._conninfo = with_defaults(conninfo, application_name=f"pycortex {self.name}"[:63])
        self._outage = Outage(logger)
        self._teller = Teller(on_event)
        self._watch = Watch()
        self._pool = Pool(self._conninfo, self._watch, size=max_workers + 4)
        self._starting = threading.Lock()
        self._pid: int | None = None
        self._lease: Lease
        self._bodies: Bodies
        self._closing = threading.Event()
        self._leaving = threading.Lock()
        self._deadline = float("inf")
        self._gone = False
        self._rushed = False
        self._broken = ""
        self._probe: Future[bool] | None = None

    def start(self) -> Self:
        """
        Register with the database and start the threads; nothing if that is done.

        Raises:
            psycopg.OperationalError: The database can't be reached.
            RuntimeError: It was shut down, or belongs to the process that this one was forked from.
            ExecutorBroken: It ended since its executor did.
        """
        if self._pid is not None:
            self._check_usable()
            return self
        with self._starting:
            if self._pid is None:
                self._start()
        return self

    @property
    def uuid(self) -> UUID:
        """
        The runner's handle in the database; a new one if somebody retired it meanwhile.

        Raises:
            RuntimeError: It isn't started.
        """
        if self._pid is None:
            raise RuntimeError("this runner isn't started")
        return self._lease.uuid

    @property
    def closing(self) -> bool:
        """Whether it is shutting down or shut down."""
        return self._closing.is_set()

    def spawn(
        self,
        kind: str,
        body: Body,
        *,
        actor: str = "",
        params: Mapping[str, Any] | None = None,
        debounce_scope: Mapping[str, Any] | None = None,
        debounce_on: DebounceMode | str = DebounceMode.ACTIVE,
        run_at: datetime | None = None,
        priority: int = 0,
        isolation: Isolation | str | None = None,
    ) -> JobHandle:
        """
        Put a job on the books and run *body* for it.

        If the interpreter or the runner is about to end, this raises before there is a job.

        Args:
            kind: 1 to 200 characters.
            body: Called with a JobProgress; what it returns becomes the job's result.
            actor: Who asks; at most 200 characters.
            params: What the body gets; converted as pycortex.values says, at most 8 MiB of JSON.
            debounce_scope: None: not debounced. Otherwise at most one active job of this kind and
                scope; ``{}`` is one per kind. Then the handle is the first one's.
            debounce_on: "active": queued and running jobs keep a new one out. "queued": only a
                waiting one does, so that a call while one runs queues exactly one follow-up.
            run_at: Not to be started before; an aware datetime.
            priority: For the listing; a runner starts its own jobs in the order of their spawn.
            isolation: "thread" or "process", for this job; by default as the runner was made, or
                as @pycortex.job says of the body.

        Raises:
            TypeError, ValueError: Params, scope or body that won't do; says why.
            RuntimeError: The runner is shut down, or belongs to another process.
            ExecutorBroken: It ended since its executor did.
            psycopg.OperationalError: The database can't be reached; there is no job then.
            psycopg.DataError: An argument that the database refuses.
        """
        check_body(body)
        where = self._place_checked(kind, body, isolation)
        arguments = {
            "kind": kind,
            "actor": actor,
            "params": check_params(params),
            "debounce_scope": debounce_scope,
            "debounce_on": debounce_on,
            "run_at": run_at,
            "priority": priority,
        }
        self.start()
        if where is None:
            self._check_executor()
        ticket = Ticket(kind, actor, body, where, own=True)
        self._reserve(ticket)
        ticket.runner = self.uuid
        try:
            spawned = _spawn.spawn(self._pool, self._bodies, ticket, arguments)
        except BaseException:
            if not ticket.ready.done():
                self._bodies.release(ticket)
            raise
        self._teller.tell(
            RunnerEvent("spawned" if spawned.created else "debounced", kind, actor, spawned.uuid)
        )
        if not spawned.created:
            self._bodies.release(ticket)
            found = self._bodies.find(spawned.uuid)
            return JobHandle(spawned.uuid, False, self._pool, found.over if found else None)
        self._bodies.launch(ticket, spawned.uuid)
        return JobHandle(spawned.uuid, True, self._pool, ticket.over)

    def shutdown(self, grace: float | None = None) -> None:
        """
        Take nothing new, let bodies end, then mark what is left interrupted, and leave.

        Returns within the grace and 5 seconds, whether the database answers or not. Called again
        meanwhile, with a shorter grace, it makes the first call hurry. Ctrl-C while it waits ends
        the wait: the call raises, and what the interpreter's end then does waits for no body.

        Args:
            grace: Seconds for bodies to end; by default as the runner was made.
        """
        grace = self.grace if grace is None else grace
        try:
            self._shut_down(grace)
        except BaseException:  # Ctrl-C once more: the interpreter's goodbye shall wait for no body
            self._rushed = True
            self._hurry(0)
            raise

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()

    def _shut_down(self, grace: float) -> None:
        self._hurry(grace)
        if self._pid != os.getpid():
            return
        if not self._leaving.acquire(timeout=max(0.0, grace) + FAREWELL_LIMIT):
            return
        try:
            if not self._gone:
                self._leave(grace)
        finally:
            self._leaving.release()

    def _start(self) -> None:
        self._check_usable()
        lease = Lease(self._conninfo, self.name, self._outage, self._watch, self._hear)
        lease.register()
        self._bodies = Bodies(
            self._pool,
            self._places(),
            StepWriter(self._pool, self._outage, self._step_interval),
            self._outage,
            self._teller,
            self._open,
            self._carrier,
            poll_interval=self._poll_interval,
        )
        self._lease = lease
        self._pid = os.getpid()
        remember(self)
        lease.start()
        upkeep = Upkeep(self._pool, self._outage, lambda: lease.beat, self._closing)
        start_thread(upkeep.run, "pycortex-upkeep")
        logger.info("runner %s registered as %s", self.name, lease.uuid)

    def _places(self) -> Places:
        return Threads(self.max_workers)

    def _open(self) -> Connection[Any]:
        return open_connection(self._conninfo, self._watch)

    def _place(
        self, kind: str, body: Body, isolation: Isolation | str | None = None
    ) -> Isolation | None:
        """Find out where a body runs: what is said of the job, of the body, of the runner."""
        if isolation is not None:
            return Isolation.of(isolation)
        return registry.isolation(kind, body) or self._isolation

    def _place_checked(
        self, kind: str, body: Body, isolation: Isolation | str | None = None
    ) -> Isolation | None:
        where = self._place(kind, body, isolation)
        if where is Isolation.PROCESS:
            check_portable(body)
        return where

    def _carrier(self, ticket: Ticket, job: Job, progress: JobProgress) -> Carrier:
        if ticket.isolation is Isolation.PROCESS:
            task = Task(job, ticket.body, self._conninfo, self._step_interval)
            return InProcess(task, progress, self._kill_after, lambda: self.closing)
        if ticket.isolation is None and self._executor is not None:
            task = Task(job, ticket.body, self._conninfo, self._step_interval)
            return InExecutor(self._executor, task, progress, self._pool, self._break)
        return InThread(ticket.body, progress)

    def _hear(self, jobs: Sequence[RunnerJob]) -> None:
        self._bodies.hear(jobs)

    def _check_executor(self) -> None:
        """Find out, before there is a job to lose, whether the executor takes bodies."""
        waits = self._probe is not None and not self._probe.done()
        if self._executor is None or waits:  # a probe behind long bodies; many would pile up
            return
        try:
            self._probe = self._executor.submit(bool)
        except Exception as error:  # noqa: BLE001 - an executor may raise anything
            self._break(describe(error))

    def _break(self, reason: str) -> None:
        """End because the executor takes no more bodies; a queue must not be failed job by job."""
        with self._starting:
            if self._broken:
                return
            self._broken = reason
        logger.critical("runner %s ends: its executor takes no more bodies: %s", self.name, reason)
        self._hurry(self.grace)
        start_if_possible(self.shutdown, "pycortex-leave")

    def _check_unbroken(self) -> None:
        if self._broken:
            raise ExecutorBroken(
                f"this runner ended, as its executor takes no more bodies: {self._broken}"
            )

    def _check_usable(self) -> None:
        self._check_unbroken()
        if self.closing:
            raise RuntimeError("this runner is shut down")
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise RuntimeError(
                "this process is a body's, which only imports the main module: start runners there "
                'under if __name__ == "__main__"'
            )
        if self._pid not in (None, os.getpid()):
            raise RuntimeError(
                f"this runner belongs to process {self._pid}; after a fork, make one of your own"
            )

    def _reserve(self, ticket: Ticket) -> None:
        self._check_usable()
        try:
            self._bodies.reserve(ticket)
        except RuntimeError:
            raise RuntimeError("this runner is shut down") from None

    def _hurry(self, grace: float) -> None:
        self._closing.set()
        self._deadline = min(self._deadline, time.monotonic() + grace)

    # For the worker.

    def _free(self) -> int:
        return max(0, self.max_workers - self._bodies.busy)

    def _adopt(self, job: Job, body: Body) -> None:
        ticket = Ticket(job.kind, job.actor, body, self._place(job.kind, body), own=False)
        ticket.uuid = job.uuid
        ticket.job = job
        ticket.runner = job.runner
        self._bodies.reserve(ticket)
        self._bodies.launch(ticket, job.uuid)

    def _last_call(self, grace: float) -> None:
        """Have bodies that heed it end at once, and give them so long to clean up."""
        self.grace = grace
        self._bodies.last_call()

    def _leave(self, grace: float) -> None:
        # Within the grace, so that processes have ended when the database hears of it.
        spare = min(self._kill_after, grace / 2)
        self._bodies.wait(lambda: self._deadline - spare - time.monotonic())
        self._bodies.end(lambda: self._deadline - time.monotonic())
        self._bodies.wait(lambda: self._deadline - time.monotonic())
        told = self._lease.stop(f"interrupted {self._why(grace)}", FAREWELL_LIMIT)
        self._gone = True
        if told:
            self._bodies.write_notes()
        self._bodies.stop()
        self._pool.close()
        if not told:
            logger.warning("runner %s shut down, the database doesn't know yet", self.name)
        elif self._lease.left:
            logger.warning("runner %s shut down, left %d jobs", self.name, self._lease.left)
        else:
            logger.info("runner %s shut down", self.name)

    def _why(self, grace: float) -> str:
        """Say why what is left is interrupted."""
        if self._broken:
            return f"as its runner ended: the executor takes no more bodies: {self._broken}"
        if self._rushed:
            return "by shutdown: told twice to end"
        return f"by shutdown: not over within its grace of {grace:g} s"


def _program() -> str:
    name = Path(sys.argv[0]).name if sys.argv else ""
    return name[:200] if name and not name.startswith("-") else "python"
