"""cortex.maintain: the upkeep, in one call."""

import pytest

from tests.sql.asking import job_of, rows, status_of, table_of, value

MAINTAIN = "select * from cortex.maintain()"


def maintain(conn):
    """What the upkeep did, without the parts that had nothing to do."""
    [answer] = rows(conn, MAINTAIN)
    assert set(answer) >= {"ran", "stale", "orphaned", "purged", "cron_runs_purged"}
    assert None not in answer.values()
    return {part: count for part, count in answer.items() if count}


def test_says_what_it_did(conn, make_job, make_runner):
    conn.execute("update cortex.settings set keep = '1 hour'")
    make_job("running", silent_for="3 hours")
    gone = make_runner(alive=False)
    for status in ("queued", "running"):
        make_job(status, runner=gone)
    for _ in range(3):
        make_job("succeeded", silent_for="2 hours")

    did = maintain(conn)

    assert did == {"ran": True, "stale": 1, "orphaned": 2, "purged": 3}


def test_changes_no_job_where_nothing_is_wrong(conn, make_job, make_runner):
    runner = make_runner()
    for status in ("queued", "running", "succeeded", "failed", "interrupted", "cancelled"):
        make_job(status, silent_for="1 hour")
        make_job(status, runner=runner)
    before = table_of(conn)

    did = maintain(conn)

    assert did == {"ran": True}
    assert table_of(conn) == before


def test_closes_the_jobs_of_a_dead_runner_after_its_grace(conn, make_job, make_runner):
    """A01: at once, not after two hours, and with the database alone."""
    runner = make_runner(silent_for="31 seconds", name="w1", host="web-3", pid=99)
    job = make_job("running", runner=runner)
    before = job_of(conn, job)

    conn.execute(MAINTAIN)

    after = job_of(conn, job)
    assert after == before | {
        "status": "interrupted",
        "message": "its runner w1 (pid 99 on web-3) is gone; interrupted",
        "finished_at": after["finished_at"],
    }


def test_leaves_the_jobs_of_a_runner_within_its_grace(conn, make_job, make_runner):
    job = make_job("running", runner=make_runner(silent_for="29 seconds"))

    conn.execute(MAINTAIN)

    assert status_of(conn, job) == "running"


def test_leaves_the_jobs_of_a_silent_runner_that_holds_its_lease(conn, make_job):
    """A04: a body that keeps the process from beating doesn't make it dead."""
    runner = value(conn, "select cortex.register_runner('a', 'h', 1)")
    conn.execute("update cortex.runner set seen_at = seen_at - interval '1 day'")
    job = make_job("running", runner=runner)

    conn.execute(MAINTAIN)

    assert status_of(conn, job) == "running"


@pytest.mark.parametrize("status", ["queued", "running"])
def test_closes_jobs_of_a_runner_that_retired(conn, make_job, make_runner, status):
    job = make_job(status, runner=make_runner(retired_at="2020-01-01 00:00:00+00"))

    conn.execute(MAINTAIN)

    assert status_of(conn, job) == "interrupted"


def test_leaves_jobs_of_nobody_alone(conn, make_job, make_runner):
    """A07."""
    make_runner(alive=False)
    job = make_job("queued", silent_for="30 days")

    conn.execute(MAINTAIN)

    assert status_of(conn, job) == "queued"


def test_notes_when_it_ran_and_what_it_did(conn, make_job):
    make_job("running", silent_for="3 hours")
    asked_at = value(conn, "select clock_timestamp()")

    conn.execute(MAINTAIN)

    [record] = rows(conn, "select * from cortex.upkeep_record")
    assert record["last_run_at"] > asked_at
    assert record == record | {
        "last_run_at": record["last_run_at"],
        "last_role": value(conn, "select session_user::text"),
        "stale": 1,
        "orphaned": 0,
        "purged": 0,
    }


def test_leaves_at_once_when_another_call_is_at_it(connect, committed):
    """P13."""
    other = connect()
    other.execute(MAINTAIN)
    zombie = committed.make_job("running", silent_for="3 hours")
    before = table_of(committed.conn, "upkeep")
    committed.conn.execute("set lock_timeout = '5s'")

    did = maintain(committed.conn)

    assert did == {}
    assert status_of(committed.conn, zombie) == "running"
    assert table_of(committed.conn, "upkeep") == before


def test_may_be_repeated(conn, make_job):
    make_job("running", silent_for="3 hours")
    conn.execute(MAINTAIN)

    assert maintain(conn) == {"ran": True}


@pytest.mark.parametrize(
    ("broken", "left"),
    [
        ("reap_orphans()", {"stale": 1, "purged": 1}),
        ("reap_stale(interval)", {"orphaned": 1, "purged": 1}),
        ("purge_expired(batch_size integer)", {"stale": 1, "orphaned": 1}),
        ("purge_cron_runs()", {"stale": 1, "orphaned": 1, "purged": 1}),
        ("purge_runners(batch_size integer)", {"stale": 1, "orphaned": 1, "purged": 1}),
    ],
)
def test_goes_on_where_one_part_fails(conn, make_job, make_runner, notices, broken, left):
    """Q05: independent sweeps; and a warning for the one that failed."""
    conn.execute("update cortex.settings set keep = '1 hour'")
    make_job("running", silent_for="3 hours")
    make_job("running", runner=make_runner(alive=False))
    make_job("succeeded", silent_for="2 hours")
    name, arguments = broken.rstrip(")").split("(")
    defaults = ", ".join(f"{each} default null" for each in arguments.split(",") if each)
    conn.execute(f"drop function cortex.{broken}")
    conn.execute(
        f"create function cortex.{name}({defaults}) returns integer language plpgsql"
        " as $$ begin raise exception 'broken on purpose'; end $$"
    )

    did = maintain(conn)

    assert did == {"ran": True} | left
    assert len(notices) == 1
    assert "broken on purpose" in notices[0]


def test_works_in_every_isolation_level(conn, make_job):
    conn.execute("set transaction isolation level serializable")
    make_job("running", silent_for="3 hours")

    assert maintain(conn) == {"ran": True, "stale": 1}


def test_works_beyond_the_largest_int4(conn, make_job, make_runner):
    """E14."""
    conn.execute("alter table cortex.job alter column id restart with 2147483646")
    gone = make_runner(alive=False)
    for _ in range(4):
        make_job("running", silent_for="3 hours")
        make_job("running", runner=gone)

    assert maintain(conn) == {"ran": True, "stale": 4, "orphaned": 4}
