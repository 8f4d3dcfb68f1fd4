"""cortex.work in several sessions at once, and bodies in SQL that are ended from outside."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.errors import QueryCanceled

from tests.concurrency.parallel import at_once, sessions
from tests.sql.asking import rows, value
from tests.sql.bodies import done, ended, make_bodies, spawn
from tests.waiting import wait_until

ATTACHED = "select backend_pid from cortex.job where uuid = %s and status = 'running'"


@pytest.fixture
def watcher(connect):
    """A session in autocommit, in a database with bodies."""
    conn = connect(autocommit=True)
    make_bodies(conn)
    return conn


@contextmanager
def at_work(
    connect: Any, watcher: psycopg.Connection[Any], job: UUID
) -> Iterator[tuple[psycopg.Connection[Any], Future[Any]]]:
    """Another session in the body of *job*, which sleeps."""
    conn = connect(autocommit=True)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(conn.execute, "call cortex.work(9)")
        try:
            wait_until(
                lambda: rows(
                    watcher,
                    "select from pg_stat_activity where pid = %s and wait_event = 'PgSleep'",
                    [value(watcher, ATTACHED, [job])],
                ),
                what="the body sleeps",
            )
            yield conn, future
        finally:
            if not future.done():
                watcher.execute("select pg_terminate_backend(%s)", [conn.info.backend_pid])


@pytest.mark.parametrize("limit", [None, 2])
def test_run_every_job_once(database, watcher, limit):
    if limit:
        watcher.execute("select cortex.configure_kind('note', max_running => %s)", [limit])
    jobs = [spawn(watcher, kind) for _ in range(30) for kind in ("note", "note_too")]

    with sessions(database, 4, autocommit=True) as opened:
        at_once([lambda it=it: it.execute("call cortex.work(100)") for it in opened])
        # A session leaves when its kind is at its limit; what is left is another call's.
        opened[0].execute("call cortex.work(100)")

    assert sorted(done(watcher)) == sorted(jobs)
    assert rows(watcher, "select distinct status, attempt from cortex.jobs") == [
        {"status": "succeeded", "attempt": 1}
    ]


def test_run_side_by_side(database, watcher):
    """No session waits for another's body."""
    watcher.execute(
        "create function app.meet(job uuid) returns void language plpgsql as $$ begin"
        " insert into app.done (job) values (meet.job);"
        " perform pg_advisory_lock_shared(7); perform pg_advisory_unlock_shared(7); end $$"
    )
    watcher.execute("select cortex.register_sql_kind('meet', 'app.meet')")
    jobs = [spawn(watcher, "meet") for _ in range(3)]
    watcher.execute("select pg_advisory_lock(7)")

    with sessions(database, 3, autocommit=True) as opened, ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(it.execute, "call cortex.work()") for it in opened]
        wait_until(
            lambda: value(watcher, "select count(*) from pg_locks where not granted") == 3,
            what="three bodies wait side by side",
        )
        assert {ended(watcher, job)[0] for job in jobs} == {"running"}
        assert value(watcher, "select count(*) from cortex.runners where alive") == 3
        watcher.execute("select pg_advisory_unlock(7)")
        for future in futures:
            future.result(60)

    assert {ended(watcher, job)[0] for job in jobs} == {"succeeded"}


def test_show_the_progress_of_a_body_that_commits(database, watcher):
    watcher.execute(
        "create procedure app.slowly(job uuid) language plpgsql as $$ begin"
        " perform cortex.step(job, 1, 2, 'half-way'); commit;"
        " perform pg_advisory_lock_shared(7); perform pg_advisory_unlock_shared(7); end $$"
    )
    watcher.execute("select cortex.register_sql_kind('slowly', 'app.slowly')")
    job = spawn(watcher, "slowly")
    watcher.execute("select pg_advisory_lock(7)")

    with sessions(database, 1, autocommit=True) as [conn], ThreadPoolExecutor(1) as pool:
        future = pool.submit(conn.execute, "call cortex.work()")
        wait_until(lambda: ended(watcher, job) == ("running", "half-way"))
        watcher.execute("select pg_advisory_unlock(7)")
        future.result(60)

    assert ended(watcher, job) == ("succeeded", "")


def test_end_the_statement_of_a_job_that_is_cancelled_hard_and_go_on(connect, watcher):
    job = spawn(watcher, "sleep", priority=1)
    after = spawn(watcher, "note")

    with at_work(connect, watcher, job) as (_, future):
        watcher.execute("select cortex.cancel_job(%s, 'ada', hard => true)", [job])
        future.result(60)

    assert ended(watcher, job) == ("cancelled", "cancelled on request, amid a statement")
    assert ended(watcher, after)[0] == "succeeded"


def test_write_the_end_of_a_committing_body_that_was_cancelled_hard(connect, watcher):
    job = spawn(watcher, "commit_and_sleep")

    with at_work(connect, watcher, job) as (conn, future):
        watcher.execute("select cortex.cancel_job(%s, 'ada', hard => true)", [job])
        with pytest.raises(QueryCanceled):
            future.result(60)
        conn.execute("call cortex.work()")

    assert ended(watcher, job) == ("cancelled", "cancelled on request, amid a statement")


def test_end_the_statement_of_a_job_that_runs_for_too_long(connect, watcher):
    """The upkeep does it: a timeout can't be set for a part of a statement."""
    watcher.execute("select cortex.configure_kind('sleep', run_timeout => '1 hour')")
    job = spawn(watcher, "sleep", priority=1)
    after = spawn(watcher, "note")

    with at_work(connect, watcher, job) as (_, future):
        watcher.execute(
            "update cortex.job set started_at = started_at - interval '2 hours' where uuid = %s",
            [job],
        )
        watcher.execute("select cortex.maintain()")
        future.result(60)

    status, message = ended(watcher, job)
    assert status == "interrupted"
    assert message.startswith("running for over 60 minutes, its run_timeout; interrupted")
    assert message.endswith("its statement was cancelled")
    assert ended(watcher, after)[0] == "succeeded"


STEPPING = """
create function app.step_and_sleep(job uuid) returns void language plpgsql as $$
begin
    perform cortex.step(job, 1, 2);
    perform pg_sleep(600);
end $$;

create function app.heed(job uuid) returns text language plpgsql as $$
begin
    loop
        if cortex.step(job, 1, 2) = 'cancel' then
            perform cortex.finish_job(job, 'cancelled', 'heeded');
            return null;
        end if;
        perform pg_sleep(0.05);
    end loop;
end $$;
"""


def test_end_the_statement_of_a_body_that_steps_without_a_commit(connect, watcher):
    """Its step keeps nobody from the job's row."""
    watcher.execute(STEPPING)
    watcher.execute("select cortex.register_sql_kind('step_and_sleep', 'app.step_and_sleep')")
    watcher.execute("set lock_timeout = '10s'")
    job = spawn(watcher, "step_and_sleep")

    with at_work(connect, watcher, job) as (_, future):
        watcher.execute("select cortex.cancel_job(%s, 'ada', hard => true)", [job])
        future.result(60)

    assert ended(watcher, job) == ("cancelled", "cancelled on request, amid a statement")


def test_let_a_body_heed_a_cancel_without_a_commit(connect, watcher):
    watcher.execute(STEPPING)
    watcher.execute("select cortex.register_sql_kind('heed', 'app.heed')")
    watcher.execute("set lock_timeout = '10s'")
    job = spawn(watcher, "heed")

    with at_work(connect, watcher, job) as (_, future):
        watcher.execute("select cortex.cancel_job(%s, 'ada')", [job])
        future.result(60)

    assert ended(watcher, job) == ("cancelled", "heeded")


@pytest.mark.parametrize("kind", ["sleep", "commit_and_sleep"])
def test_leave_an_orphan_where_their_session_is_killed(connect, watcher, kind):
    watcher.execute("select cortex.configure(runner_beat => '1 ms', runner_grace => '3 ms')")
    job = spawn(watcher, kind)

    with at_work(connect, watcher, job) as (conn, future):
        pid = conn.info.backend_pid
        watcher.execute("select cortex.maintain()")
        assert ended(watcher, job)[0] == "running"  # however long it is silent, it lives
        watcher.execute("select pg_terminate_backend(%s)", [pid])
        with pytest.raises(psycopg.OperationalError):
            future.result(60)
    wait_until(lambda: not rows(watcher, "select from pg_stat_activity where pid = %s", [pid]))

    watcher.execute("select cortex.maintain()")

    status, message = ended(watcher, job)
    assert status == "interrupted"
    assert message == (
        f"its runner cortex.work (pid {pid} on the database server) is gone; interrupted"
    )


def test_fail_a_job_whose_statement_somebody_cancels_by_hand(connect, watcher):
    job = spawn(watcher, "sleep")

    with at_work(connect, watcher, job) as (conn, future):
        watcher.execute("select pg_cancel_backend(%s)", [conn.info.backend_pid])
        future.result(60)

    status, message = ended(watcher, job)
    assert status == "failed"
    assert message.endswith("(SQLSTATE 57014)")


def test_show_what_a_body_runs(connect, watcher):
    job = spawn(watcher, "sleep")

    with at_work(connect, watcher, job) as (conn, _):
        [row] = rows(watcher, "select * from cortex.job_activity where job = %s", [job])

        assert conn.info.backend_pid in row.values()
