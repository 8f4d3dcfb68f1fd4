"""Many callers of spawn_job at once: never two active jobs in a scope, and never none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection, IsolationLevel
from psycopg.types.json import Jsonb

from tests.concurrency.invariants import assert_invariants
from tests.concurrency.parallel import (
    at_once,
    dealt,
    one,
    retried,
    room_for_sessions,
    sessions,
    waiting,
)

SPAWN = """
    select s.uuid, s.created
    from cortex.spawn_job(kind => 'race', debounce_scope => %s, debounce_on => %s) as s
"""
ACTIVE = """
    select j.uuid from cortex.job as j
    where j.kind = 'race' and j.debounce_scope = %s and j.status in ('queued', 'running')
"""
CALLS = 200
ROUNDS = 20
LEVELS = [
    IsolationLevel.READ_COMMITTED,
    IsolationLevel.REPEATABLE_READ,
    IsolationLevel.SERIALIZABLE,
]
FIXED_SNAPSHOT = LEVELS[1:]

Spawned = tuple[UUID, bool]
level = pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name.lower())
fixed_snapshot = pytest.mark.parametrize(
    "level", FIXED_SNAPSHOT, ids=lambda level: level.name.lower()
)


def spawn(conn: Connection[Any], scope: Any, mode: str = "active") -> Spawned:
    uuid, created = one(conn, SPAWN, [Jsonb(scope), mode])
    return uuid, created


def crowd(
    conns: list[Connection[Any]],
    scope: Any,
    *,
    mode: Callable[[random.Random], str] = lambda dice: "active",
    rolls_back: float = 0,
    seed: int = 0,
) -> list[Spawned]:
    """200 calls at once over all sessions; what those that committed were told."""

    def calls(conn: Connection[Any], numbers: list[int]) -> list[Spawned]:
        told = []
        for number in numbers:
            dice = random.Random(f"{seed} {number}")
            if dice.random() < rolls_back:
                with suppress(psycopg.errors.SerializationFailure):
                    spawn(conn, scope, mode(dice))
                conn.rollback()
            else:
                chosen = mode(dice)
                told.append(retried(conn, lambda chosen=chosen: spawn(conn, scope, chosen)))
        return told

    hands = dealt(range(CALLS), len(conns))
    told = at_once(
        [
            lambda conn=conn, hand=hand: calls(conn, hand)
            for conn, hand in zip(conns, hands, strict=True)
        ]
    )
    return [answer for answers in told for answer in answers]


@pytest.fixture
def observer(connect: Callable[..., Connection[Any]]) -> Connection[Any]:
    return connect(autocommit=True)


@pytest.fixture
def crowd_at(database: str, observer: Connection[Any]) -> Iterator[Callable[..., Any]]:
    """Opens the sessions of a crowd at an isolation level."""
    number = room_for_sessions(observer)
    if number < 20:
        pytest.skip("the server has no room for 20 more sessions: raise max_connections")
    with sessions(database, number) as conns:

        def set_level(level: IsolationLevel) -> list[Connection[Any]]:
            for conn in conns:
                conn.isolation_level = level
            return conns

        yield set_level


@level
def test_creates_one_job_for_200_callers_in_each_of_20_rounds(crowd_at, observer, level):
    conns = crowd_at(level)

    for number in range(ROUNDS):
        told = crowd(conns, {"round": number})

        active = [uuid for (uuid,) in observer.execute(ACTIVE, [Jsonb({"round": number})])]
        assert len(told) == CALLS
        assert Counter(told) == {(active[0], True): 1, (active[0], False): CALLS - 1}
        assert len(active) == 1
    assert_invariants(observer)


def test_leaves_one_job_when_callers_roll_back_at_random(crowd_at, observer):
    """In all isolation levels at once, with every share of callers that change their mind."""
    conns = crowd_at(IsolationLevel.READ_COMMITTED)
    for number, conn in enumerate(conns):
        conn.isolation_level = LEVELS[number % len(LEVELS)]

    for number in range(ROUNDS):
        told = crowd(conns, {"round": number}, rolls_back=number / ROUNDS, seed=number)

        active = [uuid for (uuid,) in observer.execute(ACTIVE, [Jsonb({"round": number})])]
        assert Counter(told) == {(active[0], True): 1, (active[0], False): len(told) - 1}
        assert len(active) == 1
    assert_invariants(observer)


def test_leaves_no_trace_when_every_caller_rolls_back(crowd_at, observer):
    conns = crowd_at(IsolationLevel.READ_COMMITTED)

    told = crowd(conns, {}, rolls_back=2)

    assert told == []
    assert observer.execute("select count(*) from cortex.job").fetchone() == (0,)
    assert observer.execute("select count(*) from cortex.event").fetchone() == (0,)


@level
def test_queues_exactly_one_follow_up_while_a_job_runs(crowd_at, observer, committed, level):
    conns = crowd_at(level)
    running = committed.make_job("running", kind="race", debounce_scope={})

    told = crowd(conns, {}, mode=lambda dice: "queued")

    [follow_up] = {uuid for uuid, _ in told}
    active = {uuid for (uuid,) in observer.execute(ACTIVE, [Jsonb({})])}
    assert sum(created for _, created in told) == 1
    assert active == {running, follow_up}


@level
def test_keeps_the_rules_of_a_scope_when_modes_are_mixed(crowd_at, observer, level):
    """Jobs start and end meanwhile, so that a call meets every state of the scope."""
    mover, *conns = crowd_at(level)

    def move() -> list[Spawned]:
        for _ in range(60):
            for status in ("running", "queued"):
                row = mover.execute(
                    "select j.uuid from cortex.job as j where j.kind = 'race' and j.status = %s",
                    [status],
                ).fetchone()
                mover.commit()
                if row is None:
                    continue
                if status == "queued":
                    retried(
                        mover, lambda row=row: mover.execute("select cortex.set_running(%s)", row)
                    )
                else:
                    retried(
                        mover,
                        lambda row=row: mover.execute(
                            "select cortex.finish_job(%s, 'succeeded')", row
                        ),
                    )
        return []

    def modes(dice: random.Random) -> str:
        return dice.choice(["active", "queued"])

    hands = dealt(range(CALLS), len(conns))

    def spawn_all(conn: Connection[Any], hand: list[int]) -> list[Spawned]:
        return [
            retried(conn, lambda number=number: spawn(conn, {}, modes(random.Random(number))))
            for number in hand
        ]

    answers = at_once(
        [
            move,
            *(
                lambda conn=conn, hand=hand: spawn_all(conn, hand)
                for conn, hand in zip(conns, hands, strict=True)
            ),
        ]
    )

    told = [answer for answer in answers for answer in answer]
    created = [uuid for uuid, created in told if created]
    stored = {uuid for (uuid,) in observer.execute("select j.uuid from cortex.job as j")}
    assert len(told) == CALLS
    assert len(set(created)) == len(created)
    assert set(created) == stored
    assert_invariants(observer)


@level
def test_waits_for_a_rival_and_takes_over_when_it_rolls_back(connect, observer, level):
    """Case D12: a spawn that was rolled back leaves no trace, also while others wait for it."""
    rival, caller = connect(), connect()
    caller.isolation_level = level
    lost, _ = spawn(rival, {})

    with waiting(observer, caller, lambda: spawn(caller, {})) as call:
        rival.rollback()
        uuid, created = call.result(30)
    caller.commit()

    assert created
    assert uuid != lost
    assert observer.execute(ACTIVE, [Jsonb({})]).fetchall() == [(uuid,)]


def test_joins_the_rival_that_it_waited_for(connect, observer):
    rival, caller = connect(), connect()
    uuid, _ = spawn(rival, {})

    with waiting(observer, caller, lambda: spawn(caller, {})) as call:
        rival.commit()
        answer = call.result(30)

    assert answer == (uuid, False)


@fixed_snapshot
def test_tells_a_caller_with_a_fixed_snapshot_to_retry_when_a_rival_won(connect, observer, level):
    rival, caller = connect(), connect()
    caller.isolation_level = level
    uuid, _ = spawn(rival, {})

    with waiting(observer, caller, lambda: spawn(caller, {})) as call:
        rival.commit()
        with pytest.raises(psycopg.errors.SerializationFailure):
            call.result(30)
    caller.rollback()

    assert spawn(caller, {}) == (uuid, False)


@fixed_snapshot
@pytest.mark.parametrize("mode", ["active", "queued"])
def test_gives_no_job_that_ended_since_the_snapshot(connect, committed, observer, level, mode):
    caller = connect()
    caller.isolation_level = level
    ended = committed.make_job("running", kind="race", debounce_scope={})
    assert caller.execute(ACTIVE, [Jsonb({})]).fetchall() == [(ended,)]
    observer.execute("select cortex.finish_job(%s, 'succeeded')", [ended])

    uuid, created = spawn(caller, {}, mode)
    caller.commit()

    assert created
    assert observer.execute(ACTIVE, [Jsonb({})]).fetchall() == [(uuid,)]


@fixed_snapshot
def test_gives_no_follow_up_that_ended_since_the_snapshot(connect, committed, observer, level):
    """The running job is as the snapshot shows it; the one that waited behind it is not."""
    caller = connect()
    caller.isolation_level = level
    runner = committed.make_runner()
    running = committed.make_job("running", kind="race", debounce_scope={})
    follow_up = committed.make_job(
        "queued", kind="race", debounce_scope={}, debounce_on="queued", runner=runner
    )
    caller.execute(ACTIVE, [Jsonb({})])
    observer.execute("select cortex.retire_runner(%s)", [runner])

    uuid, _ = retried(caller, lambda: spawn(caller, {}))

    assert uuid != follow_up
    assert uuid == running


@fixed_snapshot
def test_gives_no_ended_follow_up_either_when_it_reaps_a_zombie(
    connect, committed, observer, level
):
    caller = connect()
    caller.isolation_level = level
    runner = committed.make_runner()
    committed.make_job("running", kind="race", debounce_scope={}, silent_for="3 hours")
    committed.make_job(
        "queued", kind="race", debounce_scope={}, debounce_on="queued", runner=runner
    )
    caller.execute(ACTIVE, [Jsonb({})])
    observer.execute("select cortex.retire_runner(%s)", [runner])

    uuid, created = retried(caller, lambda: spawn(caller, {}, "queued"))

    assert created
    assert observer.execute(ACTIVE, [Jsonb({})]).fetchall() == [(uuid,)]


@level
def test_never_hangs_on_a_job_that_ends_at_the_same_moment(connect, committed, observer, level):
    """What is_created=false names was active when asked; otherwise there is a new job."""
    caller = connect()
    caller.isolation_level = level
    finisher = connect(autocommit=True)
    for number in range(50):
        scope = {"round": number}
        old = committed.make_job("running", kind="race", debounce_scope=scope)

        (uuid, created), _ = at_once(
            [
                lambda scope=scope: retried(caller, lambda: spawn(caller, scope)),
                lambda old=old: finisher.execute(
                    "select cortex.finish_job(%s, 'succeeded')", [old]
                ),
            ]
        )

        active = [uuid for (uuid,) in observer.execute(ACTIVE, [Jsonb(scope)])]
        assert active == ([uuid] if created else [])
        assert created == (uuid != old)
    assert_invariants(observer)


@level
@pytest.mark.parametrize("fate", ["commit", "rollback"])
def test_gives_no_zombie_that_the_reaper_is_closing(connect, committed, observer, level, fate):
    """Also when the reaper rolls back: then the caller closes it, and takes its place."""
    reaper, caller = connect(), connect()
    caller.isolation_level = level
    zombie = committed.make_job("running", kind="race", debounce_scope={}, silent_for="3 hours")
    assert reaper.execute("select cortex.reap_stale()").fetchone() == (1,)

    with waiting(observer, caller, lambda: retried(caller, lambda: spawn(caller, {}))) as call:
        getattr(reaper, fate)()
        uuid, created = call.result(30)

    assert created
    assert observer.execute(ACTIVE, [Jsonb({})]).fetchall() == [(uuid,)]
    assert observer.execute(
        "select status from cortex.job where uuid = %s", [zombie]
    ).fetchone() == ("interrupted",)
    assert_invariants(observer)


@level
@pytest.mark.parametrize("fate", ["commit", "rollback"])
def test_gives_no_zombie_that_another_caller_is_replacing(
    connect, committed, observer, level, fate
):
    rival, caller = connect(), connect()
    caller.isolation_level = level
    committed.make_job("running", kind="race", debounce_scope={}, silent_for="3 hours")
    new, created = spawn(rival, {})
    assert created

    with waiting(observer, caller, lambda: retried(caller, lambda: spawn(caller, {}))) as call:
        getattr(rival, fate)()
        uuid, created = call.result(30)

    assert (uuid == new) == (fate == "commit")
    assert created == (fate == "rollback")
    assert observer.execute(ACTIVE, [Jsonb({})]).fetchall() == [(uuid,)]


def test_does_not_wait_for_a_job_that_is_alive(connect, committed):
    """Its row is locked by a body in the middle of a step."""
    body, caller = connect(), connect(autocommit=True)
    job = committed.make_job("running", kind="race", debounce_scope={})
    body.execute("select cortex.step(%s, 1)", [job])

    caller.execute("set lock_timeout = '1s'")
    answer = spawn(caller, {})

    assert answer == (job, False)


def test_lets_a_job_live_that_steps_after_all(connect, committed, observer):
    """It looked dead; the step that proves it alive was not committed yet."""
    body, caller = connect(), connect(autocommit=True)
    job = committed.make_job("running", kind="race", debounce_scope={}, silent_for="3 hours")
    body.execute("select cortex.step(%s, 1)", [job])

    with waiting(observer, caller, lambda: spawn(caller, {})) as call:
        body.commit()
        answer = call.result(30)

    assert answer == (job, False)


@level
def test_replaces_a_zombie_once_for_a_crowd_of_callers_and_reapers(
    crowd_at, observer, committed, level
):
    """Case D06: the crashed job's key is free at once, for one of the callers."""
    conns = crowd_at(level)
    reapers, callers = conns[:4], conns[4:24]
    for number in range(10):
        scope = {"round": number}
        committed.make_job("running", kind="race", debounce_scope=scope, silent_for="3 hours")

        def reap(conn: Connection[Any]) -> None:
            retried(conn, lambda: conn.execute("select cortex.reap_stale()"))

        told = at_once(
            [
                *(lambda conn=conn: reap(conn) for conn in reapers),
                *(
                    lambda conn=conn, scope=scope: retried(conn, lambda: spawn(conn, scope))
                    for conn in callers
                ),
            ]
        )[len(reapers) :]

        active = [uuid for (uuid,) in observer.execute(ACTIVE, [Jsonb(scope)])]
        assert Counter(told) == {(active[0], True): 1, (active[0], False): len(callers) - 1}
    assert_invariants(observer)
