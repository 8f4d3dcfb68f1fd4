"""The end of a job and those who presume it dead, in both orders; and everybody twice at once."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import Connection, IsolationLevel
from psycopg.rows import namedtuple_row

from tests.concurrency.invariants import assert_invariants
from tests.concurrency.parallel import at_once, retried, scalar, sessions, waiting

FINISH = "select cortex.finish_job(%s, %s, message => %s, attempt => 1)"
STATUS = "select j.status, j.message from cortex.job as j where j.uuid = %s"
EVENTS = (
    "select e.from_status, e.to_status from cortex.job_events as e where e.job = %s order by e.at"
)

REAPERS = {
    "reap_stale": "select cortex.reap_stale()",
    "interrupt_orphans": "select cortex.interrupt_orphans()",
    "maintain": "select stale + orphaned from cortex.maintain()",
}
reapers = pytest.mark.parametrize("reap", REAPERS.values(), ids=REAPERS.keys())


def events(conn: Connection[Any], job: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in conn.execute(EVENTS, [job])]


@reapers
def test_finish_waits_for_the_reaper_and_corrects_it(connect, committed, reap):
    job = committed.make_job("running", silent_for="3 hours")
    reaper, body = connect(), connect(autocommit=True)
    assert scalar(reaper, reap) == 1

    with waiting(
        committed.conn, body, lambda: scalar(body, FINISH, [job, "succeeded", "late"])
    ) as call:
        reaper.commit()
        answer = call.result(30)

    assert answer is True
    assert committed.conn.execute(STATUS, [job]).fetchone() == ("succeeded", "late")
    assert events(committed.conn, job)[1:] == [
        ("running", "interrupted"),
        ("interrupted", "succeeded"),
    ]
    assert_invariants(committed.conn)


@reapers
def test_finish_goes_on_when_the_reaper_rolls_back(connect, committed, reap):
    job = committed.make_job("running", silent_for="3 hours")
    reaper, body = connect(), connect(autocommit=True)
    scalar(reaper, reap)

    with waiting(committed.conn, body, lambda: scalar(body, FINISH, [job, "failed", ""])) as call:
        reaper.rollback()
        answer = call.result(30)

    assert answer is True
    assert events(committed.conn, job)[1:] == [("running", "failed")]


@reapers
def test_the_reaper_goes_round_a_job_that_is_finishing(connect, committed, reap):
    job = committed.make_job("running", silent_for="3 hours")
    stale = committed.make_job("running", silent_for="3 hours")
    reaper, body = connect(autocommit=True), connect()
    body.execute(FINISH, [job, "succeeded", "in time"])

    reaper.execute("set lock_timeout = '1s'")
    reaped = scalar(reaper, reap)
    body.commit()

    assert reaped == 1
    assert committed.conn.execute(STATUS, [job]).fetchone() == ("succeeded", "in time")
    assert committed.conn.execute(STATUS, [stale]).fetchone()[0] == "interrupted"
    assert_invariants(committed.conn)


@reapers
def test_the_reaper_leaves_a_job_that_steps_at_the_same_moment(connect, committed, reap):
    """Case G04: the row of a job is locked while it steps."""
    job = committed.make_job("running", silent_for="3 hours")
    reaper, body = connect(autocommit=True), connect()
    body.execute("select cortex.step(%s, 1)", [job])

    reaped = scalar(reaper, reap)
    body.commit()

    assert reaped == 0
    assert committed.conn.execute(STATUS, [job]).fetchone()[0] == "running"


def test_ends_well_whoever_comes_first(connect, committed):
    """Both let go at the same moment, a hundred times: the body's word stands."""
    reaper, body = connect(autocommit=True), connect(autocommit=True)
    orders = set()
    for _ in range(100):
        job = committed.make_job("running", silent_for="3 hours")

        answer, _ = at_once(
            [
                lambda job=job: scalar(body, FINISH, [job, "succeeded", "done"]),
                lambda: scalar(reaper, "select cortex.reap_stale()"),
            ]
        )

        assert answer is True
        assert committed.conn.execute(STATUS, [job]).fetchone() == ("succeeded", "done")
        orders.add(len(events(committed.conn, job)))
    assert orders <= {2, 3}
    assert_invariants(committed.conn)


@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_a_finish_with_a_fixed_snapshot_is_told_to_retry(connect, committed, level):
    job = committed.make_job("running", silent_for="3 hours")
    body = connect()
    body.isolation_level = level
    body.execute(STATUS, [job])
    scalar(committed.conn, "select cortex.reap_stale()")

    with pytest.raises(psycopg.errors.SerializationFailure):
        body.execute(FINISH, [job, "succeeded", ""])
    body.rollback()
    answer = retried(body, lambda: scalar(body, FINISH, [job, "succeeded", ""]))

    assert answer is True


def test_the_same_finish_twice_at_once_is_one_event(connect, committed):
    """Case B08."""
    conns = [connect(autocommit=True) for _ in range(2)]
    for _ in range(30):
        job = committed.make_job("running")

        answers = at_once(
            [
                lambda conn=conn, job=job: scalar(conn, FINISH, [job, "succeeded", "done"])
                for conn in conns
            ]
        )

        assert answers == [True, True]
        assert events(committed.conn, job)[1:] == [("running", "succeeded")]


def test_of_two_different_ends_at_once_exactly_one_stands(connect, committed):
    conns = [connect(autocommit=True) for _ in range(2)]
    for _ in range(30):
        job = committed.make_job("running")

        answers = at_once(
            [
                lambda conn=conn, job=job, status=status: scalar(conn, FINISH, [job, status, ""])
                for conn, status in zip(conns, ["succeeded", "failed"], strict=True)
            ]
        )

        winner = ["succeeded", "failed"][answers.index(True)]
        assert sorted(answers) == [False, True]
        assert events(committed.conn, job)[1:] == [("running", winner)]


def test_of_two_starters_at_once_exactly_one_starts(connect, committed):
    conns = [connect(autocommit=True) for _ in range(4)]
    for _ in range(30):
        job = committed.make_job("queued")

        answers = at_once(
            [
                lambda conn=conn, job=job: scalar(conn, "select cortex.set_running(%s)", [job])
                for conn in conns
            ]
        )

        assert sorted(answers) == [False, False, False, True]
        assert events(committed.conn, job)[1:] == [("queued", "running")]


def test_four_starters_sweep_50_orphans_once_each(database, committed):
    """Case C05."""
    jobs = [committed.make_job("running", silent_for="1 minute") for _ in range(40)]
    jobs += [committed.make_job("queued") for _ in range(10)]

    with sessions(database, 4, autocommit=True) as conns:
        for conn in conns:
            conn.execute("set lock_timeout = '5s'")
        swept = at_once(
            [lambda conn=conn: scalar(conn, "select cortex.interrupt_orphans()") for conn in conns]
        )

    assert sum(swept) == 50
    for job in jobs:
        assert committed.conn.execute(STATUS, [job]).fetchone() == (
            "interrupted",
            "interrupted by a restart",
        )
        assert len(events(committed.conn, job)) == 2
    assert_invariants(committed.conn)


def test_ten_upkeeps_at_once_do_it_once(database, committed):
    dead = committed.make_runner(alive=False)
    for _ in range(25):
        committed.make_job("running", silent_for="3 hours")
        committed.make_job("running", runner=dead)
        committed.make_job("succeeded", silent_for="3 days")
    committed.conn.execute("select cortex.configure(keep => '1 day')")

    with sessions(database, 10, autocommit=True) as conns:
        for conn in conns:
            conn.row_factory = namedtuple_row
            conn.execute("set lock_timeout = '5s'")
        reports = at_once(
            [
                lambda conn=conn: conn.execute("select * from cortex.maintain()").fetchone()
                for conn in conns
            ]
        )

    assert any(report.ran for report in reports)
    assert sum(report.stale for report in reports) == 25
    assert sum(report.orphaned for report in reports) == 25
    assert sum(report.purged for report in reports) == 25
    assert_invariants(committed.conn)


def test_upkeep_leaves_at_once_when_another_is_at_it(connect, committed):
    """Also when that one hangs."""
    other, caller = connect(), connect(autocommit=True)
    assert scalar(other, "select ran from cortex.maintain()") is True
    committed.make_job("running", silent_for="3 hours")

    caller.execute("set lock_timeout = '1s'")
    report = caller.execute("select ran, stale from cortex.maintain()").fetchone()

    assert report == (False, 0)


def test_upkeep_and_reaper_go_round_rows_that_somebody_holds(connect, committed):
    """Case G04: the one row that is locked for an hour must not save all the others."""
    dead = committed.make_runner(alive=False)
    held = [
        committed.make_job("running", silent_for="3 hours"),
        committed.make_job("running", runner=dead),
        committed.make_job("failed", silent_for="3 days"),
    ]
    stale = committed.make_job("running", silent_for="3 hours")
    orphan = committed.make_job("running", runner=dead)
    old = committed.make_job("failed", silent_for="3 days")
    committed.conn.execute("select cortex.configure(keep => '1 day')")
    holder, caller = connect(), connect(autocommit=True)
    holder.execute("select from cortex.job as j where j.uuid = any(%s) for update", [held])

    caller.execute("set lock_timeout = '1s'")
    report = caller.execute("select ran, stale, orphaned, purged from cortex.maintain()").fetchone()

    assert report == (True, 1, 1, 1)
    assert committed.conn.execute(STATUS, [stale]).fetchone()[0] == "interrupted"
    assert committed.conn.execute(STATUS, [orphan]).fetchone()[0] == "interrupted"
    assert committed.conn.execute(STATUS, [old]).fetchone() is None


def test_reaper_finds_the_stale_one_behind_many_that_are_exempt(committed):
    """Case A06, with a limit that no calendar holds."""
    committed.conn.execute("select cortex.configure_kind('patient', stale_after => '10000 years')")
    for _ in range(60):
        committed.make_job("running", kind="patient", silent_for="300 days")
    stale = committed.make_job("running", silent_for="3 hours")

    reaped = scalar(committed.conn, "select cortex.reap_stale()")

    assert reaped == 1
    assert committed.conn.execute(STATUS, [stale]).fetchone()[0] == "interrupted"


def test_reaper_ends_the_others_when_somebody_elses_trigger_minds_one(committed):
    """A poison row: one job can't be ended, the rest must not wait for it."""
    committed.conn.execute(
        """
        create function public.mind() returns trigger language plpgsql as
        $$ begin raise exception 'not this one'; end $$
        """
    )
    committed.conn.execute(
        "create trigger minds before update on cortex.job for each row"
        " when (old.kind = 'poison') execute function public.mind()"
    )
    committed.make_job("running", kind="poison", silent_for="4 hours")
    stale = [committed.make_job("running", silent_for="3 hours") for _ in range(3)]

    notices: list[str] = []
    committed.conn.add_notice_handler(lambda notice: notices.append(notice.severity_nonlocalized))
    report = committed.conn.execute("select ran, stale from cortex.maintain()").fetchone()

    assert report == (True, 3)
    assert "WARNING" in notices
    for job in stale:
        assert committed.conn.execute(STATUS, [job]).fetchone()[0] == "interrupted"


def test_interrupted_attempt_that_waits_again_keeps_its_late_finisher_out(connect, committed):
    """Case B03: requeued and claimed again while the first attempt still runs."""
    committed.conn.execute(
        "select cortex.configure_kind("
        "'test', max_attempts => 3, on_interrupt => 'requeue', backoff => '0')"
    )
    runner = committed.make_runner()
    job = committed.make_job("running", silent_for="3 hours")
    reaper, first = connect(), connect(autocommit=True)
    assert scalar(reaper, "select cortex.reap_stale()") == 1

    with waiting(
        committed.conn, first, lambda: scalar(first, FINISH, [job, "succeeded", "old"])
    ) as call:
        reaper.commit()
        with pytest.raises(psycopg.DatabaseError) as caught:
            call.result(30)
    taken = committed.conn.execute(
        "select j.uuid, j.attempt from cortex.claim_jobs(%s, array['test']) as j", [runner]
    ).fetchall()
    verdict = scalar(first, "select cortex.step(%s, 5, attempt => 1)", [job])

    assert caught.value.sqlstate == "JC202"
    assert taken == [(job, 2)]
    assert verdict == "stop"
    assert committed.conn.execute(STATUS, [job]).fetchone() == ("running", "")
    assert_invariants(committed.conn)
