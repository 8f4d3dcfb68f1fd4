"""The end of what a job runs in the database: its statement, then its session, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import Connection, IsolationLevel
from psycopg.errors import AdminShutdown, QueryCanceled

from tests.cleaning import empty, module_database
from tests.concurrency.parallel import one, scalar
from tests.factories import make_job as insert_job
from tests.owners import Owned, owned_database
from tests.waiting import wait_until

RUNAWAY = "select pg_sleep(600)"
STUBBORN = """
    do $$
    begin
        for i in 1..6000 loop
            begin
                perform pg_sleep(0.1);
            exception when query_canceled then
                null;
            end;
        end loop;
    end $$
"""
CANCEL = "select cortex.cancel_job(%s, 'ada', hard => true)"
ATTACH = "select cortex.attach_backend(%s)"
JOB = """
    select status, message, backend_pid, cancel_hard_at is not null
    from cortex.job
    where uuid = %s
"""
LATER = """
    update cortex.job
    set cancel_hard_at = cancel_hard_at - interval '11 seconds',
        cancel_requested_at = cancel_requested_at - interval '11 seconds'
    where uuid = %s
"""


@pytest.fixture(scope="module")
def database(server, template):
    with module_database(server, template) as url:
        yield url


@pytest.fixture(autouse=True)
def _emptied(database):
    empty(database)


@contextmanager
def working(observer: Connection[Any], session: Connection[Any], statement: str) -> Iterator[Any]:
    """Run *statement* in *session*, and go on once it is seen at work; its future."""
    busy = (
        "select count(*) from pg_stat_activity where pid = %s and state = 'active'"
        " and wait_event = 'PgSleep'"
    )
    pid = session.info.backend_pid
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(session.execute, statement)
        try:
            wait_until(lambda: scalar(observer, busy, [pid]) == 1, what="the statement runs")
            yield call
        finally:
            if not call.done():
                observer.execute("select pg_terminate_backend(%s)", [pid])


@pytest.fixture
def attached(committed, connect):
    """A running job of nobody, and the session that runs its SQL."""
    job = committed.make_job("running")
    session = connect(autocommit=True)
    session.execute(ATTACH, [job])
    return job, session


def test_cancel_job_ends_a_runaway_statement_from_another_session(committed, attached, connect):
    """What an operator does in psql at 3 a.m."""
    job, session = attached
    operator = connect(autocommit=True)

    with working(committed.conn, session, RUNAWAY) as call:
        answer = scalar(operator, CANCEL, [job])
        with pytest.raises(QueryCanceled):
            call.result(30)

    session.execute("select cortex.finish_job(%s, 'cancelled', 'ended by request')", [job])
    assert answer == "running"
    assert one(committed.conn, JOB, [job])[:3] == ("cancelled", "ended by request", None)


def test_cancel_job_leaves_the_statement_alone_unless_it_is_hard(committed, attached):
    job, session = attached

    with working(committed.conn, session, RUNAWAY) as call:
        committed.conn.execute("select cortex.cancel_job(%s)", [job])
        committed.conn.execute("select cortex.maintain()")
        state = scalar(
            committed.conn,
            "select wait_event from pg_stat_activity where pid = %s",
            [session.info.backend_pid],
        )
        assert (state, call.done()) == ("PgSleep", False)


def test_a_second_hard_cancel_ends_the_next_statement_too(committed, attached):
    job, session = attached
    for _ in range(2):
        with working(committed.conn, session, RUNAWAY) as call:
            committed.conn.execute(CANCEL, [job])
            with pytest.raises(QueryCanceled):
                call.result(30)


def test_maintain_ends_a_session_that_does_not_heed_its_cancelling(committed, attached):
    job, session = attached
    pid = session.info.backend_pid

    with working(committed.conn, session, STUBBORN) as call:
        committed.conn.execute(CANCEL, [job])
        committed.conn.execute("select cortex.maintain()")
        within_the_grace = one(committed.conn, JOB, [job])
        assert not call.done()
        committed.conn.execute(LATER, [job])
        committed.conn.execute("select cortex.maintain()")
        with pytest.raises(AdminShutdown):
            call.result(30)

    assert within_the_grace[:3] == ("running", "", pid)
    assert one(committed.conn, JOB, [job])[0::2] == ("cancelled", None)


def test_maintain_counts_the_grace_from_the_hard_request(committed, attached):
    """An hour after a soft one the session still gets its time."""
    job, session = attached
    committed.conn.execute("select cortex.cancel_job(%s)", [job])
    committed.conn.execute(
        "update cortex.job set cancel_requested_at = cancel_requested_at - interval '1 hour'"
    )

    with working(committed.conn, session, STUBBORN) as call:
        committed.conn.execute(CANCEL, [job])
        committed.conn.execute("select cortex.maintain()")

        assert not call.done()
        assert one(committed.conn, JOB, [job])[0] == "running"


def test_maintain_takes_the_grace_from_the_settings(committed, attached):
    job, session = attached
    committed.conn.execute("select cortex.configure(cancel_grace => '0')")

    with working(committed.conn, session, STUBBORN) as call:
        committed.conn.execute(CANCEL, [job])
        committed.conn.execute("select cortex.maintain()")
        with pytest.raises(AdminShutdown):
            call.result(30)


def test_maintain_leaves_the_end_of_a_job_to_a_runner_that_lives(committed, connect):
    runner = committed.make_runner()
    job = committed.make_job("running", runner=runner)
    session = connect(autocommit=True)
    session.execute(ATTACH, [job])

    with working(committed.conn, session, STUBBORN) as call:
        committed.conn.execute(CANCEL, [job])
        committed.conn.execute(LATER, [job])
        committed.conn.execute("select cortex.maintain()")
        with pytest.raises(AdminShutdown):
            call.result(30)

    assert one(committed.conn, JOB, [job])[:3] == ("running", "", None)


def test_maintain_touches_a_job_once_whose_session_it_ended(committed, attached):
    """Not at every beat of every runner."""
    runner = committed.make_runner()
    job, _ = attached
    committed.conn.execute("update cortex.job set runner = %s", [runner])
    committed.conn.execute(CANCEL, [job])
    committed.conn.execute(LATER, [job])
    committed.conn.execute("select cortex.maintain()")
    before = one(committed.conn, "select xmin, ctid from cortex.job")

    committed.conn.execute("select cortex.maintain()")

    assert one(committed.conn, "select xmin, ctid from cortex.job") == before


def test_a_stranger_with_the_same_pid_is_left_in_peace(committed, connect):
    """A pid is used again; the moment at which a session began is not."""
    stranger = connect(autocommit=True)
    job = committed.make_job(
        "running", backend_pid=stranger.info.backend_pid, backend_start="2020-01-01 00:00:00+00"
    )

    with working(committed.conn, stranger, RUNAWAY) as call:
        committed.conn.execute(CANCEL, [job])
        committed.conn.execute(LATER, [job])
        committed.conn.execute("select cortex.maintain()")
        sleeps = scalar(
            committed.conn,
            "select wait_event from pg_stat_activity where pid = %s",
            [stranger.info.backend_pid],
        )
        assert (sleeps, call.done()) == ("PgSleep", False)

    assert one(committed.conn, JOB, [job])[0] == "cancelled"


def test_a_session_that_is_gone_does_no_harm(committed, attached):
    job, session = attached
    session.close()

    answer = scalar(committed.conn, CANCEL, [job])
    committed.conn.execute(LATER, [job])
    committed.conn.execute("select cortex.maintain()")

    assert answer == "running"
    assert one(committed.conn, JOB, [job])[0] == "cancelled"


def test_a_session_that_cancels_its_own_job_hears_the_answer(attached):
    job, session = attached

    assert scalar(session, CANCEL, [job]) == "running"


def test_a_hard_cancel_of_a_job_that_waits_signals_nobody(committed, connect):
    session = connect(autocommit=True)
    start = one(
        session, "select pid, backend_start from pg_stat_activity where pid = pg_backend_pid()"
    )
    job = committed.make_job("queued", attempt=1, backend_pid=start[0], backend_start=start[1])

    with working(committed.conn, session, RUNAWAY) as call:
        assert scalar(committed.conn, CANCEL, [job]) == "cancelled"
        assert not call.done()


# The reaper


@pytest.mark.parametrize("reaped_by", ["reap_stale()", "interrupt_orphans()", "list_recent()"])
def test_a_reaper_ends_the_statement_of_a_job_that_it_ends(committed, attached, reaped_by):
    job, session = attached

    with working(committed.conn, session, RUNAWAY) as call:
        committed.conn.execute("update cortex.job set updated_at = updated_at - interval '3 hours'")
        committed.conn.execute(f"select cortex.{reaped_by}")
        with pytest.raises(QueryCanceled):
            call.result(30)

    assert one(committed.conn, JOB, [job])[0] == "interrupted"


@pytest.mark.parametrize("policy", ["leave", "requeue"])
def test_maintain_ends_a_session_that_survived_the_reaper(committed, attached, policy):
    job, session = attached
    committed.conn.execute(
        "select cortex.configure(max_attempts => 2, on_interrupt => %s)", [policy]
    )

    with working(committed.conn, session, STUBBORN) as call:
        committed.conn.execute("update cortex.job set updated_at = updated_at - interval '3 hours'")
        committed.conn.execute("select cortex.maintain()")
        within_the_grace = one(committed.conn, JOB, [job])
        assert not call.done()
        committed.conn.execute("update cortex.event set at = at - interval '11 seconds'")
        committed.conn.execute("select cortex.maintain()")
        with pytest.raises(AdminShutdown):
            call.result(30)

    status = "interrupted" if policy == "leave" else "queued"
    assert within_the_grace[0] == status
    assert one(committed.conn, JOB, [job])[0::2] == (status, None)


def test_maintain_finds_a_session_that_was_forgotten_for_days(committed, attached):
    """Upkeep may have slept as well."""
    job, session = attached

    with working(committed.conn, session, STUBBORN) as call:
        committed.conn.execute("select cortex.interrupt_orphans()")
        committed.conn.execute(
            "update cortex.job set finished_at = finished_at + interval '1 second',"
            " started_at = started_at - interval '9 days'"
        )
        committed.conn.execute("update cortex.event set at = at - interval '8 days'")
        committed.conn.execute("select cortex.maintain()")
        with pytest.raises(AdminShutdown):
            call.result(30)

    assert one(committed.conn, JOB, [job])[2] is None


def test_a_new_attempt_ends_the_session_of_the_one_before(committed, attached, connect):
    """B04: two copies of one statement would be two too many."""
    job, session = attached
    committed.conn.execute(
        "select cortex.configure(max_attempts => 2, on_interrupt => 'requeue', backoff => '0')"
    )
    runner = committed.make_runner()

    with working(committed.conn, session, STUBBORN) as call:
        committed.conn.execute("update cortex.job set updated_at = updated_at - interval '3 hours'")
        committed.conn.execute("select cortex.reap_stale()")
        assert not call.done()
        committed.conn.execute("select cortex.claim_jobs(%s, '{test}')", [runner])
        with pytest.raises(AdminShutdown):
            call.result(30)

    assert one(committed.conn, JOB, [job])[0::2] == ("running", None)


def test_a_poison_row_does_not_keep_other_sessions_alive(committed, connect):
    """Somebody's trigger minds one of them."""
    committed.conn.execute("select cortex.configure(cancel_grace => '0')")
    sessions = [connect(autocommit=True) for _ in range(2)]
    jobs = [committed.make_job("running", kind=kind) for kind in ("poison", "test")]
    for job, session in zip(jobs, sessions, strict=True):
        session.execute(ATTACH, [job])
        committed.conn.execute(CANCEL, [job])
    committed.conn.execute(
        "create function public.mind() returns trigger language plpgsql as"
        " $$ begin raise exception 'not this one'; end $$"
    )
    committed.conn.execute(
        "create trigger minds before update on cortex.job for each row"
        " when (old.kind = 'poison') execute function public.mind()"
    )

    committed.conn.execute("select cortex.maintain()")

    alive = "select count(*) from pg_stat_activity where pid = any(%s)"
    pids = [session.info.backend_pid for session in sessions]
    wait_until(lambda: scalar(committed.conn, alive, [pids]) == 0, what="both sessions are gone")
    assert [one(committed.conn, JOB, [job])[0] for job in jobs] == ["running", "cancelled"]


@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_cancel_job_works_in_every_isolation_level(committed, attached, connect, level):
    job, session = attached
    operator = connect()
    operator.isolation_level = level

    with working(committed.conn, session, RUNAWAY) as call:
        operator.execute(CANCEL, [job])
        operator.commit()
        with pytest.raises(QueryCanceled):
            call.result(30)


# Where the owner of the schema may not end sessions of others


@pytest.fixture
def owned(server) -> Iterator[Owned]:
    with owned_database(server) as database:
        yield database


@contextmanager
def runaway_of_the_app(owned: Owned) -> Iterator[tuple[Any, Connection[Any], Any]]:
    """A job whose SQL runs in a session of the application: its uuid, an admin, and the call."""
    with (
        psycopg.connect(owned.admin, autocommit=True) as admin,
        psycopg.connect(owned.app, autocommit=True) as app,
    ):
        job = insert_job(admin, "running")
        app.execute(ATTACH, [job])
        with working(admin, app, RUNAWAY) as call:
            yield job, admin, call


def test_an_owner_without_the_right_is_told_and_the_request_stands(owned):
    warnings = []
    with (
        runaway_of_the_app(owned) as (job, admin, call),
        psycopg.connect(owned.owner, autocommit=True) as owner,
    ):
        owner.add_notice_handler(
            lambda notice: warnings.append((notice.severity_nonlocalized, notice.message_hint))
        )
        answer = scalar(owner, CANCEL, [job])
        status, _, pid, hard = one(admin, JOB, [job])
        assert not call.done()

    assert (answer, status, hard) == ("running", "running", True)
    assert pid is not None
    [(severity, hint)] = warnings
    assert severity == "WARNING"
    assert "pg_signal_backend" in hint


def test_an_owner_without_the_right_goes_on_with_its_upkeep(owned):
    with (
        runaway_of_the_app(owned) as (job, admin, _),
        psycopg.connect(owned.owner, autocommit=True) as owner,
    ):
        owner.execute(CANCEL, [job])
        admin.execute(LATER, [job])
        stale = insert_job(admin, "running", silent_for="3 hours")

        ran, ended = one(owner, "select ran, stale from cortex.maintain()")

        assert (ran, ended) == (True, 1)
        assert one(admin, JOB, [job])[0] == "cancelled"
        assert one(admin, JOB, [stale])[0] == "interrupted"


@pytest.mark.parametrize(
    "grant", ["pg_signal_backend, pg_read_all_stats", "the application's role"]
)
def test_an_owner_with_the_right_ends_it(owned, grant):
    what = f'"{owned.app_name}"' if grant.startswith("the") else grant
    with runaway_of_the_app(owned) as (job, admin, call):
        admin.execute(f'grant {what} to "{owned.owner_name}"')
        with psycopg.connect(owned.owner, autocommit=True) as owner:
            owner.execute(CANCEL, [job])
        with pytest.raises(QueryCanceled):
            call.result(30)


def test_the_application_itself_may_ask_for_it(owned):
    """The rights are the owner's, not the caller's."""
    with (
        runaway_of_the_app(owned) as (job, admin, call),
        psycopg.connect(owned.app, autocommit=True) as colleague,
    ):
        admin.execute(f'grant pg_signal_backend, pg_read_all_stats to "{owned.owner_name}"')
        colleague.execute(CANCEL, [job])
        with pytest.raises(QueryCanceled):
            call.result(30)
