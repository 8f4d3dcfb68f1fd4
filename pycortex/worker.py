"""Takes jobs that anybody spawned from the queue, and lets a runner run them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import psycopg
from psycopg import Connection

from pycortex import _call, registry, sql
from pycortex._log import brief, logger
from pycortex._pool import is_away
from pycortex._threads import start_thread
from pycortex._watch import cut
from pycortex.errors import RunnerNotFound
from pycortex.events import RunnerEvent
from pycortex.models import Job, JobStatus, Waiting
from pycortex.runner import Runner

__all__ = ["Worker"]

FIRST_DELAY, LAST_DELAY = 0.1, 5.0
"""Seconds between tries to reach a database that is away."""

GLANCE = 0.2
"""Seconds after which a waiting worker looks whether it shall stop."""

LINGER = 0.005
"""Seconds that a claim waits for a second place, where more waits than there are places."""

LOOK_EVERY = 300.0
"""Seconds between two looks for kinds that wait and that no worker takes."""


LEAVE = 2.5
"""Seconds that a claim which is under way at the end gets; it may wait 2 at a turnstile."""

LIMIT, ASK_EVERY = 10.0, 30.0
"""Seconds that a call of the listener may take, and between two proofs that somebody is there."""


class Worker:
    """
    Claims and runs jobs whose bodies are registered with ``@pycortex.job``.

    It claims as many as its runner has free places, and leaves jobs of other kinds in the queue. It
    wakes when the database says that there is something to do, and looks by itself now and then.
    While the database is away it waits.

    Args:
        runner: Runs the bodies; the caller shuts it down.
        kinds: Which kinds to take; all registered ones by default.
        poll_interval: Seconds between two looks into the queue when nothing is heard.
        drain: Whether to end as soon as nothing waits that it may start, and its bodies are done.
            What waits for a later time, or for a limit that others use up, is left.

    Raises:
        LookupError: A kind without a body.
        TypeError: A kind whose body no other process can find, and shall have one of its own.
    """

    def __init__(
        self,
        runner: Runner,
        kinds: Iterable[str] | None = None,
        *,
        poll_interval: float = 5.0,
        drain: bool = False,
    ) -> None:
        if not poll_interval > 0:
            raise ValueError(f"poll_interval is {poll_interval}; give seconds, above 0")
        self.kinds = sorted(set(registry.kinds() if kinds is None else kinds))
        for kind in self.kinds:
            body = registry.get(kind)
            if body is None:
                known = ", ".join(registry.kinds()) or "none"
                raise LookupError(f"kind {kind!r} has no body; registered: {known}")
            runner._place_checked(kind, body)
        self._runner = runner
        self._poll_interval = poll_interval
        self._drain = drain
        self._wake = threading.Event()
        self._next_look = 0.0
        self._unattended: frozenset[str] = frozenset()
        self._claiming: Connection[Any] | None = None
        self._left = threading.Event()

    def run(self, stop: threading.Event) -> None:
        """
        Work until *stop* is set, the runner shuts down, or all is drained if that was asked for.

        Bodies may still run then.

        Raises:
            psycopg.OperationalError: The database can't be reached at the start.
            ExecutorBroken: The runner's executor takes no more bodies, at whatever time.
        """
        self._runner.start()
        logger.info("worker of runner %s takes %s", self._runner.uuid, ", ".join(self.kinds) or "-")
        ear = _Ear(self._runner, self._wake)
        self._runner._bodies.freed.append(self._wake.set)
        try:
            self._work_aside(stop)
        finally:
            self._left.set()
            self._runner._bodies.freed.remove(self._wake.set)
            ear.stop()
            logger.info("worker of runner %s takes no more jobs", self._runner.uuid)
        self._runner._check_unbroken()

    def _work_aside(self, stop: threading.Event) -> None:
        """Work in a thread that can be left behind, since a claim may never be answered."""
        failed: list[BaseException] = []

        def work() -> None:
            try:
                self._work(stop)
            except BaseException as error:  # noqa: BLE001 - raised below
                failed.append(error)

        self._left.clear()
        thread = start_thread(work, "pycortex-claims")
        while thread.is_alive() and not self._over(stop):
            thread.join(GLANCE)
        thread.join(LEAVE)
        if thread.is_alive():
            logger.warning("a claim of runner %s had no answer; it is given up", self._runner.uuid)
            if (conn := self._claiming) is not None:
                cut(conn)  # what it may have claimed is rolled back, or ended as the runner's
        if failed:
            raise failed[0]

    def _work(self, stop: threading.Event) -> None:
        delay = FIRST_DELAY
        plenty = False
        while not self._over(stop):
            free = self._linger() if plenty else self._places()
            if free:
                self._runner._check_executor()
            try:
                claimed = self._claim(free) if free and not self._over(stop) else []
            except Exception as error:  # noqa: BLE001 - a worker never gives up
                self._complain(error)
                self._pause(stop, delay)
                delay = min(2 * delay, LAST_DELAY)
                continue
            delay = FIRST_DELAY
            plenty = bool(free) and len(claimed) == free
            for job in claimed:
                self._take(job)
            if self._drain and not claimed and free == self._runner.max_workers:
                return
            if free and time.monotonic() >= self._next_look:
                self._look_for_unattended()
            if not free or len(claimed) < free:
                self._pause(stop, self._poll_interval, wakes=True)

    def _places(self) -> int:
        self._wake.clear()
        return self._runner._free()

    def _linger(self) -> int:
        """Let half of the places become free: a claim of several costs little more than of one."""
        until = time.monotonic() + LINGER
        while (free := self._places()) < self._runner.max_workers / 2:
            left = until - time.monotonic()
            if left <= 0 or not self._wake.wait(left):
                break
        return free

    def _over(self, stop: threading.Event) -> bool:
        return stop.is_set() or self._left.is_set() or self._runner.closing

    def _pause(self, stop: threading.Event, seconds: float, *, wakes: bool = False) -> None:
        until = time.monotonic() + seconds
        while not self._over(stop) and (left := until - time.monotonic()) > 0:
            if not wakes:
                stop.wait(min(left, GLANCE))
            elif self._wake.wait(min(left, GLANCE)):
                return

    def _claim(self, free: int) -> list[Job]:
        # In a transaction of its own, so that the jobs are known here before they are ours: if the
        # answer to the commit is lost, they can be looked up.
        pool = self._runner._pool
        claimed: list[Job] = []
        try:
            with pool.connection() as conn, conn.transaction():
                self._claiming = conn
                claimed = sql.claim_jobs(conn, self._runner.uuid, self.kinds, max_jobs=free)
        except psycopg.Error as error:
            if not claimed or not is_away(error):
                raise
            self._runner._outage.failed("claim", error)
            claimed = self._settle(claimed)
        finally:
            self._claiming = None
        self._runner._outage.over("claim")
        return claimed

    def _settle(self, claimed: list[Job]) -> list[Job]:
        """Find out which jobs are ours after the answer to the commit was lost; while it takes."""
        pool = self._runner._pool
        while not self._runner.closing:
            try:
                found = [pool.run(_find(job)) for job in claimed]
            except psycopg.Error:
                time.sleep(GLANCE)
                continue
            return [
                job
                for job, now in zip(claimed, found, strict=True)
                if now is not None
                and now.status is JobStatus.RUNNING
                and (now.runner, now.attempt) == (job.runner, job.attempt)
            ]
        return []  # retiring ends them

    def _take(self, job: Job) -> None:
        body = registry.get(job.kind)
        assert body is not None  # noqa: S101 - checked at the start, and bodies stay
        self._runner._teller.tell(
            RunnerEvent("claimed", job.kind, job.actor, job.uuid, job.attempt)
        )
        try:
            self._runner._adopt(job, body)
        except RuntimeError:
            logger.warning("job %s was claimed during the shutdown, which ends it", job.uuid)

    def _look_for_unattended(self) -> None:
        """Say which kinds wait that no live worker takes; each once, until somebody takes it."""
        self._next_look = time.monotonic() + LOOK_EVERY
        try:
            found = self._runner._pool.run(_unattended, limit=LIMIT)
        except Exception as error:  # noqa: BLE001 - for operators only
            logger.debug("can't look for kinds that nobody takes: %s", brief(error))
            return
        for entry in found:
            if entry.kind not in self._unattended:
                logger.warning(
                    "no live worker takes kind %r: %d waiting, the oldest since %s",
                    entry.kind,
                    entry.ready,
                    entry.oldest_run_at.isoformat(timespec="seconds"),
                    extra={"kind": entry.kind},
                )
        self._unattended = frozenset(entry.kind for entry in found)

    def _complain(self, error: Exception) -> None:
        if is_away(error):
            self._runner._outage.failed("claim", error)
        elif isinstance(error, RunnerNotFound):
            logger.debug("runner %s is being registered anew", self._runner.uuid)
        else:
            logger.error("claiming failed, will try on: %s", brief(error))


def _find(job: Job) -> Callable[[Connection[Any]], Job | None]:
    return lambda conn: sql.find_job(conn, job.uuid)


def _unattended(conn: Connection[Any]) -> list[Waiting]:
    bodies = {body.kind for body in sql.list_sql_kinds(conn)}  # cortex.work takes those
    waiting = sql.list_waiting(conn)
    return [entry for entry in waiting if not entry.workers and entry.kind not in bodies]


class _Ear:
    """Listens for work, and never stops listening: a lost connection is opened again."""

    def __init__(self, runner: Runner, wake: threading.Event) -> None:
        self._runner = runner
        self._wake = wake
        self._stop = threading.Event()
        start_thread(self._run, "pycortex-ear")

    def stop(self) -> None:
        """Listen no more."""
        self._stop.set()

    def _run(self) -> None:
        delay = FIRST_DELAY
        while not self._stop.is_set():
            try:
                with self._runner._open() as conn:
                    with self._runner._watch.limit(conn, LIMIT):
                        _call.listen(conn, "cortex_queue")
                    self._runner._outage.over("listen")
                    delay = FIRST_DELAY
                    self._wake.set()  # what came in while nobody listened
                    self._listen(conn)
            except Exception as error:  # noqa: BLE001 - polling goes on meanwhile
                if self._stop.is_set():
                    return
                self._runner._outage.failed("listen", error)
                self._stop.wait(delay)
                delay = min(2 * delay, LAST_DELAY)

    def _listen(self, conn: Connection[Any]) -> None:
        asked = time.monotonic()
        while not self._stop.is_set():
            for _ in conn.notifies(timeout=1.0, stop_after=1):
                self._wake.set()
            if time.monotonic() - asked > ASK_EVERY:
                with self._runner._watch.limit(conn, LIMIT):
                    conn.execute(b"")
                asked = time.monotonic()
