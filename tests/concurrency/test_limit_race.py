"""A kind's max_running under many workers at once: never one more, in any isolation level."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection, IsolationLevel

from tests.concurrency.invariants import assert_invariants, most_at_once
from tests.concurrency.parallel import at_once, scalar, sessions, waiting

LIMIT = 3
WORKERS = 8
SECONDS = 4
CLAIM = "select j.uuid, j.attempt from cortex.claim_jobs(%s, array['race', 'open'], %s) as j"
START = "select cortex.set_running(%s, %s)"
RUNNING = "select count(*) from cortex.job where kind = 'race' and status = 'running'"


@pytest.fixture
def queue(committed) -> Connection[Any]:
    """Plenty of limited jobs, and some of a kind without a limit."""
    committed.conn.execute("select cortex.configure_kind('race', max_running => %s)", [LIMIT])
    committed.conn.execute(
        "select cortex.spawn_jobs(k.kind, array_fill('{}'::jsonb, array[k.jobs]))"
        " from (values ('race', 3000), ('open', 200)) as k (kind, jobs)"
    )
    return committed.conn


def hammer(
    conn: Connection[Any], runner: UUID, dice: random.Random, own: list[UUID], deadline: float
) -> tuple[int, int]:
    """Claim, or start one of *own*, look how many run, and end it; the most that were seen."""
    most, done = 0, 0
    while time.monotonic() < deadline:
        try:
            if own and dice.random() < 0.3:
                job = own[-1]
                claimed = [(own.pop(), 1)] if scalar(conn, START, [job, runner]) else []
            else:
                claimed = conn.execute(CLAIM, [runner, dice.randint(1, 4)]).fetchall()
            conn.commit()
            most = max(most, scalar(conn, RUNNING))
            conn.commit()
        except psycopg.errors.SerializationFailure:
            conn.rollback()
            continue
        for job, _ in claimed:
            end(conn, job, dice.choice(["succeeded", "failed", "cancelled"]))
            done += 1
    return most, done


def end(conn: Connection[Any], job: UUID, status: str) -> None:
    while True:
        try:
            conn.execute("select cortex.finish_job(%s, %s)", [job, status])
            conn.commit()
            return
        except psycopg.errors.SerializationFailure:
            conn.rollback()


@pytest.mark.parametrize(
    "levels",
    [
        [IsolationLevel.READ_COMMITTED],
        [
            IsolationLevel.READ_COMMITTED,
            IsolationLevel.REPEATABLE_READ,
            IsolationLevel.SERIALIZABLE,
        ],
    ],
    ids=["read committed", "mixed"],
)
def test_never_runs_more_than_the_limit(database, committed, queue, levels):
    """Claims and own starts from eight sessions, judged by what each sees and by the history."""
    runners = [committed.make_runner(seen_at="2100-01-01 00:00:00+00") for _ in range(WORKERS)]
    own = [
        [committed.make_job(kind="race", runner=runner, pinned=True) for _ in range(60)]
        for runner in runners
    ]
    deadline = time.monotonic() + SECONDS / len(levels)

    with sessions(database, WORKERS) as conns:
        for number, conn in enumerate(conns):
            conn.isolation_level = levels[number % len(levels)]
        calls: list[Callable[[], tuple[int, int]]] = [
            lambda number=number, conn=conn: hammer(
                conn, runners[number], random.Random(number), own[number], deadline
            )
            for number, conn in enumerate(conns)
        ]
        results = at_once(calls)

    assert max(most for most, _ in results) <= LIMIT
    assert most_at_once(queue, "race") <= LIMIT
    assert sum(done for _, done in results) > LIMIT
    assert_invariants(queue)


def test_uses_the_whole_limit(database, committed, queue):
    """Many workers at once find all of the room, not just the first of them some."""
    runner = committed.make_runner()
    committed.conn.execute("delete from cortex.job where kind = 'open'")

    with sessions(database, WORKERS, autocommit=True) as conns:
        claimed = at_once(
            [lambda conn=conn: conn.execute(CLAIM, [runner, 1]).fetchall() for conn in conns]
        )

    assert sorted(len(jobs) for jobs in claimed) == [0] * (WORKERS - LIMIT) + [1] * LIMIT


@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
@pytest.mark.parametrize("seen_before", [True, False], ids=["old kind", "new kind"])
def test_tells_a_caller_with_an_old_snapshot_to_retry(
    connect, committed, queue, level, seen_before
):
    """It would count jobs as they stood before somebody else's start."""
    runner = committed.make_runner()
    if seen_before:
        queue.execute(CLAIM, [runner, 1])
        queue.execute("update cortex.job set status = 'cancelled', finished_at = clock_timestamp()"
                      " where status = 'running'")  # fmt: skip
    late = connect()
    late.isolation_level = level
    assert scalar(late, RUNNING) == 0
    queue.execute("select cortex.claim_jobs(%s, array['race'], 3)", [runner])

    with pytest.raises(psycopg.errors.SerializationFailure):
        late.execute("select cortex.claim_jobs(%s, array['race'], 3)", [runner])
    late.rollback()

    assert late.execute("select cortex.claim_jobs(%s, array['race'], 3)", [runner]).fetchall() == []
    assert scalar(queue, RUNNING) == LIMIT


def test_waits_for_a_start_that_is_not_committed_yet(connect, committed, queue):
    runner = committed.make_runner()
    first, second = connect(), connect(autocommit=True)
    first.execute("select cortex.claim_jobs(%s, array['race'], 2)", [runner])

    def claim() -> int:
        return len(
            second.execute("select cortex.claim_jobs(%s, array['race'], 9)", [runner]).fetchall()
        )

    with waiting(committed.conn, second, claim) as call:
        first.commit()
        assert call.result(30) == 1


def test_takes_other_kinds_where_somebody_keeps_the_turnstile(connect, committed, queue):
    """An open transaction of a stranger costs a worker two seconds, not its work."""
    runner = committed.make_runner()
    stranger, worker = connect(), connect(autocommit=True)
    stranger.execute("select cortex.claim_jobs(%s, array['race'], 1)", [runner])

    taken = worker.execute(
        "select j.kind from cortex.claim_jobs(%s, array['race', 'open'], 5) as j", [runner]
    ).fetchall()

    assert taken == [("open",)] * 5


def test_gives_the_room_back_when_a_claim_is_rolled_back(connect, committed, queue):
    runner = committed.make_runner()
    first = connect()
    first.execute("select cortex.claim_jobs(%s, array['race'], 3)", [runner])
    first.rollback()

    taken = queue.execute("select cortex.claim_jobs(%s, array['race'], 9)", [runner]).fetchall()

    assert len(taken) == LIMIT


def test_two_workers_with_two_limited_kinds_never_deadlock(database, committed):
    """Turnstiles are passed in the order of their names, whatever order a worker asks in."""
    kinds = [f"race {number}" for number in range(6)]
    for kind in kinds:
        committed.conn.execute("select cortex.configure_kind(%s, max_running => 2)", [kind])
        committed.conn.execute(
            "select cortex.spawn_jobs(%s, array_fill('{}'::jsonb, array[200]))", [kind]
        )
    runner = committed.make_runner(seen_at="2100-01-01 00:00:00+00")

    def work(conn: Connection[Any], seed: int) -> int:
        dice = random.Random(seed)
        conn.execute("set deadlock_timeout = '50ms'")
        done = 0
        for _ in range(60):
            asked = dice.sample(kinds, dice.randint(2, 6))
            claimed = conn.execute(
                "select j.uuid from cortex.claim_jobs(%s, %s, 3) as j", [runner, asked]
            ).fetchall()
            for (job,) in claimed:
                conn.execute("select cortex.finish_job(%s, 'succeeded')", [job])
                done += 1
        return done

    with sessions(database, 4, autocommit=True) as conns:
        done = at_once([lambda conn=conn, n=n: work(conn, n) for n, conn in enumerate(conns)])

    assert sum(done) > 100
    assert_invariants(committed.conn)
