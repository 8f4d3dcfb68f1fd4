"""Who lives: the session that holds a lease, the age of the last beat; and whom a sweep touches."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection

from tests.concurrency.parallel import at_once, scalar
from tests.waiting import wait_until

REGISTER = "select cortex.register_runner('test', 'test.invalid', 4242)"
KEEP = "select * from cortex.keep_runner(%s)"
ALIVE = "select r.alive from cortex.runners as r where r.uuid = %s"
STATUS = "select j.status from cortex.job as j where j.uuid = %s"
LEASE = "select r.lease from cortex.runner as r where r.uuid = %s"
LEASES = """
    select count(*) from pg_catalog.pg_locks as l
    where l.locktype = 'advisory' and l.classid = cortex.lock_space()::oid
        and l.database = (
            select d.oid from pg_catalog.pg_database as d where d.datname = current_database()
        )
"""


def register(conn: Connection[Any]) -> UUID:
    uuid: UUID = scalar(conn, REGISTER)
    return uuid


def fall_silent(conn: Connection[Any], runner: UUID, ago: str = "1 hour") -> None:
    conn.execute(
        "update cortex.runner set seen_at = clock_timestamp() - %s::interval where uuid = %s",
        [ago, runner],
    )


def end_session(observer: Connection[Any], pid: int) -> None:
    """End a session from outside, as a crash of its process would, and wait until it has gone."""
    observer.execute("select pg_terminate_backend(%s)", [pid])
    wait_until(
        lambda: (
            not observer.execute("select 1 from pg_stat_activity where pid = %s", [pid]).fetchone()
        ),
        what=f"session {pid} has ended",
    )


def status(conn: Connection[Any], job: UUID) -> str:
    answer: str = scalar(conn, STATUS, [job])
    return answer


def test_lives_while_its_session_holds_the_lease_however_silent(connect, committed):
    lease = connect(autocommit=True)
    runner = register(lease)
    job = committed.make_job("running", runner=runner)
    fall_silent(committed.conn, runner)

    report = committed.conn.execute("select orphaned from cortex.maintain()").fetchone()

    assert scalar(committed.conn, ALIVE, [runner]) is True
    assert report == (0,)
    assert status(committed.conn, job) == "running"


def test_is_dead_only_after_the_grace_once_its_session_has_gone(connect, committed):
    lease = connect(autocommit=True)
    runner = register(lease)
    job = committed.make_job("running", runner=runner)
    end_session(committed.conn, lease.info.backend_pid)

    fall_silent(committed.conn, runner, "20 seconds")
    within = committed.conn.execute("select orphaned from cortex.maintain()").fetchone()
    fall_silent(committed.conn, runner, "31 seconds")
    after = committed.conn.execute("select orphaned from cortex.maintain()").fetchone()

    assert (within, after) == ((0,), (1,))
    assert status(committed.conn, job) == "interrupted"


def test_goes_on_in_a_new_session_that_takes_the_lease(connect, committed):
    old, new = connect(autocommit=True), connect(autocommit=True)
    runner = register(old)
    end_session(committed.conn, old.info.backend_pid)

    new.execute(KEEP, [runner])
    fall_silent(committed.conn, runner)

    assert scalar(committed.conn, ALIVE, [runner]) is True
    end_session(committed.conn, new.info.backend_pid)
    assert scalar(committed.conn, ALIVE, [runner]) is False


def test_is_judged_by_its_age_alone_behind_a_pooler(connect, committed):
    """Case H07: a session-level lock that stays behind in a pool proves nothing."""
    pooled, other = connect(autocommit=True), connect(autocommit=True)
    runner = register(pooled)
    job = committed.make_job("running", runner=runner)

    other.execute(KEEP, [runner])

    assert scalar(committed.conn, ALIVE, [runner]) is True
    fall_silent(committed.conn, runner)
    assert scalar(committed.conn, ALIVE, [runner]) is False
    assert committed.conn.execute("select orphaned from cortex.maintain()").fetchone() == (1,)
    assert status(committed.conn, job) == "interrupted"


def test_stays_judged_by_age_when_the_pool_hands_out_the_first_session_again(connect, committed):
    pooled, other = connect(autocommit=True), connect(autocommit=True)
    runner = register(pooled)
    other.execute(KEEP, [runner])
    pooled.execute(KEEP, [runner])

    fall_silent(committed.conn, runner)

    assert scalar(committed.conn, ALIVE, [runner]) is False


def test_the_lock_of_somebody_else_is_no_lease(connect, committed):
    """Another library, or another session, holds the very same number."""
    runner = committed.make_runner(alive=False)
    lease = scalar(committed.conn, LEASE, [runner])
    connect(autocommit=True).execute("select pg_advisory_lock(cortex.lock_space(), %s)", [lease])

    assert scalar(committed.conn, ALIVE, [runner]) is False


def test_a_lease_in_another_database_is_none_here(server, template, connect, committed):
    """Two databases of one server count their leases from 1."""
    name = f"{template}_other"
    other_url = server.create(name, template)
    try:
        with psycopg.connect(other_url, autocommit=True) as other:
            there = register(other)
            here = committed.make_runner(alive=False, backend_pid=other.info.backend_pid)

            assert scalar(committed.conn, LEASE, [here]) == scalar(other, LEASE, [there])
            assert scalar(committed.conn, ALIVE, [here]) is False
            assert scalar(other, ALIVE, [there]) is True
    finally:
        server.drop(name)


def test_a_sweep_of_one_runner_leaves_the_jobs_of_another_alone(connect, committed):
    mine, other = register(connect(autocommit=True)), register(connect(autocommit=True))
    jobs = {runner: committed.make_job("running", runner=runner) for runner in (mine, other, None)}
    waiting = committed.make_job("queued", runner=other)

    swept = scalar(committed.conn, "select cortex.interrupt_orphans(%s)", [mine])

    assert swept == 1
    assert status(committed.conn, jobs[mine]) == "interrupted"
    assert status(committed.conn, jobs[other]) == "running"
    assert status(committed.conn, jobs[None]) == "running"
    assert status(committed.conn, waiting) == "queued"


def test_an_overlapping_new_instance_leaves_the_old_ones_jobs_alone(connect, committed):
    """Case C04: same name, same host; B starts, sweeps and keeps up the house while A drains."""
    a, b = connect(autocommit=True), connect(autocommit=True)
    old, new = at_once([lambda: register(a), lambda: register(b)])
    job = committed.make_job("running", runner=old)

    b.execute("select cortex.interrupt_orphans(%s)", [new])
    b.execute("select cortex.maintain()")
    b.execute(KEEP, [new])
    finished = scalar(a, "select cortex.finish_job(%s, 'succeeded', attempt => 1)", [job])
    a.execute("select cortex.retire_runner(%s)", [old])

    assert finished is True
    assert status(committed.conn, job) == "succeeded"


def test_a_retiring_runner_takes_its_own_jobs_with_it_and_gives_its_lease_back(connect, committed):
    a, b = connect(autocommit=True), connect(autocommit=True)
    old, new = register(a), register(b)
    left = committed.make_job("running", runner=old)
    others = committed.make_job("running", runner=new)

    ended = scalar(a, "select cortex.retire_runner(%s, 'out of coffee')", [old])

    assert ended == 1
    assert status(committed.conn, left) == "interrupted"
    assert status(committed.conn, others) == "running"
    assert scalar(committed.conn, LEASES) == 1


def test_nothing_but_its_lease_is_left_locked_in_a_session(connect, committed):
    """Case H07: after a beat, upkeep, a claim, a finish."""
    lease = connect(autocommit=True)
    runner = register(lease)
    committed.make_job("queued")

    for statement in (
        "select * from cortex.claim_jobs(%(runner)s, array['test'])",
        "select * from cortex.keep_runner(%(runner)s)",
        "select * from cortex.keep_runner(%(runner)s)",
        "select * from cortex.maintain()",
        "select * from cortex.interrupt_orphans()",
    ):
        lease.execute(statement, {"runner": runner})
    before = scalar(committed.conn, LEASES)
    lease.execute("select cortex.retire_runner(%s)", [runner])

    assert before == 1
    assert scalar(committed.conn, LEASES) == 0


def test_jobs_of_a_dead_runner_are_found_whatever_became_of_its_row(committed):
    """Case C03: the row can't go while jobs refer to it."""
    runner = committed.make_runner(alive=False)
    job = committed.make_job("running", runner=runner)

    with pytest.raises(psycopg.errors.ForeignKeyViolation) as caught:
        committed.conn.execute("delete from cortex.runner where uuid = %s", [runner])
    orphaned = committed.conn.execute("select orphaned from cortex.maintain()").fetchone()

    assert caught.value.diag.constraint_name == "job_runner_fkey"
    assert orphaned == (1,)
    assert status(committed.conn, job) == "interrupted"


def test_a_job_that_waits_for_a_dead_runner_is_an_orphan_too(connect, committed):
    """Case B09: spawned for a process that died before it could start it."""
    lease = connect(autocommit=True)
    runner = register(lease)
    waiting = committed.make_job("queued", runner=runner)
    free = committed.make_job("queued")
    end_session(committed.conn, lease.info.backend_pid)
    fall_silent(committed.conn, runner)

    orphaned = committed.conn.execute("select orphaned from cortex.maintain()").fetchone()

    assert orphaned == (1,)
    assert status(committed.conn, waiting) == "interrupted"
    assert status(committed.conn, free) == "queued"


def test_a_retired_runner_that_beats_on_is_told(connect, committed):
    lease = connect(autocommit=True)
    runner = register(lease)
    lease.execute("select cortex.retire_runner(%s)", [runner])

    with pytest.raises(psycopg.DatabaseError) as caught:
        lease.execute(KEEP, [runner])

    assert caught.value.sqlstate == "JC102"


def test_hears_in_its_beat_of_the_job_that_somebody_ended(connect, committed):
    lease = connect(autocommit=True)
    runner = register(lease)
    job = committed.make_job("running", runner=runner, silent_for="3 hours")
    committed.conn.execute("select cortex.reap_stale()")

    told = lease.execute("select job, verdict from cortex.keep_runner(%s)", [runner]).fetchall()

    assert told == [(job, "stop")]


@pytest.mark.parametrize("number", [0, 1, 42])
def test_locks_of_other_libraries_block_nothing(connect, committed, number):
    """Case H08: both forms of a key, and what hashtext makes of likely names."""
    library = connect(autocommit=True)
    for key in (
        number,
        -number,
        f"hashtext('cortex{number or ''}')",
        f"hashtext('maintain{number or ''}')",
    ):
        library.execute(
            f"select pg_advisory_lock({key}), pg_advisory_lock({key}::integer, {number})"
        )
    caller = connect(autocommit=True)
    caller.execute("set lock_timeout = '2s'")

    runner = register(caller)
    caller.execute("select cortex.spawn_job('test', debounce_scope => '{}')")
    caller.execute("select cortex.configure_kind('test', max_running => 1)")
    claimed = caller.execute(
        "select uuid from cortex.claim_jobs(%s, array['test'])", [runner]
    ).fetchall()
    ran = scalar(caller, "select ran from cortex.maintain()")
    caller.execute(KEEP, [runner])
    caller.execute("select cortex.retire_runner(%s)", [runner])

    assert len(claimed) == 1
    assert ran is True
