"""cortex.count_recent_with_status: jobs of a rolling window, by when they were made."""

import pytest

from tests.sql.asking import refused, value

COUNT = "select cortex.count_recent_with_status(status => %s, hours => %s)"
STATES = ["queued", "running", "succeeded", "failed", "interrupted", "cancelled"]


@pytest.mark.parametrize("status", STATES)
def test_counts_the_jobs_in_one_state(conn, make_job, status):
    for other in STATES:
        make_job(other)
    make_job(status)

    answer = value(conn, COUNT, [status, 24])

    assert answer == 2


def test_counts_by_when_a_job_was_made_not_by_when_it_ended(conn, make_job):
    """Policy 8."""
    make_job("failed", created_at="2020-01-01 00:00:00+00")
    make_job("failed", silent_for="23 hours")

    assert value(conn, COUNT, ["failed", 24]) == 1


def test_looks_back_24_hours_unless_told_otherwise(conn, make_job):
    make_job("failed", silent_for="23 hours 59 minutes")
    make_job("failed", silent_for="24 hours 1 second")

    default = value(conn, "select cortex.count_recent_with_status('failed')")
    null = value(conn, COUNT, ["failed", None])

    assert (default, null) == (1, 1)


@pytest.mark.parametrize(
    ("hours", "expected"),
    [("0.5", 1), ("1", 1), ("1.5", 2), ("48", 3), ("876600", 4), ("1e300", 4), ("Infinity", 4)],
)
def test_takes_windows_of_any_length(conn, make_job, hours, expected):
    """F07: more than a century is the whole history, and nothing overflows."""
    for age in ("20 minutes", "80 minutes", "26 hours", "90 years"):
        make_job("failed", silent_for=age)

    answer = value(conn, "select cortex.count_recent_with_status('failed', %s::numeric)", [hours])

    assert answer == expected


def test_counts_nothing_in_a_window_of_no_time(conn, make_job):
    """F07; nor F05: what a clock ahead made."""
    make_job("failed")
    make_job("failed", created_at="2100-01-01 00:00:00+00")

    assert value(conn, COUNT, ["failed", 0]) == 0


@pytest.mark.parametrize("hours", ["-1", "-0.001", "-1e300", "-Infinity", "NaN"])
def test_refuses_a_window_that_makes_no_sense(conn, hours):
    """F07."""
    with refused(conn, "22023"):
        conn.execute("select cortex.count_recent_with_status('failed', %s::numeric)", [hours])


def test_refuses_a_null_status(conn):
    with refused(conn, "22004"):
        conn.execute(COUNT, [None, 24])


def test_refuses_a_state_that_there_is_not(conn):
    with refused(conn, "22P02"):
        conn.execute(COUNT, ["done", 24])


def test_counts_what_a_clock_ahead_made(conn, make_job):
    """F05."""
    make_job("failed", created_at="2100-01-01 00:00:00+00")

    assert value(conn, COUNT, ["failed", 1]) == 1


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("hours", [2400, 3600, 4800, 6000])
def test_counts_the_same_in_every_time_zone(conn, make_job, zone, hours):
    """F03: windows are absolute time, also across a change of the clocks."""
    conn.execute("select set_config('timezone', %s, true)", [zone])
    make_job("failed", silent_for=f"{hours - 1} hours 59 minutes")
    make_job("failed", silent_for=f"{hours} hours 1 minute")

    assert value(conn, COUNT, ["failed", hours]) == 1


def test_changes_nothing(conn, make_job):
    make_job("running", silent_for="3 hours")
    conn.execute("set transaction read only")

    assert value(conn, COUNT, ["running", 24]) == 1
