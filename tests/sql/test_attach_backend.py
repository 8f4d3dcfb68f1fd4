"""cortex.attach_backend: this session runs the job's SQL."""

from uuid import uuid4

import pytest

from tests.sql.asking import job_of, refused, rows, value

ATTACH = "select cortex.attach_backend(job => %s)"
ACTIVITY = "select * from cortex.job_activity where job = %s"


def test_ties_the_calling_session_to_a_running_job(conn, make_job):
    job = make_job("running")
    before = job_of(conn, job)

    conn.execute(ATTACH, [job])

    after = job_of(conn, job)
    start = "select backend_start from pg_stat_activity where pid = pg_backend_pid()"
    assert after == before | {
        "backend_pid": conn.info.backend_pid,
        "backend_start": value(conn, start),
    }


def test_may_be_repeated_and_the_last_session_counts(committed, connect):
    job = committed.make_job("running")
    first, second = connect(autocommit=True), connect(autocommit=True)

    for session in (first, second, second):
        session.execute(ATTACH, [job])

    [activity] = rows(committed.conn, ACTIVITY, [job])
    assert activity["pid"] == second.info.backend_pid


def test_shows_in_job_activity_what_the_session_does(committed, connect):
    job = committed.make_job("running", kind="reindex")
    body = connect()
    body.execute(ATTACH, [job])
    body.commit()
    body.execute("select 1")

    [activity] = rows(committed.conn, ACTIVITY, [job])

    assert activity["kind"] == "reindex"
    assert activity["state"] == "idle in transaction"
    assert activity["query_seconds"] >= 0


def test_shows_nothing_once_the_job_is_over(conn, make_job):
    job = make_job("running")
    conn.execute(ATTACH, [job])

    conn.execute("select cortex.finish_job(%s, 'succeeded')", [job])

    assert rows(conn, ACTIVITY, [job]) == []


@pytest.mark.parametrize("status", ["queued", "succeeded", "failed", "interrupted", "cancelled"])
def test_refuses_a_job_that_does_not_run(conn, make_job, status):
    job = make_job(status)
    before = job_of(conn, job)

    with refused(conn, "JC201"):
        conn.execute(ATTACH, [job])

    assert job_of(conn, job) == before


def test_refuses_a_job_that_never_was(conn):
    with refused(conn, "JC101"):
        conn.execute(ATTACH, [uuid4()])


def test_refuses_null(conn):
    with refused(conn, "22004"):
        conn.execute(ATTACH, [None])
