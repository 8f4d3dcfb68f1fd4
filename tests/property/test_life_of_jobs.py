"""
Random sequences of all calls, from several sessions, against a model of DESIGN's life of a job.

After every call the tables hold what the model says, and every answer is the model's. Always the
same sequences, unless PYCORTEX_PROPERTY_EXAMPLES asks for so many others. Sessions attached to jobs
are left out: signals take their own time (see tests/concurrency/test_hard_cancel.py).
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID, uuid4

import psycopg
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from psycopg import Connection
from psycopg.types.json import Jsonb

from tests.cleaning import empty
from tests.concurrency.invariants import assert_invariants
from tests.factories import make_runner
from tests.property.model import Model, Refused, Rules, Runner

EXAMPLES = os.environ.get("PYCORTEX_PROPERTY_EXAMPLES")
SETTINGS = settings(
    max_examples=int(EXAMPLES or 60),
    stateful_step_count=40,
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)

KINDS = {
    "plain": Rules(),
    "patient": Rules(max_attempts=3, requeue=True, pause=True),
    "eager": Rules(max_attempts=3, requeue=True),
    "fragile": Rules(max_attempts=2),
    "narrow": Rules(max_attempts=2, requeue=True, max_running=1),
}
CONFIGURE = """
    select cortex.configure(runner_beat => '1 minute', runner_grace => '1 hour');
    select cortex.configure_kind(
        'patient', max_attempts => 3, on_interrupt => 'requeue', backoff => '1 hour'
    );
    select cortex.configure_kind(
        'eager', max_attempts => 3, on_interrupt => 'requeue', backoff => '0'
    );
    select cortex.configure_kind('fragile', max_attempts => 2, backoff => '0');
    select cortex.configure_kind(
        'narrow', max_attempts => 2, on_interrupt => 'requeue', backoff => '0', max_running => 1
    );
"""
TABLE = """
    select
        j.uuid, j.kind, j.status, j.attempt, j.runner, j.pinned, j.debounce_scope ->> 'a',
        j.priority, j.run_at > clock_timestamp(), j.cancel_requested_at is not null,
        j.started_at is not null and j.attempt > 0, j.finished_at is not null
    from cortex.job as j
    order by j.id
"""

kind = st.sampled_from(list(KINDS))
scope = st.sampled_from([None, "x", "y"])
mode = st.sampled_from(["active", "queued"])
# Which of the jobs or runners that fit, counted from the newest; -1 is one that never was.
place = st.integers(-1, 20)
seldom = st.integers(0, 3).map(lambda number: number == 3)
attempt = st.sampled_from([None, 0, 0, -1])


ACTS: dict[str, tuple[int, dict[str, st.SearchStrategy[Any]]]] = {
    "spawn_a_follow_up": (5, {"kind": kind, "scope": st.just("x"), "mode": st.just("queued")}),
    "spawn_job": (
        8,
        {
            "kind": kind,
            "scope": scope,
            "mode": mode,
            "priority": st.integers(0, 2),
            "ahead": seldom,
            "runner": st.none() | st.none() | place,
        },
    ),
    "spawn_jobs": (1, {"kind": kind, "number": st.integers(0, 3)}),
    "spawn_job_and_roll_back": (1, {"kind": kind, "scope": scope, "mode": mode}),
    "cancel_job": (3, {"job": place, "hard": st.booleans()}),
    "rerun_job": (3, {"job": place}),
    "claim_whatever_is_ready": (8, {"runner": place}),
    "claim_jobs": (
        4,
        {"runner": place, "kinds": st.sets(kind, min_size=1), "most": st.integers(1, 4)},
    ),
    "set_running": (
        5,
        {
            "job": place,
            "runner": st.none() | place,
            "status": st.sampled_from(["queued", "queued", ""]),
        },
    ),
    "step": (
        5,
        {"job": place, "attempt": attempt, "status": st.sampled_from(["running", "running", ""])},
    ),
    "finish_a_running_job": (
        9,
        {"job": place, "status": st.sampled_from(["succeeded", "failed", "failed", "failed"])},
    ),
    "finish_an_interrupted_job": (
        5,
        {"job": place, "status": st.sampled_from(["succeeded", "failed"])},
    ),
    "finish_job": (
        6,
        {
            "job": place,
            "attempt": attempt,
            "message": st.sampled_from(["a", "a", "b"]),
            "status": st.sampled_from(["succeeded", "failed", "failed", "cancelled"]),
        },
    ),
    "a_runner_comes": (1, {}),
    "a_runner_falls_silent": (3, {"runner": place}),
    "keep_runner": (4, {"runner": place}),
    "retire_runner": (1, {"runner": place, "really": seldom}),
    "a_body_falls_silent": (7, {"job": place}),
    "a_job_falls_due": (5, {"job": place}),
    "reap_stale": (4, {}),
    "interrupt_orphans": (2, {"runner": place, "everything": seldom}),
    "maintain": (3, {}),
    "list_recent": (2, {"active_only": st.booleans()}),
    "purge_jobs": (1, {"really": seldom}),
}
"""What a session may do: how often, with which arguments."""

WEIGHTED = [name for name, (weight, _) in ACTS.items() for _ in range(weight)]

AHEAD = "2100-01-01 00:00:00+00"


def as_json(scope: str | None) -> Jsonb | None:
    return None if scope is None else Jsonb({"a": scope})


class LifeOfJobs(RuleBasedStateMachine):
    """Each rule makes one call in one of the sessions, and holds it to the model's answer."""

    url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        empty(self.url)
        self.sessions: list[Connection[Any]] = [
            psycopg.connect(self.url, autocommit=True) for _ in range(3)
        ]
        self.turn = 0
        self.conn.execute(CONFIGURE)
        self.model = Model(KINDS)
        self.known: list[UUID] = []
        for _ in range(2):
            self.a_runner_comes()
        for kind in KINDS:
            self.spawn_job(kind, "x", "queued", 0, ahead=False, runner=None)

    def teardown(self) -> None:
        self.the_counts_are_as_the_model_says()
        assert_invariants(self.conn)
        for conn in self.sessions:
            conn.close()

    # Each call comes from another session.

    @property
    def conn(self) -> Connection[Any]:
        self.turn += 1
        return self.sessions[self.turn % len(self.sessions)]

    def ask(self, statement: str, *params: Any) -> list[tuple[Any, ...]]:
        return self.conn.execute(f"select {statement}", params).fetchall()

    def agree(self, expect: Callable[[], Any], call: Callable[[], Any]) -> Any:
        """Both give the same answer, or refuse in the same way; the answer, None if refused."""
        before = copy.deepcopy(self.model.jobs), copy.deepcopy(self.model.runners)
        try:
            expected: Any = expect()
        except Refused as refusal:
            expected = refusal.sqlstate
            self.model.jobs, self.model.runners = before
        refused = False
        try:
            answer = call()
        except psycopg.Error as error:
            answer, refused = error.sqlstate, True
        assert answer == expected
        return None if refused else answer

    def job_at(self, place: int, status: str = "") -> UUID:
        """One of the jobs in that state, else of all, gone ones too."""
        fitting = [uuid for uuid, job in self.model.jobs.items() if job.status == status]
        return self._pick(place, fitting or self.known)

    def runner_at(self, place: int) -> UUID:
        """One of the runners that haven't retired, and now and then of those that have."""
        runners = [uuid for uuid, runner in self.model.runners.items() if not runner.retired]
        return self._pick(place, list(self.model.runners) if place > 17 else runners)

    def _pick(self, place: int, among: list[UUID]) -> UUID:
        return uuid4() if place < 0 or not among else among[-1 - place % len(among)]

    def attempt_of(self, uuid: UUID, offset: int | None) -> int | None:
        if offset is None or uuid not in self.model.jobs:
            return None
        return max(self.model.jobs[uuid].attempt + offset, 1)

    @rule(data=st.data(), name=st.sampled_from(WEIGHTED))
    def act(self, data: st.DataObject, name: str) -> None:
        """A rule for each act would be as likely as any other; some matter more."""
        arguments = {key: data.draw(values, key) for key, values in ACTS[name][1].items()}
        getattr(self, name)(**arguments)

    # Producers

    def spawn_a_follow_up(self, kind: str, scope: str, mode: str) -> None:
        self.spawn_job(kind, scope, mode, 0, ahead=False, runner=None)

    def spawn_job(
        self,
        kind: str,
        scope: str | None,
        mode: str,
        priority: int,
        ahead: bool,
        runner: int | None,
    ) -> None:
        owner = None if runner is None else self.runner_at(runner)
        more = {"priority": priority, "ahead": ahead, "runner": owner}
        self._spawn(
            lambda: self.ask(
                "uuid, created from cortex.spawn_job(%s, debounce_scope => %s, debounce_on => %s,"
                " priority => %s, run_at => %s, runner => %s)",
                kind, as_json(scope), mode, priority, AHEAD if more["ahead"] else None, owner,
            ),
            kind, scope, mode, **more,
        )  # fmt: skip

    def _spawn(
        self, call: Callable[[], Any], kind: str, scope: str | None, mode: str, **more: Any
    ) -> None:
        told: list[tuple[UUID, bool]] = []

        def answer() -> Any:
            told.extend(call())
            [(uuid, created)] = told
            return (None if created else uuid), created

        if self.agree(lambda: self.model.spawn(kind, scope, mode, **more), answer) and told[0][1]:
            self.model.enter(told[0][0], kind, scope, mode, **more)
            self.known.append(told[0][0])

    def spawn_jobs(self, kind: str, number: int) -> None:
        rows = self.ask("cortex.spawn_jobs(%s, array_fill('{}'::jsonb, array[%s]))", kind, number)
        assert len(rows) == number
        for (uuid,) in rows:
            self.model.enter(uuid, kind)
            self.known.append(uuid)

    def spawn_job_and_roll_back(self, kind: str, scope: str | None, mode: str) -> None:
        conn = self.conn
        with conn.transaction(force_rollback=True):
            conn.execute(
                "select cortex.spawn_job(%s, debounce_scope => %s, debounce_on => %s)",
                [kind, as_json(scope), mode],
            )

    def cancel_job(self, job: int, hard: bool) -> None:
        uuid = self.job_at(job)
        self.agree(
            lambda: self.model.cancel(uuid),
            lambda: self.ask("cortex.cancel_job(%s, hard => %s)", uuid, hard)[0][0],
        )

    def rerun_job(self, job: int) -> None:
        old = self.model.jobs.get(uuid := self.job_at(job))
        if old is None or old.active:
            expected = "JC101" if old is None else "JC201"
            self.agree(lambda: expected, lambda: self.ask("cortex.rerun_job(%s)", uuid))
            return
        self._spawn(
            lambda: self.ask("uuid, created from cortex.rerun_job(%s)", uuid),
            old.kind, old.scope, old.mode, priority=old.priority,
        )  # fmt: skip

    # Workers

    def claim_whatever_is_ready(self, runner: int) -> None:
        self._claim(runner, set(KINDS), 9)

    def claim_jobs(self, runner: int, kinds: set[str], most: int) -> None:
        self._claim(runner, kinds, most)

    def _claim(self, runner: int, kinds: set[str], most: int) -> None:
        uuid, asked = self.runner_at(runner), sorted(kinds)
        self.agree(
            lambda: self.model.claim(uuid, asked, most),
            lambda: [
                job
                for (job,) in self.ask("uuid from cortex.claim_jobs(%s, %s, %s)", uuid, asked, most)
            ],
        )

    def set_running(self, job: int, runner: int | None, status: str) -> None:
        uuid, owner = self.job_at(job, status), None if runner is None else self.runner_at(runner)
        self.agree(
            lambda: self.model.set_running(uuid, owner),
            lambda: self.ask("cortex.set_running(%s, %s)", uuid, owner)[0][0],
        )

    def step(self, job: int, attempt: int | None, status: str) -> None:
        uuid = self.job_at(job, status)
        given = self.attempt_of(uuid, attempt)
        self.agree(
            lambda: self.model.step(uuid, given),
            lambda: self.ask("cortex.step(%s, 1, attempt => %s)", uuid, given)[0][0],
        )

    def finish_a_running_job(self, job: int, status: str) -> None:
        self._finish(self.job_at(job, "running"), 0, "a", status)

    def finish_an_interrupted_job(self, job: int, status: str) -> None:
        self._finish(self.job_at(job, "interrupted"), 0, "a", status)

    def finish_job(self, job: int, attempt: int | None, message: str, status: str) -> None:
        self._finish(self.job_at(job), attempt, message, status)

    def _finish(self, uuid: UUID, attempt: int | None, message: str, status: str) -> None:
        given = self.attempt_of(uuid, attempt)
        self.agree(
            lambda: self.model.finish(uuid, status, message, given),
            lambda: self.ask(
                "cortex.finish_job(%s, %s, %s, attempt => %s)", uuid, status, message, given
            )[0][0],
        )

    # Runners

    def a_runner_comes(self) -> None:
        uuid = make_runner(self.conn)
        self.model.runners[uuid] = Runner(uuid)

    def a_runner_falls_silent(self, runner: int) -> None:
        uuid = self.runner_at(runner)
        self.conn.execute(
            "update cortex.runner set seen_at = seen_at - interval '2 hours' where uuid = %s",
            [uuid],
        )
        if uuid in self.model.runners:
            self.model.runners[uuid].beats = False

    def keep_runner(self, runner: int) -> None:
        uuid = self.runner_at(runner)
        bounds = []

        def expect() -> str:
            bounds.append(self.model.keep(uuid))
            return "heard"

        def beat() -> str:
            heard = self.ask("job, verdict, attempt from cortex.keep_runner(%s)", uuid)
            if bounds:
                must, may = bounds[0]
                assert must <= set(heard) <= may
                assert len(set(heard)) == len(heard)
            return "heard"

        self.agree(expect, beat)

    def retire_runner(self, runner: int, really: bool) -> None:
        uuid = self.runner_at(runner) if really else uuid4()
        self.agree(
            lambda: self.model.retire(uuid),
            lambda: self.ask("cortex.retire_runner(%s)", uuid)[0][0],
        )

    # Upkeep, and time

    def a_body_falls_silent(self, job: int) -> None:
        uuid = self.job_at(job, "running")
        self.conn.execute(
            "update cortex.job set updated_at = updated_at - interval '3 hours'"
            " where uuid = %s and status = 'running'", [uuid],
        )  # fmt: skip
        if (row := self.model.jobs.get(uuid)) and row.status == "running":
            row.silent = True

    def a_job_falls_due(self, job: int) -> None:
        uuid = self.job_at(job, "queued")
        self.conn.execute(
            "update cortex.job set run_at = clock_timestamp()"
            " where uuid = %s and run_at > clock_timestamp()", [uuid],
        )  # fmt: skip
        if (row := self.model.jobs.get(uuid)) and row.ahead:
            row.ahead, row.turn = False, next(self.model.turns)

    def reap_stale(self) -> None:
        self.agree(self.model.reap_silent, lambda: self.ask("cortex.reap_stale()")[0][0])

    def interrupt_orphans(self, runner: int, everything: bool) -> None:
        uuid = None if everything else self.runner_at(runner)
        self.agree(
            lambda: self.model.sweep(uuid),
            lambda: self.ask("cortex.interrupt_orphans(%s)", uuid)[0][0],
        )

    def maintain(self) -> None:
        self.agree(
            lambda: (True, self.model.reap_orphans(), self.model.reap_silent(), 0, 0),
            lambda: self.ask("ran, orphaned, stale, overdue, purged from cortex.maintain()")[0],
        )

    def list_recent(self, active_only: bool) -> None:
        def expect() -> list[UUID]:
            self.model.reap_orphans()
            self.model.reap_silent()
            jobs = [job for job in self.model.jobs.values() if job.active or not active_only]
            return [job.uuid for job in sorted(jobs, key=lambda job: -job.number)]

        self.agree(
            expect,
            lambda: [
                job for (job,) in self.ask("uuid from cortex.list_recent(%s, 1000)", active_only)
            ],
        )

    def purge_jobs(self, really: bool) -> None:
        if not really:
            assert self.ask("cortex.purge_jobs()") == [(0,)]
            return
        self.agree(self.model.purge, lambda: self.ask("cortex.purge_jobs('0')")[0][0])

    # What must hold after each of them

    @invariant()
    def the_table_is_as_the_model_says(self) -> None:
        model = [
            (
                job.uuid, job.kind, job.status, job.attempt, job.runner, job.pinned, job.scope,
                job.priority, job.ahead, job.cancel, job.started, not job.active,
            )
            for job in sorted(self.model.jobs.values(), key=lambda job: job.number)
        ]  # fmt: skip
        assert self.conn.execute(TABLE).fetchall() == model

    @invariant()
    def the_runners_are_as_the_model_says(self) -> None:
        alive = {uuid for (uuid,) in self.ask("uuid from cortex.runners where alive")}
        assert alive == {uuid for uuid, runner in self.model.runners.items() if runner.alive}

    def the_counts_are_as_the_model_says(self) -> None:
        counted = self.ask("kind, status, jobs from cortex.status_counts() where jobs > 0")
        counts: dict[tuple[str, str], int] = {}
        for job in self.model.jobs.values():
            counts[job.kind, job.status] = counts.get((job.kind, job.status), 0) + 1
        assert {(kind, status): jobs for kind, status, jobs in counted} == counts


def test_any_sequence_of_calls_leaves_the_tables_as_the_model_says(database):
    """B03, D03, D06, D12, A10, A12, Q02 and their like, in sequences that nobody thought of."""
    machine = type("Machine", (LifeOfJobs,), {"url": database})

    run_state_machine_as_test(machine, settings=SETTINGS)
