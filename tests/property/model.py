"""
DESIGN's life of a job in plain Python: what the tables should hold after each call.

No SQL, no clock: a job is silent, due, or its runner dead because a test said so.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from uuid import UUID

ACTIVE = ("queued", "running")


class Refused(Exception):
    """The call ends with this SQLSTATE and changes nothing."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for a kind."""

    max_attempts: int = 1
    requeue: bool = False
    pause: bool = False
    max_running: int | None = None


@dataclass(slots=True)
class Runner:
    """A process: alive until a test says that it is not."""

    uuid: UUID
    beats: bool = True
    retired: bool = False
    lost: list[tuple[UUID, int]] = field(default_factory=list)
    lost_since_beat: list[tuple[UUID, int]] = field(default_factory=list)

    @property
    def alive(self) -> bool:
        return self.beats and not self.retired


@dataclass(slots=True)
class Job:
    """A row of cortex.job, as far as its life goes."""

    uuid: UUID
    number: int
    kind: str
    scope: str | None
    mode: str
    priority: int
    turn: int
    ahead: bool
    runner: UUID | None
    pinned: bool
    status: str = "queued"
    attempt: int = 0
    started: bool = False
    silent: bool = False
    cancel: bool = False
    outcomes: set[tuple[int, str, str]] = field(default_factory=set)

    @property
    def active(self) -> bool:
        return self.status in ACTIVE


class Model:
    """All jobs and runners, and the calls that change them."""

    def __init__(self, kinds: dict[str, Rules]) -> None:
        self.kinds = kinds
        self.jobs: dict[UUID, Job] = {}
        self.runners: dict[UUID, Runner] = {}
        self.numbers = itertools.count()
        self.turns = itertools.count()

    # Looking

    def job(self, uuid: UUID) -> Job:
        if uuid not in self.jobs:
            raise Refused("JC101")
        return self.jobs[uuid]

    def runner(self, uuid: UUID) -> Runner:
        if uuid not in self.runners or self.runners[uuid].retired:
            raise Refused("JC102")
        return self.runners[uuid]

    def in_scope(self, job: Job) -> list[Job]:
        """The other active jobs of its kind and scope."""
        return [
            other
            for other in self.jobs.values()
            if other is not job and other.active and job.scope is not None
            and (other.kind, other.scope) == (job.kind, job.scope)
        ]  # fmt: skip

    def is_abandoned(self, job: Job) -> bool:
        return job.active and job.runner is not None and not self.runners[job.runner].alive

    def is_silent(self, job: Job) -> bool:
        return job.status == "running" and job.silent

    def may_start(self, job: Job) -> bool:
        return (
            job.status == "queued"
            and not job.ahead
            and not any(other.status == "running" for other in self.in_scope(job))
            and self.slots(job.kind) > 0
        )

    def slots(self, kind: str) -> float:
        limit = self.kinds[kind].max_running
        running = sum(job.kind == kind and job.status == "running" for job in self.jobs.values())
        return float("inf") if limit is None else max(limit - running, 0)

    # Producers

    def spawn(
        self, kind: str, scope: str | None, mode: str, *, priority: int = 0, ahead: bool = False,
        runner: UUID | None = None,
    ) -> tuple[UUID | None, bool]:  # fmt: skip
        """The uuid of the job that stands in the way; None: a new one, to be entered by `enter`."""
        if runner is not None:
            self.runner(runner)
        if scope is not None:
            while True:
                there = [
                    job for job in self.jobs.values()
                    if job.active and (job.kind, job.scope) == (kind, scope)
                ]  # fmt: skip
                dead = [job for job in there if self.is_silent(job) or self.is_abandoned(job)]
                if not dead:
                    break
                self.interrupt([job for job in dead if self.is_silent(job)])
                self.interrupt([job for job in dead if self.is_abandoned(job)])
            in_the_way = [job for job in there if job.status == "queued" or mode == "active"]
            if in_the_way:
                return min(in_the_way, key=lambda job: ACTIVE.index(job.status)).uuid, False
        return None, True

    def enter(
        self, uuid: UUID, kind: str, scope: str | None = None, mode: str = "active", *,
        priority: int = 0, ahead: bool = False, runner: UUID | None = None,
    ) -> None:  # fmt: skip
        self.jobs[uuid] = Job(
            uuid, next(self.numbers), kind, scope, mode, priority, next(self.turns), ahead, runner,
            pinned=runner is not None,
        )  # fmt: skip

    def cancel(self, uuid: UUID) -> str:
        job = self.job(uuid)
        if job.status == "queued":
            job.status, job.cancel = "cancelled", True
        elif job.status == "running":
            job.cancel = True
        return job.status

    # Workers

    def claim(self, runner: UUID, kinds: list[str], most: int) -> list[UUID]:
        self.runner(runner)
        taken: list[UUID] = []
        waiting = [job for job in self.jobs.values() if job.runner is None and job.kind in kinds]
        for job in sorted(waiting, key=lambda job: (-job.priority, job.turn, job.number)):
            if len(taken) < most and self.may_start(job):
                self.start(job, runner)
                taken.append(job.uuid)
        return taken

    def set_running(self, uuid: UUID, runner: UUID | None) -> bool:
        if runner is not None:
            self.runner(runner)
        job = self.job(uuid)
        if not self.may_start(job) or (runner and job.runner and job.runner != runner):
            return False
        self.start(job, runner or job.runner)
        return True

    def start(self, job: Job, runner: UUID | None) -> None:
        job.status, job.runner, job.started, job.silent = "running", runner, True, False
        job.attempt += 1

    def step(self, uuid: UUID, attempt: int | None) -> str:
        job = self.job(uuid)
        if job.status != "running" or attempt not in (None, job.attempt):
            return "stop"
        job.silent = False
        return "cancel" if job.cancel else "continue"

    def finish(self, uuid: UUID, status: str, message: str, attempt: int | None) -> bool:
        job = self.job(uuid)
        ours = attempt in (None, job.attempt)
        if ours and job.started and job.status in ("running", "interrupted"):
            if job.status == "interrupted":
                self.forget_loss(job)
            job.status = status
            job.outcomes.add((job.attempt, status, message))
            if status == "failed":
                self.retry(job)
            return True
        if (attempt or job.attempt, status, message) in job.outcomes:
            return True
        if job.attempt > 0 and attempt is not None and (not ours or job.status == "queued"):
            raise Refused("JC202")
        if job.status == "queued":
            raise Refused("JC201")
        return False

    def forget_loss(self, job: Job) -> None:
        """The attempt was only slow: its runner need not hear that it was given up."""
        for runner in self.runners.values():
            for lost in (runner.lost, runner.lost_since_beat):
                while (job.uuid, job.attempt) in lost:
                    lost.remove((job.uuid, job.attempt))

    def keep(self, runner: UUID) -> tuple[set[tuple[UUID, str, int]], set[tuple[UUID, str, int]]]:
        """What it must hear, and what it may hear."""
        kept = self.runner(runner)
        cancels = {
            (job.uuid, "cancel", job.attempt)
            for job in self.jobs.values()
            if job.runner == runner and job.status == "running" and job.cancel
        }

        def stops(lost: list[tuple[UUID, int]]) -> set[tuple[UUID, str, int]]:
            return {(uuid, "stop", attempt) for uuid, attempt in lost if uuid in self.jobs}

        must, may = cancels | stops(kept.lost_since_beat), cancels | stops(kept.lost)
        kept.beats, kept.lost_since_beat = True, []
        return must, may

    def retire(self, runner: UUID) -> int:
        if runner not in self.runners:
            raise Refused("JC102")
        self.runners[runner].retired = True
        return self.interrupt([job for job in self.jobs.values() if job.runner == runner])

    # Upkeep

    def reap_silent(self) -> int:
        return self.interrupt([job for job in self.jobs.values() if self.is_silent(job)])

    def reap_orphans(self) -> int:
        return self.interrupt([job for job in self.jobs.values() if self.is_abandoned(job)])

    def sweep(self, runner: UUID | None) -> int:
        if runner is not None and runner not in self.runners:
            raise Refused("JC102")
        return self.interrupt(
            [job for job in self.jobs.values() if runner is None or job.runner == runner]
        )

    def purge(self) -> int:
        over = [uuid for uuid, job in self.jobs.items() if not job.active]
        for uuid in over:
            del self.jobs[uuid]
        return len(over)

    def interrupt(self, jobs: list[Job]) -> int:
        """End all that are active; then those that ran may try again, in order of their age."""
        ended = [job for job in jobs if job.active]
        ran = [job for job in ended if job.status == "running"]
        for job in ended:
            job.status = "interrupted"
            if job.runner is not None:
                for lost in (
                    self.runners[job.runner].lost,
                    self.runners[job.runner].lost_since_beat,
                ):
                    lost.append((job.uuid, job.attempt))
        for job in sorted(ran, key=lambda job: job.number):
            self.retry(job)
        return len(ended)

    def retry(self, job: Job) -> None:
        """Back to the queue, where its kind says so and nobody does its work by now."""
        rules = self.kinds[job.kind]
        if (
            job.cancel
            or job.attempt >= rules.max_attempts
            or (job.status == "interrupted" and not rules.requeue)
            or (job.pinned and job.runner is not None and not self.runners[job.runner].alive)
        ):
            return
        others = self.in_scope(job)
        if any(other.status == "queued" for other in others):
            return
        if job.mode == "active" and others:
            return
        job.status, job.started, job.silent, job.ahead = "queued", False, False, rules.pause
        job.turn = next(self.turns)
        if not job.pinned:
            job.runner = None
