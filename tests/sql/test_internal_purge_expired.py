"""cortex.purge_expired, by which the upkeep forgets finished jobs, one look at a time."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import fresh_name
from tests.sql.asking import rows, table_of, value

PURGE = "select cortex.purge_expired(batch_size => %s)"


def left(conn):
    return {job["uuid"] for job in table_of(conn)}


@pytest.fixture
def keeps(conn):
    """An hour for every kind but one, which is kept for ten years."""
    conn.execute("select cortex.configure(keep => '1 hour')")
    conn.execute("select cortex.configure_kind('books', keep => '10 years')")


@pytest.mark.parametrize("status", ["succeeded", "failed", "interrupted", "cancelled"])
def test_deletes_what_is_older_than_its_kind_says(conn, keeps, make_job, status):
    make_job(status, silent_for="61 minutes")
    kept = {
        make_job(status, silent_for="59 minutes"),
        make_job(status, kind="books", silent_for="9 years"),
        make_job("queued", silent_for="1 year"),
        make_job("running", silent_for="1 year"),
    }

    assert value(conn, PURGE, [100]) == 1
    assert left(conn) == kept


def test_keeps_everything_where_nothing_says_for_how_long(conn, make_job):
    make_job("succeeded", silent_for="100 years")

    assert value(conn, PURGE, [100]) == 0


def test_finds_what_is_behind_many_that_are_to_be_kept(conn, keeps, make_job):
    """A06: it goes on where the last look stopped, and begins anew at the end."""
    kept = {make_job("succeeded", kind="books", silent_for="9 years") for _ in range(7)}
    for _ in range(2):
        make_job("succeeded", silent_for="2 hours")

    deleted = [value(conn, PURGE, [3]) for _ in range(4)]

    assert deleted == [0, 0, 2, 0]
    assert left(conn) == kept
    make_job("succeeded", silent_for="10 years")
    assert sum(value(conn, PURGE, [3]) for _ in range(4)) == 1


def test_loses_none_of_many_that_ended_at_the_same_moment(conn, keeps, make_job):
    moment = value(conn, "select clock_timestamp() - interval '2 hours'")
    for _ in range(10):
        make_job("succeeded", silent_for="3 hours", finished_at=moment)

    assert [value(conn, PURGE, [3]) for _ in range(4)] == [3, 3, 3, 1]


def test_skips_a_job_that_somebody_has_locked_and_finds_it_the_next_time(committed, connect):
    committed.conn.execute("select cortex.configure(keep => '1 hour')")
    job = committed.make_job("succeeded", silent_for="2 hours")
    committed.make_job("succeeded", silent_for="2 hours")
    other = connect()
    other.execute("select from cortex.job where uuid = %s for update", [job])

    assert value(committed.conn, PURGE, [100]) == 1

    other.rollback()
    assert left(committed.conn) == {job}
    assert value(committed.conn, PURGE, [100]) == 1


@pytest.mark.parametrize("keep", ["1000 years", "10000 years"])
def test_takes_an_age_older_than_time_itself(conn, make_job, keep):
    conn.execute("select cortex.configure(keep => %s::interval)", [keep])
    make_job("succeeded", silent_for="300 days")

    assert value(conn, PURGE, [100]) == 0


def test_is_what_the_upkeep_does(conn, keeps, make_job):
    make_job("succeeded", silent_for="2 hours")

    assert value(conn, "select purged from cortex.maintain()") == 1
    assert left(conn) == set()


def test_reads_a_batch_and_no_more_of_many_jobs_that_are_to_be_kept(server, template):
    name = fresh_name("expired")
    url = server.create(name, template)
    try:
        with psycopg.connect(url) as conn:
            conn.execute("select cortex.configure(keep => '10 years')")
            conn.execute("select cortex.configure_kind('brief', keep => '1 second')")
            conn.execute("alter table cortex.job disable trigger user")
            conn.execute(
                "insert into cortex.job (kind, status, started_at, finished_at, attempt)"
                " select 'k', 'succeeded', at, at, 1 from generate_series(1, 50000) as g"
                " cross join lateral (select now() - g * interval '1 minute' as at) as t"
            )
            conn.execute("alter table cortex.job enable trigger user")
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("vacuum analyze cortex.job, cortex.event")
        with psycopg.connect(url) as conn:
            for _ in range(7):
                assert value(conn, PURGE, [100]) == 0

            [read] = rows(
                conn,
                "select pg_stat_get_xact_numscans('cortex.job'::regclass) as scans,"
                " pg_stat_get_xact_tuples_fetched('cortex.job_finished_idx'::regclass) as by_index",
            )
            assert read["scans"] == 0
            assert read["by_index"] <= 7 * 110
    finally:
        server.drop(name)
