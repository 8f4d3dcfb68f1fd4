"""Many workers take from one queue: every job once, in order, never two of a scope at a time."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Connection

from tests.concurrency.invariants import assert_invariants
from tests.concurrency.parallel import at_once, retried, scalar, sessions, waiting

CLAIM = "select j.uuid from cortex.claim_jobs(%s, array['race'], %s) as j"
ROOT = Path(__file__).parents[2]


def claim(conn: Connection[Any], runner: UUID, most: int = 1) -> list[UUID]:
    return [uuid for (uuid,) in conn.execute(CLAIM, [runner, most])]


def test_gives_200_jobs_to_8_processes_once_each(database, committed):
    """Case B06."""
    committed.conn.execute("create table public.execution (job uuid, pid integer)")
    jobs = {committed.make_job(kind="race") for _ in range(200)}
    command = [sys.executable, "-m", "tests.concurrency.claimer", database, "ready"]
    workers = [
        subprocess.Popen(
            command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(8)
    ]

    try:
        for worker in workers:
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        codes = [worker.wait(60) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()

    ran = committed.conn.execute("select job, pid from public.execution").fetchall()
    assert codes == [0] * 8
    assert len(ran) == 200
    assert {job for job, _ in ran} == jobs
    assert (
        scalar(committed.conn, "select count(*) from cortex.job where status = 'succeeded'") == 200
    )
    assert_invariants(committed.conn)


def test_takes_greater_priorities_first_however_many_take(database, committed):
    """Each batch is one moment: nothing that it left behind had a greater priority."""
    runner = committed.make_runner()
    priorities = [number % 7 for number in range(70)]
    random.Random(7).shuffle(priorities)
    rank = {committed.make_job(kind="race", priority=priority): priority for priority in priorities}

    with sessions(database, 7, autocommit=True) as conns:
        batches = [
            at_once([lambda conn=conn: claim(conn, runner) for conn in conns]) for _ in range(10)
        ]

    taken = [[rank[uuid] for one in batch for uuid in one] for batch in batches]
    assert [sorted(batch, reverse=True) for batch in taken] == [
        sorted(priorities, reverse=True)[start : start + 7] for start in range(0, 70, 7)
    ]


def test_takes_the_older_first_within_a_priority(connect, committed):
    runner = committed.make_runner()
    younger = committed.make_job(kind="race", silent_for="1 minute")
    older = committed.make_job(kind="race", silent_for="2 minutes")
    urgent = committed.make_job(kind="race", priority=1)

    taken = claim(connect(autocommit=True), runner, 3)

    assert taken == [urgent, older, younger]


def test_goes_round_jobs_that_another_worker_is_taking(connect, committed):
    runner = committed.make_runner()
    first, second = committed.make_job(kind="race"), committed.make_job(kind="race")
    rival, worker = connect(), connect(autocommit=True)
    assert claim(rival, runner) == [first]

    worker.execute("set lock_timeout = '1s'")
    taken = claim(worker, runner, 2)

    assert taken == [second]


def test_leaves_a_job_to_others_when_its_claim_is_rolled_back(connect, committed):
    runner = committed.make_runner()
    job = committed.make_job(kind="race")
    rival = connect()
    claim(rival, runner)
    rival.rollback()

    assert claim(connect(autocommit=True), runner) == [job]


def test_leaves_a_follow_up_alone_until_the_end_before_it_is_committed(connect, committed):
    runner = committed.make_runner()
    before = committed.make_job("running", kind="race", debounce_scope={})
    follow_up = committed.make_job(kind="race", debounce_scope={}, debounce_on="queued")
    body, worker = connect(), connect(autocommit=True)

    body.execute("select cortex.finish_job(%s, 'succeeded')", [before])
    early = claim(worker, runner)
    body.commit()
    later = claim(worker, runner)

    assert early == []
    assert later == [follow_up]


def test_gives_a_follow_up_to_one_of_many_when_the_job_before_it_ends(database, connect, committed):
    runner = committed.make_runner()
    body = connect(autocommit=True)
    with sessions(database, 6, autocommit=True) as conns:
        for number in range(20):
            scope = {"round": number}
            before = committed.make_job("running", kind="race", debounce_scope=scope)
            follow_up = committed.make_job(kind="race", debounce_scope=scope, debounce_on="queued")

            *taken, _ = at_once(
                [
                    *(lambda conn=conn: claim(conn, runner, 5) for conn in conns),
                    lambda before=before: body.execute(
                        "select cortex.finish_job(%s, 'succeeded')", [before]
                    ),
                ]
            )
            taken.append(claim(body, runner, 5))

            assert [uuid for one in taken for uuid in one] == [follow_up]
    assert_invariants(committed.conn)


def test_takes_a_job_that_waits_no_more_only_once(connect, committed):
    """set_running against claim_jobs, on one row."""
    runner = committed.make_runner()
    first, second = connect(autocommit=True), connect(autocommit=True)
    for _ in range(50):
        job = committed.make_job(kind="race")

        claimed, started = at_once(
            [
                lambda: claim(first, runner),
                lambda job=job: scalar(second, "select cortex.set_running(%s, %s)", [job, runner]),
            ]
        )

        assert started == (claimed == [])
    assert_invariants(committed.conn)


def test_never_runs_two_of_a_scope_side_by_side(database, committed):
    """Claimers, starters, finishers and spawners on five scopes: the history shows no overlap."""
    runner = committed.make_runner()

    def hammer(conn: Connection[Any], seed: int) -> int:
        dice = random.Random(seed)
        mine: list[UUID] = []
        for _ in range(150):
            what = dice.random()
            if what < 0.4:
                conn.execute(
                    "select cortex.spawn_job("
                    "'race', debounce_scope => %s::jsonb, debounce_on => %s)",
                    [
                        f'{{"scope": {dice.randrange(5)}}}',
                        dice.choice(["queued", "queued", "active"]),
                    ],
                )
            elif what < 0.7:
                mine += claim(conn, runner, dice.randint(1, 3))
            elif what < 0.8:
                row = conn.execute(
                    "select j.uuid from cortex.jobs as j where j.status = 'queued' limit 1"
                ).fetchone()
                if row and retried(
                    conn,
                    lambda row=row: scalar(
                        conn, "select cortex.set_running(%s, %s)", [row[0], runner]
                    ),
                ):
                    mine.append(row[0])
            elif mine:
                conn.execute(
                    "select cortex.finish_job(%s, %s)",
                    [mine.pop(0), dice.choice(["succeeded", "failed", "cancelled"])],
                )
        return len(mine)

    with sessions(database, 8, autocommit=True) as conns:
        at_once(
            [lambda conn=conn, seed=seed: hammer(conn, seed) for seed, conn in enumerate(conns)]
        )

    assert scalar(committed.conn, "select count(*) from cortex.job where attempt > 0") > 20
    assert_invariants(committed.conn)


def test_tells_a_worker_with_a_fixed_snapshot_to_retry(connect, committed):
    """It would otherwise take what somebody took since."""
    runner = committed.make_runner()
    committed.make_job(kind="race")
    late = connect()
    late.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    late.execute("select count(*) from cortex.jobs")
    claim(committed.conn, runner)

    try:
        taken = claim(late, runner)
    except psycopg.errors.SerializationFailure:
        taken = []

    assert taken == []


def test_waits_for_whoever_has_the_row_when_told_to_start_it(connect, committed):
    runner = committed.make_runner()
    job = committed.make_job(kind="race")
    rival, starter = connect(), connect(autocommit=True)
    claim(rival, runner)

    with waiting(
        committed.conn, starter, lambda: scalar(starter, "select cortex.set_running(%s)", [job])
    ) as call:
        rival.commit()

    assert call.result(30) is False
