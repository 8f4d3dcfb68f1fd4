"""The view cortex.waiting: what waits for a worker, and whether anybody takes it."""

from datetime import UTC, datetime

from tests.sql.asking import rows, value

WAITING = "select * from cortex.waiting order by kind"
CLAIM = "select count(*) from cortex.claim_jobs(%s, %s)"


def test_counts_what_waits_by_kind(conn, make_job):
    early = datetime(2026, 1, 2, tzinfo=UTC)
    make_job("queued", kind="a", run_at=early)
    make_job("queued", kind="a")
    make_job("queued", kind="b")

    a, b = rows(conn, WAITING)

    assert a == {"kind": "a", "ready": 2, "oldest_run_at": early, "workers": 0}
    assert (b["kind"], b["ready"], b["workers"]) == ("b", 1, 0)


def test_leaves_out_what_no_worker_may_take_now(conn, make_job, make_runner):
    make_job("running")
    make_job("failed")
    make_job("queued", runner=make_runner())
    make_job("queued", run_at=datetime(2999, 1, 1, tzinfo=UTC))

    assert rows(conn, WAITING) == []


def test_counts_the_live_runners_that_ask_for_a_kind(conn, make_job, make_runner):
    """I13."""
    one, two, gone, dead = make_runner(), make_runner(), make_runner(), make_runner()
    for runner in (one, two, gone, dead):
        value(conn, CLAIM, [runner, ["known", "other"]])
    make_job("queued", kind="known")
    make_job("queued", kind="strange")

    conn.execute("select cortex.retire_runner(%s)", [gone])
    conn.execute("update cortex.runner set seen_at = '2026-01-01' where uuid = %s", [dead])

    assert [(row["kind"], row["workers"]) for row in rows(conn, WAITING)] == [
        ("known", 2),
        ("strange", 0),
    ]


def test_does_not_count_a_runner_that_claims_nothing(conn, make_job, make_runner):
    make_runner()
    make_job("queued", kind="test")

    [row] = rows(conn, WAITING)

    assert row["workers"] == 0
