"""cortex.keep_runner: a runner's beat, and which of its jobs should stop."""

from uuid import uuid4

import pytest

from tests.sql.asking import job_of, refused, rows, table_of, value
from tests.waiting import wait_until

KEEP = "select * from cortex.keep_runner(runner => %s)"
REGISTER = "select cortex.register_runner(name => 'a', host => 'h', pid => 1)"
ALIVE = "select alive from cortex.runners where uuid = %s"


def age(conn, runner, by="1 day"):
    conn.execute(
        "update cortex.runner set seen_at = clock_timestamp() - %s::interval where uuid = %s",
        [by, runner],
    )


def test_refreshes_the_beat(conn, make_runner):
    runner = make_runner(silent_for="1 minute")
    [before] = table_of(conn, "runner")
    asked_at = value(conn, "select clock_timestamp()")

    answer = rows(conn, KEEP, [runner])

    [after] = table_of(conn, "runner")
    assert answer == []
    assert after == before | {"seen_at": after["seen_at"]}
    assert after["seen_at"] > asked_at


def test_is_a_heap_only_update(conn, make_runner):
    runner = make_runner()
    hot = "select pg_stat_get_xact_tuples_hot_updated('cortex.runner'::regclass)"
    before = value(conn, hot)

    conn.execute(KEEP, [runner])

    assert value(conn, hot) == before + 1


def test_names_the_jobs_that_somebody_wants_cancelled(conn, make_job, make_runner):
    runner, asked_at = make_runner(), "2020-01-01 00:00:00+00"
    job = make_job("running", runner=runner, cancel_requested_at=asked_at)
    make_job("running", runner=runner)
    make_job("running", runner=make_runner(), cancel_requested_at=asked_at)

    answer = rows(conn, KEEP, [runner])

    assert answer == [{"job": job, "verdict": "cancel", "attempt": 1, "hard": False}]


def test_names_the_jobs_that_were_ended_behind_its_back(conn, make_job, make_runner):
    """B04: whoever was only slow hears of it at the next beat."""
    runner = make_runner(silent_for="5 seconds")
    reaped = make_job("interrupted", runner=runner)
    for status in ("running", "succeeded", "failed", "cancelled"):
        make_job(status, runner=runner)
    make_job("interrupted", runner=make_runner())

    answer = rows(conn, KEEP, [runner])

    assert answer == [{"job": reaped, "verdict": "stop", "attempt": 1, "hard": True}]


def test_says_nothing_more_of_what_ended_long_before_the_last_beat(conn, make_job, make_runner):
    runner = make_runner(silent_for="5 seconds")
    make_job("interrupted", runner=runner)
    conn.execute("update cortex.event set at = at - interval '10 minutes'")

    assert rows(conn, KEEP, [runner]) == []


def test_tells_a_runner_that_comes_back_after_an_hour_of_all_that_it_lost(
    conn, make_job, make_runner
):
    runner = make_runner(silent_for="1 hour")
    lost = make_job("interrupted", runner=runner, silent_for="59 minutes")

    assert rows(conn, KEEP, [runner]) == [
        {"job": lost, "verdict": "stop", "attempt": 1, "hard": True}
    ]


def test_revives_a_runner_that_looked_dead(conn, make_runner):
    runner = make_runner(alive=False)
    before = value(conn, ALIVE, [runner])

    conn.execute(KEEP, [runner])

    assert (before, value(conn, ALIVE, [runner])) == (False, True)


def test_changes_no_job(conn, make_job, make_runner):
    runner = make_runner()
    jobs = [make_job("running", runner=runner, silent_for="1 hour"), make_job("queued")]
    before = [job_of(conn, job) for job in jobs]

    conn.execute(KEEP, [runner])

    assert [job_of(conn, job) for job in jobs] == before


def test_takes_the_lease_over_in_a_new_session(connect, committed):
    first, second = connect(autocommit=True), connect(autocommit=True)
    runner = value(first, REGISTER)
    gone = first.info.backend_pid
    first.close()
    there = "select count(*) from pg_stat_activity where pid = %s"
    wait_until(lambda: value(second, there, [gone]) == 0, what="the first session is gone")

    second.execute(KEEP, [runner])

    age(committed.conn, runner)
    [row] = table_of(committed.conn, "runner")
    assert row["backend_pid"] == second.info.backend_pid
    assert value(committed.conn, ALIVE, [runner]) is True


def test_counts_beats_alone_once_another_session_speaks_for_it(connect, committed):
    """H07: behind a pooler a session's lock says nothing about the runner."""
    first, second = connect(autocommit=True), connect(autocommit=True)
    runner = value(first, REGISTER)

    second.execute(KEEP, [runner])

    alive_by_beat = value(committed.conn, ALIVE, [runner])
    age(committed.conn, runner)
    [row] = table_of(committed.conn, "runner")
    assert row["backend_pid"] is None
    assert (alive_by_beat, value(committed.conn, ALIVE, [runner])) == (True, False)


def test_takes_no_second_lock_in_the_session_that_has_the_lease(conn):
    runner = value(conn, REGISTER)
    for _ in range(3):
        conn.execute(KEEP, [runner])

    freed = value(
        conn,
        "select pg_advisory_unlock(cortex.lock_space(), lease) from cortex.runner where uuid = %s",
        [runner],
    )

    held = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"
    assert freed is True
    assert value(conn, held) == 0


def test_refuses_a_runner_that_never_was(conn):
    with refused(conn, "JC102"):
        conn.execute(KEEP, [uuid4()])


def test_refuses_a_runner_that_has_retired(conn, make_runner):
    runner = make_runner(retired_at="2020-01-01 00:00:00+00")

    with refused(conn, "JC102"):
        conn.execute(KEEP, [runner])


def test_refuses_null(conn):
    with refused(conn, "22004"):
        conn.execute(KEEP, [None])


@pytest.mark.parametrize("seen_at", ["2100-01-01 00:00:00+00"])
def test_sets_a_beat_right_that_a_clock_ahead_wrote(conn, make_runner, seen_at):
    """F05."""
    runner = make_runner(seen_at=seen_at)

    conn.execute(KEEP, [runner])

    [row] = table_of(conn, "runner")
    assert row["seen_at"] <= value(conn, "select clock_timestamp()")
