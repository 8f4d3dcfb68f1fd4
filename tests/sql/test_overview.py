"""cortex.overview: the top of an operator's screen, in one row."""

from __future__ import annotations

import pytest

from tests.sql.asking import refused, rows

OVERVIEW = "select * from cortex.overview(kind => %s, hours => %s)"


def overview(conn, kind=None, hours=None):
    [row] = rows(conn, OVERVIEW, [kind, hours])
    return row


def test_is_one_row_of_zeros_where_there_is_nothing(conn):
    row = overview(conn, kind="no such kind")

    assert {name: row[name] for name in ("queued", "ready", "running", "failed")} == {
        "queued": 0,
        "ready": 0,
        "running": 0,
        "failed": 0,
    }
    assert row["oldest_ready_at"] is None
    assert row["oldest_heartbeat_at"] is None


def test_tells_what_is_ready_from_what_only_waits(conn, make_job, make_runner):
    make_job("queued", kind="a", silent_for="5 minutes")
    make_job("queued", kind="a", silent_for="2 minutes")
    make_job("queued", kind="a", run_at="infinity")
    make_job("queued", kind="a", runner=make_runner(), pinned=True, silent_for="1 hour")

    row = overview(conn, "a")

    assert (row["queued"], row["ready"]) == (4, 2)
    assert 300 <= (row["at"] - row["oldest_ready_at"]).total_seconds() < 360


def test_tells_how_long_the_most_silent_running_job_has_been_silent(conn, make_job):
    make_job("running", kind="a")
    make_job("running", kind="a", silent_for="1 hour")

    row = overview(conn, "a")

    assert row["running"] == 2
    assert 3600 <= (row["at"] - row["oldest_heartbeat_at"]).total_seconds() < 3660


def test_counts_what_ended_in_its_window(conn, make_job):
    for status in ("succeeded", "failed", "interrupted", "cancelled"):
        make_job(status, kind="a", silent_for="59 minutes")
        make_job(status, kind="a", silent_for="61 minutes")

    names = ["succeeded", "failed", "interrupted", "cancelled"]
    assert [overview(conn, "a")[name] for name in names] == [1, 1, 1, 1]
    assert [overview(conn, "a", 2)[name] for name in names] == [2, 2, 2, 2]
    assert [overview(conn, "a", 0)[name] for name in names] == [0, 0, 0, 0]


def test_leaves_other_kinds_out_if_one_is_named(conn, make_job):
    make_job("queued", kind="a")
    make_job("queued", kind="b")

    assert overview(conn, "a")["queued"] == 1
    assert overview(conn)["queued"] >= 2


def test_counts_the_runners_that_live(conn, make_runner):
    before = overview(conn)["runners_alive"]
    make_runner()
    make_runner(alive=False)

    assert overview(conn)["runners_alive"] == before + 1


@pytest.mark.parametrize("hours", [-1, "NaN"])
def test_refuses_a_window_that_makes_no_sense(conn, hours):
    with refused(conn, "22023"):
        overview(conn, hours=hours)


def test_reads_no_history_beyond_its_window(conn, make_job):
    """10,000 active jobs and a long history: the plan touches what it counts and no more."""
    conn.execute(
        "insert into cortex.job (kind, status, created_at, updated_at, started_at, finished_at)"
        " select 'old', 'succeeded', m, m, m, m"
        " from (select clock_timestamp() - make_interval(hours => 2 + n / 100) as m"
        " from generate_series(1, 20000) as n) as moments"
    )
    make_job("running", kind="young")
    conn.execute("analyze cortex.job")
    before = _rows_read(conn)

    overview(conn)

    assert _rows_read(conn) - before < 2000


def _rows_read(conn) -> int:
    """Rows of cortex.job that this transaction has read, in order or through an index."""
    [row] = rows(
        conn,
        "select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables"
        " where relid = 'cortex.job'::regclass",
    )
    return row["read"]
