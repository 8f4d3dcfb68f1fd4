"""cortex.purge_plan: what purge_jobs would delete."""

import pytest

from tests.sql.asking import refused, rows, value

PLAN = "select * from cortex.purge_plan(%s)"


def test_counts_by_kind_and_status_what_is_older(conn, make_job):
    for status in ("succeeded", "failed", "interrupted", "cancelled"):
        make_job(status, kind="old", silent_for="40 days")
    make_job("failed", kind="old", silent_for="40 days")
    make_job("succeeded", kind="old", silent_for="1 day")
    make_job("running", kind="old", silent_for="1 minute")
    make_job("queued", kind="old", silent_for="40 days")

    answer = rows(conn, PLAN, ["30 days"])

    assert [(row["kind"], row["status"], row["jobs"]) for row in answer] == [
        ("old", "succeeded", 1),
        ("old", "failed", 2),
        ("old", "interrupted", 1),
        ("old", "cancelled", 1),
    ]


@pytest.mark.parametrize("older_than", ["0", "1 hour", "30 days", "90 days", "9999 years", None])
def test_foretells_what_purge_jobs_does_and_changes_nothing(conn, make_job, older_than):
    conn.execute("select cortex.configure_kind('kept', keep => '9 days')")
    conn.execute("select cortex.configure(keep => '60 days')")
    for kind in ("kept", "other"):
        for age in ("2 minutes", "2 hours", "20 days", "70 days", "100 days"):
            make_job("failed", kind=kind, silent_for=age)
    before = rows(conn, "select uuid, status from cortex.jobs order by uuid")

    foretold = sum(row["jobs"] for row in rows(conn, PLAN, [older_than]))

    assert rows(conn, "select uuid, status from cortex.jobs order by uuid") == before
    assert value(conn, "select cortex.purge_jobs(%s)", [older_than]) == foretold


def test_finds_nothing_where_everything_is_kept(conn, make_job):
    conn.execute("select cortex.configure(reset => '{keep}')")
    make_job("failed", silent_for="2000 days")

    kept = value(conn, "select keep from cortex.configuration")

    assert bool(rows(conn, PLAN, [None])) == (kept is not None)


def test_refuses_a_negative_age(conn):
    with refused(conn, "22023"):
        conn.execute(PLAN, ["-1 second"])
