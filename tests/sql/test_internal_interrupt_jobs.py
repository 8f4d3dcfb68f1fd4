"""cortex.interrupt_jobs: the end of jobs that upkeep found wanting; nothing stops it."""

from __future__ import annotations

import pytest

from tests.sql.asking import job_of, refused, rows, status_of, table_of, value
from tests.waiting import wait_until

INTERRUPT = """
    select cortex.interrupt_jobs(
        ids => array_agg(j.id order by j.id),
        reasons => array_agg('reason ' || j.id order by j.id),
        as_seen => array_agg(j.updated_at order by j.id)
    )
    from cortex.job as j
    where j.uuid = any(%s)
"""


def interrupt(conn, *jobs):
    return value(conn, INTERRUPT, [list(jobs)])


@pytest.fixture
def poison(conn):
    """Somebody's trigger minds every change of jobs of kind "poison"."""
    mind(conn)


def mind(conn):
    conn.execute(
        "create function public.mind() returns trigger language plpgsql as"
        " $$ begin raise exception 'not this one'; end $$"
    )
    conn.execute(
        "create trigger minds before update on cortex.job for each row"
        " when (old.kind = 'poison') execute function public.mind()"
    )


@pytest.mark.parametrize("status", ["queued", "running"])
def test_ends_jobs_each_with_its_reason(conn, make_job, status):
    jobs = [make_job(status, silent_for="1 hour") for _ in range(3)]
    before = table_of(conn)

    count = interrupt(conn, *jobs)

    after = table_of(conn)
    assert count == 3
    assert after == [
        row
        | {
            "status": "interrupted",
            "message": f"reason {row['id']}",
            "finished_at": after[0]["finished_at"],
        }
        for row in before
    ]


@pytest.mark.parametrize("status", ["succeeded", "failed", "interrupted", "cancelled"])
def test_leaves_what_is_over(conn, make_job, status):
    job = make_job(status)
    before = job_of(conn, job)

    assert interrupt(conn, job) == 0
    assert job_of(conn, job) == before


def test_leaves_what_has_moved_since_it_was_seen(conn, make_job):
    """A01, B04: a step in the last moment saves a job."""
    job = make_job("running", silent_for="3 hours")
    [seen] = rows(conn, "select id, updated_at from cortex.job")
    conn.execute("select cortex.step(%s, 1)", [job])

    count = value(
        conn,
        "select cortex.interrupt_jobs(array[%s], array['dead'], array[%s])",
        [seen["id"], seen["updated_at"]],
    )

    assert count == 0
    assert status_of(conn, job) == "running"


def test_does_nothing_with_nothing(conn):
    assert value(conn, "select cortex.interrupt_jobs(null, null, null)") == 0


def test_skips_a_row_that_somebody_has_and_ends_the_others(committed, connect):
    """G04."""
    jobs = [committed.make_job("running", silent_for="3 hours") for _ in range(3)]
    other = connect()
    other.execute("select from cortex.job where uuid = %s for update", [jobs[1]])
    committed.conn.execute("set lock_timeout = '10s'")

    count = value(committed.conn, "select cortex.reap_stale()")

    assert count == 2
    assert [status_of(committed.conn, job) for job in jobs] == [
        "interrupted",
        "running",
        "interrupted",
    ]


@pytest.mark.usefixtures("poison")
def test_ends_the_others_where_somebodys_trigger_minds_one(conn, make_job, notices):
    """I12: and says which one."""
    jobs = [make_job("running", kind=kind) for kind in ("test", "poison", "test", "poison")]

    count = interrupt(conn, *jobs)

    assert count == 2
    assert [status_of(conn, job) for job in jobs] == ["interrupted", "running"] * 2
    assert len([notice for notice in notices if "not this one" in notice]) == 2


@pytest.mark.usefixtures("poison")
@pytest.mark.parametrize(
    "call", ["cortex.reap_stale()", "cortex.interrupt_orphans()", "stale from cortex.maintain()"]
)
def test_warns_also_where_the_only_one_is_minded(conn, make_job, notices, call):
    """One job or many: no sweep fails because of a row."""
    job = make_job("running", kind="poison", silent_for="3 hours")

    count = value(conn, f"select {call}")

    assert count == 0
    assert status_of(conn, job) == "running"
    assert any("not this one" in notice for notice in notices)


@pytest.mark.usefixtures("poison")
def test_lets_a_list_be_read_although_a_zombie_in_it_can_not_be_ended(conn, make_job):
    jobs = [make_job("running", kind=kind, silent_for="3 hours") for kind in ("poison", "test")]

    listed = rows(conn, "select uuid, status from cortex.list_recent()")

    assert [tuple(row.values()) for row in listed] == [
        (jobs[1], "interrupted"),
        (jobs[0], "running"),
    ]


@pytest.mark.usefixtures("poison")
@pytest.mark.parametrize("mode", ["active", "queued"])
def test_lets_a_spawn_fail_whose_zombie_can_not_be_ended(conn, make_job, notices, mode):
    """I12: visibly, and soon; nothing loops."""
    status = "running" if mode == "active" else "queued"
    gone = value(conn, "select gen_random_uuid()")
    conn.execute(
        "insert into cortex.runner (uuid, name, host, pid, seen_at)"
        " values (%s, 'r', 'h', 1, '2020-01-01 00:00:00+00')",
        [gone],
    )
    make_job(status, kind="poison", runner=gone, pinned=True, debounce_scope={})

    with refused(conn, "55000"):
        conn.execute(
            "select cortex.spawn_job('poison', debounce_scope => '{}', debounce_on => %s)", [mode]
        )

    assert any("not this one" in notice for notice in notices)
    assert len(table_of(conn)) == 1


def test_never_waits_for_a_follow_up_that_is_not_committed_yet(committed, connect):
    """
    A job that would go back to the queue meets a spawn in somebody's open transaction. Upkeep does
    the rest, and comes back to it.
    """
    committed.conn.execute("select cortex.configure(max_attempts => 2, on_interrupt => 'requeue')")
    stuck = committed.make_job(
        "running", silent_for="3 hours", debounce_scope={}, debounce_on="queued"
    )
    free = committed.make_job("running", silent_for="3 hours")
    other = connect()
    other.execute(
        "select cortex.spawn_job('test', debounce_scope => '{}', debounce_on => 'queued')"
    )
    committed.make_job("running", silent_for="3 hours", kind="third")

    first = value(committed.conn, "select stale from cortex.maintain()")
    between = [status_of(committed.conn, job) for job in (stuck, free)]
    other.rollback()
    second = value(committed.conn, "select stale from cortex.maintain()")

    assert (first, between) == (2, ["running", "queued"])
    assert (second, status_of(committed.conn, stuck)) == (1, "queued")


def test_tells_a_caller_with_an_old_snapshot_to_retry(committed, connect):
    job = committed.make_job("running", silent_for="3 hours")
    late = connect()
    late.execute("set transaction isolation level repeatable read")
    late.execute("select count(*) from cortex.job")
    committed.conn.execute("select cortex.step(%s, 1)", [job])

    with refused(late, "40001"):
        late.execute("select cortex.reap_stale()")

    assert status_of(committed.conn, job) == "running"


def test_ends_a_thousand_with_one_bad_row_among_them(conn, make_job):
    mind(conn)
    conn.execute(
        "insert into cortex.job (kind, status, started_at, attempt, updated_at)"
        " select case g when 500 then 'poison' else 'test' end, 'running',"
        " '2020-01-01 00:00:00+00', 1, '2020-01-01 00:00:00+00' from generate_series(1, 1000) as g"
    )

    assert value(conn, "select cortex.reap_stale()") == 999


def test_cuts_a_reason_that_is_too_long(conn, make_job):
    job = make_job("running")
    [seen] = rows(conn, "select id, updated_at from cortex.job")

    conn.execute(
        "select cortex.interrupt_jobs(array[%s], array[repeat('x', 10000)], array[%s])",
        [seen["id"], seen["updated_at"]],
    )

    assert len(job_of(conn, job)["message"]) <= 4000


def test_keeps_an_end_that_is_not_before_the_start(conn, make_job):
    """F05: a clock that went back."""
    job = make_job("running", started_at="2100-01-01 00:00:00+00")

    assert interrupt(conn, job) == 1
    row = job_of(conn, job)
    assert row["finished_at"] == row["started_at"]


def test_cancels_the_statement_of_an_attached_session(committed, connect):
    session = connect(autocommit=True)
    job = committed.make_job("running", silent_for="3 hours")
    session.execute("select cortex.attach_backend(%s)", [job])
    pid = session.info.backend_pid

    committed.conn.execute("select cortex.reap_stale()")

    assert job_of(committed.conn, job)["backend_pid"] == pid
    wait_until(
        lambda: (
            value(
                committed.conn,
                "select count(*) from pg_stat_activity where pid = %s and state = 'idle'",
                [pid],
            )
            == 1
        )
    )
