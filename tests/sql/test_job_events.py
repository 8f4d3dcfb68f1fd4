"""The view cortex.job_events: every change of state leaves its trace."""

import pytest
from psycopg.types.json import Jsonb

from tests.sql.asking import rows, value

COLUMNS = "job at from_status to_status attempt runner actor role message"
EVENTS = "select * from cortex.job_events where job = %s order by at"


def trace(conn, job):
    return [(e["from_status"], e["to_status"], e["attempt"]) for e in rows(conn, EVENTS, [job])]


def test_has_the_columns_of_the_contract(conn, make_job):
    [event] = rows(conn, EVENTS, [make_job("queued")])

    assert " ".join(event).startswith(COLUMNS)


def test_tells_a_whole_life(conn, make_runner):
    runner = make_runner()
    job = value(conn, "select uuid from cortex.spawn_job('test', actor => 'ada')")
    conn.execute("select cortex.claim_jobs(%s, '{test}')", [runner])
    conn.execute("select cortex.step(%s, 1, message => 'page 1')", [job])
    conn.execute("select cortex.interrupt_orphans()")
    conn.execute("select cortex.finish_job(%s, 'succeeded', message => 'done')", [job])

    events = rows(conn, EVENTS, [job])

    assert trace(conn, job) == [
        (None, "queued", 0),
        ("queued", "running", 1),
        ("running", "interrupted", 1),
        ("interrupted", "succeeded", 1),
    ]
    assert [event["runner"] for event in events] == [None, runner, runner, runner]
    assert events[0]["actor"] == "ada"
    assert [event["message"] for event in events[2:]] == ["interrupted by a restart", "done"]
    assert {event["role"] for event in events} == {value(conn, "select session_user::text")}


def test_stands_in_the_order_of_the_clock(conn):
    job = value(conn, "select uuid from cortex.spawn_job('test')")
    conn.execute("select cortex.set_running(%s)", [job])
    conn.execute("select cortex.finish_job(%s, 'failed')", [job])

    times = [event["at"] for event in rows(conn, EVENTS, [job])]

    assert times[0] < times[1] < times[2]


def test_says_nothing_of_a_call_that_changes_no_state(conn, make_job):
    job = make_job("running")
    before = trace(conn, job)

    conn.execute("select cortex.step(%s, 1)", [job])
    conn.execute("select cortex.set_running(%s)", [job])
    conn.execute("select cortex.list_recent()")
    conn.execute("select cortex.maintain()")

    assert trace(conn, job) == before


def test_says_nothing_of_a_debounced_call(conn, make_job):
    job = make_job("queued", debounce_scope={})

    conn.execute("select cortex.spawn_job('test', debounce_scope => '{}')")

    assert trace(conn, job) == [(None, "queued", 0)]


def test_rolls_back_with_its_change(conn):
    with conn.transaction(force_rollback=True):
        conn.execute("select cortex.spawn_job('test')")

    assert rows(conn, "select * from cortex.job_events") == []


def test_notifies_of_every_change_of_state(committed, connect):
    """H10: with nothing but uuid, state and kind, however large the job is."""
    listener = connect(autocommit=True)
    listener.execute("listen cortex_jobs")
    listener.execute("listen cortex_queue")
    conn = committed.conn
    kind = "\U0001f600" * 200
    job = value(
        conn,
        "select uuid from cortex.spawn_job(%s, params => %s)",
        [kind, Jsonb({"text": "x" * 100_000})],
    )
    conn.execute("select cortex.set_running(%s)", [job])
    conn.execute("select cortex.step(%s, 1)", [job])
    conn.execute("select cortex.finish_job(%s, 'failed', message => repeat('x', 10000))", [job])

    heard = [(n.channel, n.payload) for n in listener.notifies(timeout=5, stop_after=4)]

    assert heard == [
        ("cortex_jobs", f"{job} queued"),
        ("cortex_queue", kind),
        ("cortex_jobs", f"{job} running"),
        ("cortex_jobs", f"{job} failed"),
    ]
    assert list(listener.notifies(timeout=0)) == []


def test_notifies_the_queue_when_a_follow_up_is_free(committed, connect):
    running = committed.make_job("running", debounce_scope={})
    committed.make_job("queued", debounce_scope={}, debounce_on="queued")
    listener = connect(autocommit=True)
    listener.execute("listen cortex_queue")

    committed.conn.execute("select cortex.finish_job(%s, 'succeeded')", [running])

    heard = [n.payload for n in listener.notifies(timeout=5, stop_after=1)]
    assert heard == ["test"]


@pytest.mark.parametrize("arguments", ["runner => %s", "run_at => '2100-01-01 00:00:00+00'"])
def test_does_not_notify_the_queue_of_what_nobody_may_claim(committed, connect, arguments):
    listener = connect(autocommit=True)
    listener.execute("listen cortex_queue")
    runner = [committed.make_runner()] if "%s" in arguments else []
    committed.conn.execute(f"select cortex.spawn_job('test', {arguments})", runner)

    committed.conn.execute("select cortex.spawn_job('last')")

    heard = [n.payload for n in listener.notifies(timeout=5, stop_after=1)]
    assert heard == ["last"]


def test_tells_the_start_of_each_of_many_jobs(conn):
    """Also of an owner's own statement, with several kinds at once."""
    conn.execute(
        "insert into cortex.job (kind, actor, message)"
        " select 'kind ' || n, 'actor ' || n, 'message ' || n from generate_series(1, 3) as n"
    )

    assert rows(
        conn,
        "select j.kind, e.from_status, e.to_status, e.attempt, e.actor, e.message"
        " from cortex.event as e join cortex.job as j on j.id = e.job_id order by e.id",
    ) == [
        {
            "kind": f"kind {n}", "from_status": None, "to_status": "queued", "attempt": 0,
            "actor": f"actor {n}", "message": f"message {n}",
        }
        for n in (1, 2, 3)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("removal", "left"),
    [
        ("delete from cortex.job where kind = 'gone'", 1),
        ("delete from cortex.job", 0),
        ("truncate cortex.job", 0),
        ("delete from cortex.job where kind = 'never'", 3),
    ],
)
def test_leaves_no_trace_of_a_job_that_is_gone(conn, removal, left):
    conn.execute("select cortex.spawn_jobs('gone', array['{}', '{}']::jsonb[])")
    conn.execute("select cortex.spawn_job('stays')")

    conn.execute(removal)

    assert value(conn, "select count(*) from cortex.event") == left
    assert value(conn, "select count(*) from cortex.job_events") == left


def test_finds_what_a_deleted_job_leaves_by_its_index(conn):
    """However many events there are, and whatever the statistics say."""
    conn.execute("analyze cortex.event")
    conn.execute("select cortex.spawn_jobs('gone', array_fill('{}'::jsonb, array[2000]))")
    seen = "select coalesce(pg_stat_get_xact_tuples_returned('cortex.event'::regclass), 0)"
    before = value(conn, seen)

    conn.execute("delete from cortex.job where id in (select max(id) from cortex.job)")

    assert value(conn, seen) - before == 0
    assert value(conn, "select count(*) from cortex.event") == 1999
