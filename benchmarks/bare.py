"""
What our routines cost beside the bare statement, which is the limit.

The bare statements work on a table of the same columns, defaults, checks and indexes as cortex.job,
with the same rows, in the same database; it has no triggers and no foreign keys. Both sides are
prepared, durable unless said, and find their row by its uuid.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from benchmarks.harness import Sheet, Wanted, fastest, milliseconds, rounds
from benchmarks.server import Bench, fill, make_active
from pycortex import JobProgress, Runner, sql

__all__ = ["TITLE", "WANTED", "run"]

TITLE = "Against the bare statement"
ACTIVE = 200
BATCH = 1000

WANTED = [
    Wanted("step.pgbench", "step / bare UPDATE, durable, pgbench", at_least=0.90),
    Wanted("step.pgbench4", "the same from 4 clients"),
    Wanted("step.psycopg", "step / bare UPDATE, durable, psycopg", at_least=0.90),
    Wanted("step.twin", "the twin pycortex.sql.step / bare UPDATE, durable"),
    Wanted(
        "step.async.pgbench",
        "step, synchronous_commit off / durable bare UPDATE, pgbench",
        at_least=2.5,
    ),
    Wanted("step.runner", "steps a runner writes for one job / durable bare UPDATE", at_least=2.5),
    Wanted(
        "step.coalesced", "steps of a body that its runner takes in / single steps", at_least=15
    ),
    Wanted("step.many", "steps a runner writes for many chatty jobs / single steps"),
    Wanted("step.batch", "steps of 100 jobs in one call / single steps", at_least=15),
    Wanted("step.call", "a step in the body", "µs", at_most=5),
    Wanted("spawn.pgbench", "spawn_job / bare INSERT RETURNING, pgbench", at_least=0.90),
    Wanted("spawn.psycopg", "spawn_job / bare INSERT RETURNING, psycopg", at_least=0.90),
    Wanted("spawn.itself", "spawn_job / INSERT RETURNING into cortex.job itself, with its trigger"),
    Wanted(
        "spawn.new.pgbench",
        "spawn_job, debounced, new / bare INSERT RETURNING, pgbench",
        at_least=0.75,
    ),
    Wanted(
        "spawn.new.psycopg",
        "spawn_job, debounced, new / bare INSERT RETURNING, psycopg",
        at_least=0.75,
    ),
    Wanted(
        "spawn.hit.pgbench", "spawn_job, debounced, hit / SELECT by uuid, pgbench", at_least=0.90
    ),
    Wanted(
        "spawn.hit.psycopg", "spawn_job, debounced, hit / SELECT by uuid, psycopg", at_least=0.90
    ),
    Wanted("spawn.hit.waiting.pgbench", "the same, where the job in its place waits, pgbench"),
    Wanted("spawn.hit.snapshot", "debounced hit under an old snapshot", "ms", at_most=0.2),
    Wanted("spawn.hit.crowd", "the same, where all jobs lived in the scope asked for", "ms"),
    Wanted("spawn.bulk", f"spawn_jobs of {BATCH} / spawn_job, jobs a second", at_least=15),
    Wanted("find.pgbench", "find_job / SELECT by uuid, pgbench", at_least=0.95),
    Wanted("find.psycopg", "find_job / SELECT by uuid, psycopg", at_least=0.95),
]

# The uuid of the nth active job; so the client draws a number, and both sides pay the same for it.
NTH = "lpad(to_hex(:n::integer), 32, '0')::uuid"
DRAW = f"\\set n 1 + 2 * random(0, {ACTIVE // 2 - 1})\n"
DRAW_WAITING = DRAW.replace("1 +", "2 +")

UPDATE = """
update bare.job
set progress_current = {0}, progress_total = {1}, message = {2}, updated_at = clock_timestamp()
where uuid = {3}
"""
STEPS = (
    "select * from cortex.step_jobs("
    "jobs => %s, current => %s, total => %s, message => %s, attempt => %s)"
)
STEP = "select cortex.step(job => {3}, current => {0}, total => {1}, message => {2}, attempt => 1)"
INSERT = """
insert into {0}.job (kind, actor, params, run_at, priority, created_at, updated_at)
values ({1}, {2}, {3}, clock_timestamp(), 0, clock_timestamp(), clock_timestamp())
returning uuid
"""
SPAWN = "select uuid, created from cortex.spawn_job(kind => {0}, actor => {1}, params => {2})"
DEBOUNCED = (
    "select uuid, created from cortex.spawn_job("
    "kind => {0}, actor => {1}, params => {2}, debounce_scope => {3})"
)
SELECT = "select * from bare.job where uuid = {}"
FIND = "select * from cortex.find_job(job => {})"


def run(bench: Bench, sheet: Sheet) -> None:
    """Measure all of it."""
    with bench.database("bare") as url, psycopg.connect(url, autocommit=True) as conn:
        prepare(conn, bench)
        from_psycopg(bench, sheet, url)
        from_pgbench(bench, sheet, url)
        through_runner(bench, sheet, url)
        under_snapshot(bench, sheet)


def prepare(conn: psycopg.Connection[Any], bench: Bench) -> None:
    """Fill both tables with the same."""
    with bench.careless():
        fill(conn, bench.scale.jobs, ACTIVE)
        conn.execute("create schema bare")
        conn.execute("create table bare.job (like cortex.job including all)")
        columns = (
            "uuid, kind, status, progress_current, progress_total, message, actor, params, result,"
            " created_at, updated_at, started_at, finished_at, attempt, debounce_scope"
        )
        conn.execute(
            f"insert into bare.job ({columns}) select {columns} from cortex.job order by id"  # noqa: S608
        )
        conn.execute("vacuum (freeze, analyze) bare.job")


def from_pgbench(bench: Bench, sheet: Sheet, url: str) -> None:
    """The statements alone, with hardly any client."""
    if bench.pgbench_program is None:
        keys = [wanted.key for wanted in WANTED if "pgbench" in wanted.key]
        sheet.skip("this PostgreSQL comes without pgbench", *keys)
        return
    step = ":n::bigint", "100::bigint", "'at work'::text", NTH
    spawn = "'bench'::text", "'ada'::text", "'{\"n\": 1}'::jsonb"
    update = DRAW + UPDATE.format(*step)
    scripts = {
        "update": update,
        "step": DRAW + STEP.format(*step),
        "insert": INSERT.format("bare", *spawn),
        "spawn": SPAWN.format(*spawn),
        "new": "\\set n random(1, 1000000000000)\n"
        + DEBOUNCED.format(*spawn, "jsonb_build_object('n', :n::bigint)"),
    }
    reading = {
        "select": DRAW + SELECT.format(NTH),
        "hit": DRAW + DEBOUNCED.format(*spawn, "jsonb_build_object('n', :n::bigint)"),
        "waiting": DRAW_WAITING + DEBOUNCED.format(*spawn, "jsonb_build_object('n', :n::bigint)"),
        "find": DRAW + FIND.format(NTH),
    }
    calls = bench.scale.transactions
    cells: dict[str, Callable[[], float]] = {
        name: lambda script=script: bench.pgbench(url, script, transactions=calls)
        for name, script in scripts.items()
    }
    cells |= {
        name: lambda script=script: bench.pgbench(url, script, transactions=4 * calls)
        for name, script in reading.items()
    }
    for name in ("update", "step"):
        cells[f"{name}4"] = lambda script=scripts[name]: bench.pgbench(
            url, script, clients=4, transactions=calls // 2
        )
    cells["async"] = lambda: bench.pgbench(
        url, scripts["step"], transactions=3 * calls, settings={"synchronous_commit": "off"}
    )
    found = rounds(bench.scale.rounds, cells)

    def ratio(key: str, over: str, under: str) -> None:
        sheet.ratio(f"{key}.pgbench", found[over], found[under], names=(over, under))

    ratio("step", "step", "update")
    sheet.ratio("step.pgbench4", found["step4"], found["update4"], names=("step", "update"))
    ratio("step.async", "async", "update")
    ratio("spawn", "spawn", "insert")
    ratio("spawn.new", "new", "insert")
    ratio("spawn.hit", "hit", "select")
    ratio("spawn.hit.waiting", "waiting", "select")
    ratio("find", "find", "select")


def from_psycopg(bench: Bench, sheet: Sheet, url: str) -> None:
    """The same from Python, one connection."""
    numbers = itertools.count(1)
    params = Jsonb({"n": 1})
    with psycopg.connect(url, autocommit=True, prepare_threshold=0) as conn:
        cursor = conn.cursor()

        def execute(statement: str, *arguments: Any) -> list[Any]:
            return cursor.execute(statement, arguments).fetchall()

        places = ["%s"] * 5
        bare, itself = (INSERT.format(schema, *places) for schema in ("bare", "cortex"))
        spawn, debounced = SPAWN.format(*places), DEBOUNCED.format(*places)
        select, find = SELECT.format("%s"), FIND.format("%s")
        bulk = "select * from cortex.spawn_jobs(kind => %s, actor => %s, params => %s)"
        many = [Jsonb({"n": n}) for n in range(BATCH)]
        works: dict[str, Callable[[], object]] = {
            "update": lambda: beat(cursor, UPDATE, next(numbers)),
            "step": lambda: beat(cursor, STEP, next(numbers)),
            "twin": lambda: sql.step(
                conn, running(), next(numbers), 100, message="at work", attempt=1
            ),
            "insert": lambda: execute(bare, "bench", "ada", params),
            "itself": lambda: execute(itself, "bench", "ada", params),
            "spawn": lambda: execute(spawn, "bench", "ada", params),
            "new": lambda: execute(
                debounced, "bench", "ada", params, Jsonb({"k": next(numbers)})
            ),
            "select": lambda: execute(select, running()),
            "hit": lambda: execute(
                debounced, "bench", "ada", params, Jsonb({"n": running().int})
            ),
            "find": lambda: execute(find, running()),
        }  # fmt: skip
        cells: dict[str, Callable[[], float]] = {
            name: lambda work=work: fastest(work, bench.scale.cell) for name, work in works.items()
        }
        cells["bulk"] = lambda: (
            BATCH
            * fastest(lambda: execute(bulk, "bench", "ada", many), bench.scale.cell, at_least=2)
        )
        jobs = [UUID(int=1 + 2 * n) for n in range(ACTIVE // 2)]
        each = len(jobs)

        def beat_all() -> None:
            number = next(numbers)
            execute(STEPS, jobs, [number] * each, [100] * each, ["at work"] * each, [1] * each)

        cells["steps"] = lambda: each * fastest(beat_all, bench.scale.cell, at_least=2)
        found = rounds(bench.scale.rounds, cells)
    for key, over, under in (
        ("step.psycopg", "step", "update"),
        ("step.twin", "twin", "update"),
        ("spawn.psycopg", "spawn", "insert"),
        ("spawn.itself", "spawn", "itself"),
        ("spawn.new.psycopg", "new", "insert"),
        ("spawn.hit.psycopg", "hit", "select"),
        ("find.psycopg", "find", "select"),
        ("spawn.bulk", "bulk", "spawn"),
        ("step.batch", "steps", "step"),
    ):
        sheet.ratio(key, found[over], found[under], names=(over, under))


def running() -> UUID:
    """One of the running jobs."""
    return UUID(int=1 + 2 * random.randrange(ACTIVE // 2))  # noqa: S311 - no secret


def beat(cursor: psycopg.Cursor[Any], statement: str, number: int) -> None:
    """Send one heartbeat."""
    named = statement.format("%(number)s", "%(total)s", "%(message)s", "%(job)s")
    cursor.execute(named, {"number": number, "total": 100, "message": "at work", "job": running()})


def chatter(url: str, jobs: int, pause: float, seconds: float) -> float:
    """
    Have a runner write the steps of jobs that step all the time.

    Returns:
        Rows written a second, as the server counts them.
    """
    go, stop = threading.Event(), threading.Event()

    def body(progress: JobProgress) -> None:
        go.wait(60)
        for number in itertools.count():
            progress.step(number, message="at work")
            if stop.is_set():
                return
            time.sleep(pause)

    before = updates(url)
    with Runner(url, max_workers=jobs, step_interval=0.0, grace=30.0) as runner:
        for _ in range(jobs):
            runner.spawn("chatter", body)
        go.set()
        began = time.perf_counter()
        time.sleep(seconds)
        stop.set()
        spent = time.perf_counter() - began
    # The sessions are closed, so all is counted; each job was started and finished too.
    return max(1, updates(url) - before - 2 * jobs) / spent


def updates(url: str) -> int:
    """How many rows of cortex.job were written anew, as soon as the count stands still."""
    with psycopg.connect(url, autocommit=True) as conn:
        last = -1
        pause = 0.1 if conn.info.server_version >= 15_00_00 else 0.7  # counts come by a file there
        while True:
            [row] = conn.execute(
                "select n_tup_upd from pg_stat_user_tables where relid = 'cortex.job'::regclass"
            ).fetchall()
            if row[0] == last:
                return int(last)
            last = row[0]
            time.sleep(pause)


def through_runner(bench: Bench, sheet: Sheet, url: str) -> None:
    """Heartbeats as they reach the table when a runner writes them, counted by the server."""
    scale = bench.scale
    with psycopg.connect(url, autocommit=True, prepare_threshold=0) as conn:
        cursor = conn.cursor()
        numbers = itertools.count(1)

        def update() -> float:
            return fastest(lambda: beat(cursor, UPDATE, next(numbers)), scale.cell)

        def step() -> float:
            return fastest(lambda: beat(cursor, STEP, next(numbers)), scale.cell)

        calls: list[float] = []

        def taken() -> float:
            calls.append(0.0)
            with Runner(url, max_workers=1) as runner:
                handle = runner.spawn("stepper", lambda progress: stepping(progress, scale.cell))
                job = handle.wait(timeout=60)
            assert isinstance(job.result, dict)  # noqa: S101
            calls[-1] = job.result["microseconds"]
            return float(job.result["rate"])

        cells = {
            "update": update,
            "step": step,
            "taken": taken,
            # The bodies leave the processor to the writer.
            "written": lambda: chatter(url, 1, 0.0002, 2 * scale.cell),
            "many": lambda: chatter(url, scale.chatty, 0.01, 2 * scale.cell),
        }
        found = rounds(scale.rounds, cells)
    sheet.ratio("step.runner", found["written"], found["update"], names=("written", "update"))
    sheet.ratio(
        "step.many", found["many"], found["step"], names=("written", "step"),
        note=f"{scale.chatty} jobs",
    )  # fmt: skip
    sheet.ratio("step.coalesced", found["taken"], found["step"], names=("taken in", "step"))
    sheet.values("step.call", calls[-scale.rounds :])


def stepping(progress: JobProgress, seconds: float) -> dict[str, float]:
    """Step in a tight loop; say how often a second, and what one call took."""
    calls = 0
    started = time.perf_counter()
    while (spent := time.perf_counter() - started) < seconds:
        for _ in range(1000):
            calls += 1
            progress.step(calls, 10**9, "at work")
    return {"rate": calls / spent, "microseconds": 1e6 * spent / calls}


def under_snapshot(bench: Bench, sheet: Sheet) -> None:
    """A hit when nothing that died can be removed, since somebody might still look at it."""
    scale = bench.scale
    for key, crowded in (("spawn.hit.snapshot", False), ("spawn.hit.crowd", True)):
        with (
            bench.database("lives") as lives,
            psycopg.connect(lives) as holder,
            psycopg.connect(lives, autocommit=True, prepare_threshold=0) as conn,
        ):
            make_active(conn, ACTIVE)
            conn.execute("vacuum (analyze) cortex.job")
            holder.execute("set transaction isolation level repeatable read")
            holder.execute("select count(*) from cortex.job")
            # Each comer looks at all that died in its scope, so this takes their number squared.
            lives = scale.lives // 50 if crowded else scale.lives
            live(conn, lives, crowded=crowded)
            found = rounds(
                scale.rounds,
                {
                    "hit": partial(time_hit, conn, scale.calls),
                    "select": partial(time_select, conn, scale.calls),
                },
            )
            sheet.values(
                key, found["hit"], parts={"SELECT by uuid, ms": found["select"]},
                note=f"{lives:,} lives",
            )  # fmt: skip


def time_hit(conn: psycopg.Connection[Any], calls: int) -> float:
    """Milliseconds of a call that finds the first active job in its place."""
    query, scope = DEBOUNCED.format(*["%s"] * 4), Jsonb({"n": 1})
    return milliseconds(lambda: conn.execute(query, ["bench", "ada", scope, scope]), calls)


def time_select(conn: psycopg.Connection[Any], calls: int) -> float:
    """Milliseconds of reading it."""
    query, job = "select * from cortex.job where uuid = %s", UUID(int=1)
    return milliseconds(lambda: conn.execute(query, [job]), calls)


def live(conn: psycopg.Connection[Any], lives: int, *, crowded: bool) -> None:
    """
    Let debounced jobs of the kind that is asked for come, run and go, some at a time.

    In scopes of their own; or one by one in the scope that is asked for, which the job that stands
    there leaves meanwhile.
    """
    chunk = 1 if crowded else 200
    first = UUID(int=1)
    conn.execute("set session_replication_role = replica")
    conn.execute("set synchronous_commit = off")
    if crowded:
        conn.execute("update cortex.job set debounce_scope = null where uuid = %s", [first])
    conn.execute(
        f"""
        do $$
        declare
            v_ids bigint[];
        begin
            for v_part in 1..{lives // chunk} loop
                with made as (
                    insert into cortex.job (kind, params, debounce_scope)
                    select 'bench', '{{}}', jsonb_build_object(
                        'n', {"1" if crowded else f"1000000 + {chunk} * v_part + g.n"}
                    )
                    from generate_series(1, {chunk}) as g (n)
                    returning id
                )
                select array_agg(id) into v_ids from made;
                update cortex.job
                set status = 'running', attempt = 1, started_at = clock_timestamp()
                where id = any(v_ids);
                update cortex.job
                set status = 'succeeded', finished_at = clock_timestamp()
                where id = any(v_ids);
                commit;
            end loop;
        end
        $$
        """  # noqa: S608 - numbers of ours
    )
    if crowded:
        conn.execute(
            "update cortex.job set debounce_scope = %s where uuid = %s", [Jsonb({"n": 1}), first]
        )
    conn.execute("reset session_replication_role")
    conn.execute("reset synchronous_commit")
