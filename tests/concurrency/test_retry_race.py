"""Jobs of one scope that go back to the queue at the same moment: one does, and none deadlocks."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from tests.concurrency.invariants import assert_invariants
from tests.concurrency.parallel import at_once, one, sessions, waiting

FAIL = "select cortex.finish_job(%s, 'failed', %s)"
STATUS = "select status, message from cortex.job where uuid = %s"

PAUSE = """
    create function public.pause() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock(4711); return new; end $$;

    create trigger pauses before update on cortex.job for each row
    when (old.status = 'failed' and new.status = 'queued' and old.actor = 'slow')
    execute function public.pause();
"""


@pytest.fixture
def retried(committed) -> Connection[Any]:
    """Jobs of kind "test" are tried three times, without a pause."""
    committed.conn.execute(
        "select cortex.configure_kind('test', max_attempts => 3, backoff => '0',"
        " on_interrupt => 'requeue')"
    )
    return committed.conn


def test_a_late_failure_waits_for_the_job_that_took_its_place(connect, committed, retried):
    """
    The newer job has failed and is on its way back to the queue, but not there yet. Each of the two
    stands in an index where the other must go.
    """
    late = committed.make_job("interrupted", debounce_scope={})
    newer = committed.make_job("running", debounce_scope={}, actor="slow")
    retried.execute(PAUSE)
    retried.execute("select pg_advisory_lock(4711)")
    first, second = connect(autocommit=True), connect(autocommit=True)
    for conn in (first, second):
        conn.execute("set deadlock_timeout = '50ms'")

    with (
        waiting(retried, first, lambda: one(first, FAIL, [newer, "newer"])) as newer_ends,
        waiting(retried, second, lambda: one(second, FAIL, [late, "late"])) as late_ends,
    ):
        retried.execute("select pg_advisory_unlock(4711)")
        answers = newer_ends.result(30), late_ends.result(30)

    status, message = one(retried, STATUS, [late])
    assert answers == ((True,), (True,))
    assert one(retried, STATUS, [newer])[0] == "queued"
    assert status == "failed"
    assert str(newer) in message
    assert_invariants(retried)


@pytest.mark.parametrize("mode", ["active", "queued"])
def test_failures_sweeps_and_spawns_of_one_scope_never_deadlock(database, committed, retried, mode):
    """What ran, what was presumed dead and what is new, all at once, round after round."""
    runner = committed.make_runner()

    def act(conn: Connection[Any], job: Any, number: int) -> str:
        try:
            if number % 4 == 3:
                conn.execute(
                    "select cortex.spawn_job('test', debounce_scope => '{}', debounce_on => %s)",
                    [mode],
                )
            elif number % 4 == 2:
                conn.execute("select cortex.interrupt_orphans(%s)", [runner])
            else:
                conn.execute(FAIL, [job, f"by {number}"])
        except psycopg.Error as error:
            return error.sqlstate or repr(error)
        return "done"

    told = set()
    with sessions(database, 8, autocommit=True) as conns:
        for conn in conns:
            conn.execute("set deadlock_timeout = '50ms'")
        for number in range(40):
            retried.execute("delete from cortex.job")
            jobs = [
                committed.make_job("interrupted", debounce_scope={}, debounce_on=mode)
                for _ in range(2)
            ]
            jobs.append(
                committed.make_job("running", debounce_scope={}, debounce_on=mode, runner=runner)
            )
            dice = random.Random(number)
            told |= set(
                at_once(
                    [
                        lambda conn=conn, job=job, n=n: act(conn, job, n)
                        for n, (conn, job) in enumerate(
                            zip(conns, dice.choices(jobs, k=len(conns)), strict=True)
                        )
                    ]
                )
            )
            assert_invariants(retried)

    assert told <= {"done", "JC201", "JC202"}
