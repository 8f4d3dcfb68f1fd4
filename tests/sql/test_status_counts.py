"""cortex.status_counts: every job that matters, in exactly one bucket."""

import pytest

from tests.sql.asking import refused, rows, value

COUNTS = "select * from cortex.status_counts(hours => %s)"
STATES = ["queued", "running", "succeeded", "failed", "interrupted", "cancelled"]


def buckets(answer):
    return [(row["kind"], row["status"], row["jobs"]) for row in answer]


def nonzero(answer):
    return [bucket for bucket in buckets(answer) if bucket[2]]


def test_counts_each_kind_in_all_six_states(conn, make_job):
    """Q02: zero is shown as zero."""
    make_job("queued", kind="b")
    make_job("queued", kind="b")
    make_job("failed", kind="a")

    answer = buckets(rows(conn, COUNTS, [24]))

    assert answer == [
        *[("a", status, int(status == "failed")) for status in STATES],
        *[("b", status, 2 * (status == "queued")) for status in STATES],
    ]


def test_puts_every_job_into_exactly_one_bucket(conn, make_job):
    """Q02."""
    for status in STATES:
        for kind in ("a", "b"):
            make_job(status, kind=kind)

    answer = rows(conn, COUNTS, [24])

    assert sum(row["jobs"] for row in answer) == value(conn, "select count(*) from cortex.job")
    assert [row["jobs"] for row in answer] == [1] * 12


def test_counts_active_jobs_however_old_they_are(conn, make_job):
    """Policy 8."""
    make_job("queued", silent_for="30 days")
    make_job("running", silent_for="30 days")

    answers = [nonzero(rows(conn, COUNTS, [hours])) for hours in (0, 24)]

    assert answers == [[("test", "queued", 1), ("test", "running", 1)]] * 2


def test_counts_ended_jobs_by_when_they_ended(conn, make_job):
    """Policy 8."""
    make_job("failed", created_at="2020-01-01 00:00:00+00")
    make_job("failed", silent_for="25 hours")

    assert nonzero(rows(conn, COUNTS, [24])) == [("test", "failed", 1)]


@pytest.mark.parametrize(
    ("hours", "expected"), [("0", 0), ("1", 1), ("1.5", 2), ("1e300", 4), ("Infinity", 4)]
)
def test_takes_windows_of_any_length(conn, make_job, hours, expected):
    """F07."""
    for age in ("20 minutes", "80 minutes", "26 hours", "300 years"):
        make_job("succeeded", silent_for=age)

    answer = rows(conn, "select * from cortex.status_counts(%s::numeric)", [hours])

    assert sum(row["jobs"] for row in answer) == expected


def test_looks_back_24_hours_unless_told_otherwise(conn, make_job):
    make_job("failed", silent_for="23 hours")
    make_job("failed", silent_for="25 hours")

    answers = [nonzero(rows(conn, "select * from cortex.status_counts()"))]
    answers += [nonzero(rows(conn, COUNTS, [None]))]

    assert answers == [[("test", "failed", 1)]] * 2


def test_says_nothing_of_a_kind_that_has_no_job_in_the_window(conn, make_job):
    make_job("failed", kind="old", silent_for="25 hours")

    assert rows(conn, COUNTS, [24]) == []


@pytest.mark.parametrize("hours", ["-1", "-Infinity", "NaN"])
def test_refuses_a_window_that_makes_no_sense(conn, hours):
    """F07."""
    with refused(conn, "22023"):
        conn.execute("select * from cortex.status_counts(%s::numeric)", [hours])


def test_tells_a_zombie_as_running_like_find_job_until_it_is_reaped(conn, make_job):
    """A11: counting changes nothing; the reaper moves it to another bucket."""
    make_job("running", silent_for="3 hours")

    before = nonzero(rows(conn, COUNTS, [24]))
    conn.execute("select cortex.reap_stale()")
    after = nonzero(rows(conn, COUNTS, [24]))

    assert (before, after) == ([("test", "running", 1)], [("test", "interrupted", 1)])


def test_reads_in_a_read_only_transaction(conn, make_job):
    make_job("running")
    conn.execute("set transaction read only")

    assert nonzero(rows(conn, COUNTS, [24])) == [("test", "running", 1)]
