"""
Every call in random order from eight sessions: no deadlock, no surprise, and the rules still hold.

Case A10. Every public routine of the catalogue is in the mix; one that has no call here fails.
PYCORTEX_SOAK_SECONDS says how long, 30 if it is not set; a failure names the seed,
PYCORTEX_SOAK_SEED plays the same calls again (how they interleave is still the machine's).
"""

from __future__ import annotations

import itertools
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import Connection, IsolationLevel
from psycopg.pq import TransactionStatus

from tests.concurrency.invariants import assert_invariants, most_at_once
from tests.concurrency.parallel import at_once, scalar

SECONDS = float(os.environ.get("PYCORTEX_SOAK_SECONDS", "30"))
SESSIONS = 8
KINDS = ["plain", "retried", "limited", "brief"]
OUTCOMES = ["succeeded", "failed", "cancelled"]
SEVERITIES = ["info", "warning", "error", "fatal", "invalid"]
EXPECTED = {
    "JC101",  # a job that was purged or never was
    "JC102",  # a runner that has retired
    "JC201",  # finished before it started, or attached to one that does not run
    "JC202",  # an attempt that was lost
    "22023",  # a bad argument, given on purpose
    "22004",
    "0A000",  # no pg_cron here
    "40001",  # only told to sessions with a fixed snapshot, see below
    "55000",  # a run of a report that somebody else has begun anew
    "57014",  # a hard cancel of the job that the session is attached to
    "57P01",  # its session was ended after the grace; it comes back as a new one
}
PUBLIC = """
    select n.nspname || '.' || p.proname
    from pg_proc as p
    join pg_namespace as n on n.oid = p.pronamespace
    where has_function_privilege('cortex_admin', p.oid, 'execute')
        and n.nspname in ('cortex', 'corpus')
        and p.proname <> all(%s)
"""
INTERNAL = [path.stem for path in (Path(__file__).parents[2] / "sql" / "internal").glob("*.sql")]
"""Some of them are open because what calls them runs as its caller."""


@dataclass
class Caller:
    """One session that calls at random, and what it remembers."""

    database: str
    level: IsolationLevel
    dice: random.Random
    runners: list[UUID]
    jobs: list[tuple[UUID, int]] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)
    conn: Connection[Any] = field(init=False)

    def open(self) -> None:
        self.conn = psycopg.connect(self.database)
        with suppress(psycopg.errors.InsufficientPrivilege), self.conn.transaction():
            self.conn.execute("set deadlock_timeout = '100ms'")
        self.conn.execute("set lock_timeout = '20s'")
        self.conn.commit()
        self.conn.isolation_level = self.level

    def job(self) -> tuple[UUID, int]:
        if not self.jobs or self.dice.random() < 0.02:
            return uuid4(), 1
        return self.dice.choice(self.jobs[-30:])

    def runner(self) -> UUID:
        return self.dice.choice(self.runners)

    def maybe(self, value: Any, chance: float = 0.5) -> Any:
        return value if self.dice.random() < chance else None

    def scope(self) -> str | None:
        return self.dice.choice([None, "{}", '{"scope": 1}', '{"scope": 2}'])

    def call(self, statement: str, *params: Any) -> list[Any]:
        self.made.update(re.findall(r"\b((?:cortex|corpus)\.\w+)\(", statement))
        cursor = self.conn.execute(statement, params)
        return cursor.fetchall() if cursor.description else []

    # What a session may do. Each is one call, as an application makes it.

    def spawn(self) -> None:
        [(job,)] = self.call(
            "select s.uuid from cortex.spawn_job(%s, 'soak', debounce_scope => %s::jsonb,"
            " debounce_on => %s, run_at => clock_timestamp() + %s::interval, priority => %s,"
            " runner => %s) as s",
            self.dice.choice(KINDS), self.scope(), self.dice.choice(["active", "queued"]),
            self.dice.choice(["-1 second", "0", "20 milliseconds"]), self.dice.randrange(3),
            self.maybe(self.runner(), 0.3),
        )  # fmt: skip
        self.jobs.append((job, self.dice.choice([1, 1, 1, 2])))

    def spawn_many(self) -> None:
        for (job,) in self.call(
            "select cortex.spawn_jobs(%s, array['{}', '{}', '{}']::jsonb[])",
            self.dice.choice(KINDS),
        ):
            self.jobs.append((job, 1))

    def claim(self) -> None:
        kinds = self.dice.sample(KINDS, self.dice.randint(1, len(KINDS)))
        for job, attempt in self.call(
            "select j.uuid, j.attempt from cortex.claim_jobs(%s, %s, %s) as j",
            self.runner(), kinds, self.dice.randint(1, 4),
        ):  # fmt: skip
            self.jobs.append((job, attempt))

    def start(self) -> None:
        self.call("select cortex.set_running(%s, %s)", self.job()[0], self.maybe(self.runner()))

    def step(self) -> None:
        job, attempt = self.job()
        self.call("select cortex.step(%s, 1, attempt => %s)", job, self.maybe(attempt))

    def step_several(self) -> None:
        jobs = [self.job() for _ in range(3)]
        self.call(
            "select s.verdict, s.refusal from cortex.step_jobs(%s, '{1,2,3}', attempt => %s) as s",
            [job for job, _ in jobs], [self.maybe(attempt) for _, attempt in jobs],
        )  # fmt: skip

    def finish(self) -> None:
        job, attempt = self.job()
        self.call(
            "select cortex.finish_job(%s, %s, 'done', attempt => %s)",
            job, self.dice.choice(OUTCOMES), self.maybe(attempt),
        )  # fmt: skip

    def cancel(self) -> None:
        self.call("select cortex.cancel_job(%s, hard => %s)", self.job()[0], self.maybe(True))

    def rerun(self) -> None:
        self.call("select s.uuid from cortex.rerun_job(%s) as s", self.job()[0])

    def attach(self) -> None:
        self.call("select cortex.attach_backend(%s)", self.job()[0])

    def begin(self) -> None:
        job, attempt = self.job()
        self.call("select cortex.begin_body(%s, %s)", job, attempt)

    def note(self) -> None:
        job, attempt = self.job()
        self.call("select cortex.note_end(%s, 'its process was ended', %s)", job, attempt)

    def find(self) -> None:
        self.call("select status from cortex.find_job(%s)", self.job()[0])

    def beat(self) -> None:
        self.call("select verdict from cortex.keep_runner(%s)", self.runner())

    def come_and_go(self) -> None:
        """A new runner takes the place of one that leaves, or dies."""
        [(new,)] = self.call("select cortex.register_runner('soak', 'test.invalid', 1)")
        place = self.dice.randrange(len(self.runners))
        old, self.runners[place] = self.runners[place], new
        if self.dice.random() < 0.7:
            self.call("select cortex.retire_runner(%s)", old)

    def reap(self) -> None:
        self.call("select cortex.reap_stale(%s)", self.maybe("5 milliseconds", 0.7))

    def sweep(self) -> None:
        self.call("select cortex.interrupt_orphans(%s)", self.maybe(self.runner(), 0.9))

    def purge(self) -> None:
        self.call(
            "select cortex.purge_jobs(%s::interval, %s)",
            "500 milliseconds",
            self.dice.choice([1, 50]),
        )

    def maintain(self) -> None:
        self.call("select ran from cortex.maintain()")

    def configure_kind(self) -> None:
        self.call(
            "select cortex.configure_kind('brief', stale_after => %s::interval)",
            self.dice.choice(["1 millisecond", "1 hour"]),
        )

    def configure(self) -> None:
        self.call(
            "select cortex.configure(cancel_grace => %s::interval, queue_timeout => '1 hour')",
            self.dice.choice(["0", "100 milliseconds", "10 seconds"]),
        )

    def populate(self) -> None:
        self.call("select corpus.populate_scope(1, 1, %s)", self.dice.choice(SEVERITIES))

    def populate_in_ranges(self) -> None:
        severity, keeps = self.dice.choice(SEVERITIES), self.dice.random() < 0.5
        [(run,)] = self.call("select run from corpus.begin_run(1, 1, %s, %s)", severity, keeps)
        self.conn.commit()
        each = "keep_range" if keeps else "count_range"
        self.call(f"select corpus.{each}(%s, 1, 100)", run)
        self.conn.commit()
        self.call(f"select corpus.{self.dice.choice(['finish_run', 'drop_run'])}(%s)", run)

    def import_documents(self) -> None:
        entries = self.dice.sample(["a", "b", "c", "d"], 3)
        self.call(
            "select task_id from corpus.put_tasks(1, 1, %s, %s)",
            entries, [self.dice.randint(-5, 0) for _ in entries],
        )  # fmt: skip

    def work(self) -> None:
        self.conn.commit()
        self.conn.autocommit = True
        try:
            self.call("call cortex.work(%s)", self.dice.randint(1, 3))
        finally:
            if not self.conn.closed:
                self.conn.autocommit = False

    def one_of(self, *statements: str) -> list[tuple[Callable[[], None], float]]:
        """Acts that each make one call without arguments worth drawing."""
        return [(lambda statement=statement: self.call(statement), 1) for statement in statements]

    def weighted(self) -> list[tuple[Callable[[], None], float]]:
        return [
            (self.spawn, 40), (self.claim, 30), (self.start, 20), (self.step, 30),
            (self.finish, 30), (self.attach, 10), (self.begin, 4), (self.note, 4),
            (self.cancel, 8), (self.rerun, 4), (self.spawn_many, 2), (self.find, 8), (self.beat, 8),
            (self.come_and_go, 2), (self.reap, 8), (self.sweep, 2), (self.purge, 4),
            (self.maintain, 6), (self.configure_kind, 2), (self.configure, 1),
            (self.populate, 1), (self.populate_in_ranges, 1), (self.work, 2),
            (self.import_documents, 2), (self.step_several, 10),
            *self.one_of(
                "select uuid from cortex.list_recent(true)",
                "select uuid from cortex.list_recent()",
                "select uuid from cortex.list_jobs('{plain,limited}', '{failed,running}')",
                "select uuid from cortex.list_jobs(actor => 'soak', scope => '{}')",
                "select jobs from cortex.purge_plan('1 second')",
                "select cortex.count_recent_with_status('failed')",
                "select jobs from cortex.status_counts()",
                "select cortex.metrics()",
                "select ready from cortex.overview()",
                "select cortex.db_now(), cortex.schema_version(), cortex.cron_entry()",
                "select alive from cortex.runners",
                "select kind from cortex.waiting",
                "select message from cortex.job_events limit 50",
                "select phase from cortex.job_activity",
                "select max_running from cortex.kinds",
                "select created from cortex.spawn_analyze(tables => '{corpus.tasks}')",
                "select created from cortex.spawn_reindex()",
                "select plan from cortex.maintenance_plan('reindex', '{corpus.tasks}')",
                "select created from cortex.spawn_report_refresh()",
                "select created from cortex.spawn_report_populate(1, 1, 'error')",
                "select cortex.report_populate_active(1, 1, 'error')",
                "select count(*) from corpus.report_slice(1, 1, 'error')",
                "select corpus.invalidate_scope(1, 1)",
                "select corpus.invalidate_all()",
                "select ready from corpus.count_now(1, 1, 'error')",
                "select ready from corpus.count_now(1, 1, 'info', budget => '0')",
                "select corpus.slice_is_stale(1, 1, 'error')",
                "select corpus.refresh_slice(1, 1, 'error')",
                "select corpus.clear_runs(batch_size => 10)",
                "select corpus.forget_grains(1, 1)",
                "select corpus.next_width(100, '1 second')",
                "select corpus.open_corpus('soak')",
                "select corpus.open_service('soak')",
                "select cortex.register_sql_kind('embodied', 'cortex.run_refresh_reports')",
                "select created from cortex.spawn_job('embodied')",
                "select cortex.schedule_job('soak', '0 3 * * *', 'plain')",
                "select created from cortex.spawn_scheduled('soak')",
                "select next_run_at from cortex.list_schedules()",
                "select cortex.unschedule_job('soak')",
                "select cortex.schedule_work()",
                "select cortex.unschedule_work()",
                "select cortex.schedule_maintenance()",
                "select cortex.unschedule_maintenance()",
                "select cortex.spawn_job('')",
                "select cortex.step(null, 1)",
                "select cortex.finish_job(null, 'failed')",
                "select cortex.list_recent(max_rows => -1)",
            ),
        ]  # fmt: skip

    def run_until(self, deadline: float) -> None:
        """Every act once, in random order; then as the dice say, until the time is over."""
        self.open()
        acts, weights = zip(*self.weighted(), strict=True)
        deck = self.dice.sample(acts, len(acts))
        while deck or time.monotonic() < deadline:
            [act] = [deck.pop()] if deck else self.dice.choices(acts, weights)
            try:
                act()
                self.told["done"] += 1
            except psycopg.Error as error:
                self.hear(error, act)
            try:
                if self.dice.random() < 0.1:
                    self.conn.rollback()
                else:
                    self.conn.commit()
            except psycopg.Error as error:
                self.hear(error, self.conn.commit)
            # A hard cancel may strike the commit itself, or the rollback.
            while self.conn.info.transaction_status == TransactionStatus.INERROR:
                with suppress(psycopg.Error):
                    self.conn.rollback()
            if self.conn.closed:
                self.open()
        self.conn.close()

    def hear(self, error: psycopg.Error, act: Callable[[], None]) -> None:
        # Between two statements a session that was ended shows only as lost.
        ended = self.conn.closed and error.sqlstate is None
        told = "57P01" if ended else error.sqlstate or repr(error)
        self.told[told] += 1
        if told not in EXPECTED:
            self.told[f"{act!r}: {error}"] += 1


@dataclass(frozen=True)
class Soaked:
    """What eight sessions were told, and which routines they called."""

    told: Counter[str]
    made: Counter[str]


def soak(
    database: str, observer: Connection[Any], levels: list[IsolationLevel], seconds: float
) -> Soaked:
    """Let eight sessions call at random."""
    seed = os.environ.get("PYCORTEX_SOAK_SEED") or str(random.SystemRandom().getrandbits(32))
    print(f"seed {seed}")
    observer.execute(
        "select cortex.configure_kind("
        "'retried', max_attempts => 3, on_interrupt => 'requeue', backoff => '0')"
    )
    observer.execute("select cortex.configure_kind('limited', max_running => 2)")
    observer.execute("select corpus.open_corpus('soak'), corpus.open_service('soak')")
    runners = [
        scalar(observer, "select cortex.register_runner('soak', 'test.invalid', 1)")
        for _ in range(4)
    ]
    callers = [
        Caller(database, level, random.Random(f"{seed} {number}"), runners)
        for number, level in enumerate(itertools.islice(itertools.cycle(levels), SESSIONS))
    ]
    deadline = time.monotonic() + seconds
    at_once(
        [lambda caller=caller: caller.run_until(deadline) for caller in callers],
        limit=seconds + 120,
    )
    soaked = Soaked(
        sum((caller.told for caller in callers), Counter()),
        sum((caller.made for caller in callers), Counter()),
    )
    print(soaked)
    return soaked


def assert_all_went_well(soaked: Soaked, observer: Connection[Any]) -> None:
    assert soaked.told.keys() - EXPECTED == {"done"}
    assert soaked.told["done"] > 100
    assert {name for (name,) in observer.execute(PUBLIC, [INTERNAL])} - soaked.made.keys() == set()
    assert most_at_once(observer, "limited") <= 2
    assert_invariants(observer)


def test_any_order_of_calls_ends_well_in_read_committed(database, connect):
    observer = connect(autocommit=True)

    soaked = soak(database, observer, [IsolationLevel.READ_COMMITTED], SECONDS * 2 / 3)

    assert_all_went_well(soaked, observer)
    assert soaked.told["40001"] == 0


def test_any_order_of_calls_ends_well_in_all_isolation_levels(database, connect):
    observer = connect(autocommit=True)
    levels = [
        IsolationLevel.READ_COMMITTED,
        IsolationLevel.REPEATABLE_READ,
        IsolationLevel.SERIALIZABLE,
    ]

    soaked = soak(database, observer, levels, SECONDS / 3)

    assert_all_went_well(soaked, observer)
