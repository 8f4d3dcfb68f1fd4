"""cortex.purge_runners, by which the rows of runners that are gone go too."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import fresh_name
from tests.sql.asking import rows, value

PURGE = "select cortex.purge_runners(batch_size => %s)"
WEEK_AGO = "now() - interval '169 hours'"


@pytest.fixture
def gone(conn, make_runner):
    """Makes a runner that died, or retired, over a week ago."""

    def make(**columns):
        return make_runner(silent_for="169 hours", **columns)

    return make


def runners(conn):
    return {row["uuid"] for row in rows(conn, "select uuid from cortex.runner")}


def test_forgets_a_runner_that_died_or_retired_over_a_week_ago(conn, gone):
    moment = value(conn, f"select {WEEK_AGO}")
    gone()
    gone(retired_at=moment)

    assert value(conn, PURGE, [500]) == 2
    assert runners(conn) == set()


def test_keeps_a_runner_for_a_week_after_it_was_gone(conn, make_runner):
    kept = {
        make_runner(silent_for="167 hours"),
        make_runner(silent_for="200 hours", retired_at=value(conn, "select now()")),
    }

    assert value(conn, PURGE, [500]) == 0
    assert runners(conn) == kept


def test_keeps_a_runner_that_lives(conn, make_runner):
    """Seen long ago, but its session holds its lease: a process that was stopped and may go on."""
    runner = value(conn, "select cortex.register_runner('r', 'h', 1)")
    conn.execute("update cortex.runner set seen_at = now() - interval '1 year'")

    assert value(conn, PURGE, [500]) == 0
    assert runners(conn) == {runner}


@pytest.mark.parametrize(
    "status", ["queued", "running", "succeeded", "failed", "interrupted", "cancelled"]
)
def test_keeps_a_runner_that_a_job_tells_of(conn, gone, make_job, status):
    runner = gone()
    make_job(status, runner=runner)

    assert value(conn, PURGE, [500]) == 0
    assert runners(conn) == {runner}


@pytest.mark.parametrize("outcome", ["failed", "interrupted"])
def test_keeps_a_runner_that_only_the_history_of_a_job_tells_of(conn, gone, make_job, outcome):
    """Its attempt was lost, and the job went on with another runner."""
    runner = gone()
    job = make_job("running", runner=runner)
    conn.execute(
        "update cortex.job set status = %s, finished_at = clock_timestamp() where uuid = %s",
        [outcome, job],
    )
    conn.execute(
        "update cortex.job set status = 'queued', finished_at = null, started_at = null,"
        " runner = null where uuid = %s",
        [job],
    )

    assert value(conn, PURGE, [500]) == 0

    conn.execute("delete from cortex.job")
    assert value(conn, PURGE, [500]) == 1


def test_looks_through_all_of_them_batch_by_batch(conn, gone, make_job):
    """However many are kept for their jobs, those behind them are found."""
    kept = {gone() for _ in range(7)}
    for runner in kept:
        make_job("succeeded", runner=runner)
    for _ in range(7):
        gone()

    deleted = [value(conn, PURGE, [3]) for _ in range(5)]

    assert sum(deleted) == 7
    assert max(deleted) <= 3
    assert runners(conn) == kept
    gone()
    assert sum(value(conn, PURGE, [3]) for _ in range(4)) == 1


def test_skips_a_runner_that_somebody_has_locked(committed, connect):
    runner = committed.make_runner(silent_for="169 hours")
    other = connect()
    other.execute("select from cortex.runner for update")

    assert value(committed.conn, PURGE, [500]) == 0

    other.rollback()
    assert runners(committed.conn) == {runner}
    assert value(committed.conn, PURGE, [500]) == 1


def test_is_part_of_the_upkeep(committed):
    committed.make_runner(silent_for="169 hours")

    assert value(committed.conn, "select runners_purged from cortex.maintain()") == 1
    assert runners(committed.conn) == set()


def test_reads_a_batch_and_no_more_of_many_runners_and_jobs(server, template):
    name = fresh_name("runners")
    url = server.create(name, template)
    try:
        with psycopg.connect(url) as conn:
            conn.execute("alter table cortex.job disable trigger user")
            conn.execute(
                "insert into cortex.runner (name, host, pid, seen_at)"
                f" select 'r', 'h', g, {WEEK_AGO} from generate_series(1, 20000) as g"
            )
            conn.execute(
                "insert into cortex.job (kind, status, runner, started_at, finished_at, attempt)"
                " select 'k', 'succeeded', r.uuid, now(), now(), 1 from cortex.runner as r"
                " where r.pid % 2 = 0"
            )
            conn.execute("alter table cortex.job enable trigger user")
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("vacuum analyze cortex.runner, cortex.job, cortex.event")
        with psycopg.connect(url) as conn:
            # More often than the five times after which a session may keep one plan for all.
            deleted = [value(conn, PURGE, [500]) for _ in range(7)]

            read = rows(
                conn,
                """
                select c.relname as table, pg_stat_get_xact_numscans(c.oid) as scans,
                    pg_stat_get_xact_tuples_returned(c.oid) as read
                from pg_class as c
                where c.oid in ('cortex.job'::regclass, 'cortex.runner'::regclass)
                """,
            )
            assert 150 < min(deleted) <= max(deleted) < 350
            assert [row for row in read if row["scans"] or row["read"]] == []
    finally:
        server.drop(name)
