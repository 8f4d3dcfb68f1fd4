"""
cortex.end_backends: which sessions it ends, and which jobs.

What becomes of real sessions: tests/concurrency/test_hard_cancel.py. Here nobody has the pid.
"""

from __future__ import annotations

import pytest

from tests.sql.asking import job_of, status_of, value

END = "select cortex.end_backends()"
SESSION = {"backend_pid": 999_999_999, "backend_start": "2020-01-01 00:00:00+00"}
LONG_AGO = "2020-01-01 00:00:00+00"


def hard(conn, ago):
    moment = value(conn, "select clock_timestamp() - %s::interval", [ago])
    return {"cancel_requested_at": moment, "cancel_hard_at": moment}


def test_forgets_the_session_of_a_job_whose_hard_cancel_is_older_than_the_grace(
    conn, make_job, make_runner
):
    job = make_job("running", runner=make_runner(), **SESSION, **hard(conn, "11 seconds"))
    before = job_of(conn, job)

    count = value(conn, END)

    assert count == 0
    assert job_of(conn, job) == before | {"backend_pid": None, "backend_start": None}


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"cancel_requested_at": LONG_AGO},
        {"cancel_requested_at": LONG_AGO, "cancel_hard_at": "2100-01-01 00:00:00+00"},
    ],
)
def test_leaves_jobs_that_nobody_wants_ended_yet(conn, make_job, columns):
    job = make_job("running", **SESSION, **columns)
    before = job_of(conn, job)

    conn.execute(END)

    assert job_of(conn, job) == before


@pytest.mark.parametrize("runner", [None, "dead", "retired"])
@pytest.mark.parametrize("session", [{}, SESSION])
def test_writes_the_end_where_nobody_is_left_to_write_it(
    conn, make_job, make_runner, runner, session
):
    owner = {
        None: lambda: None,
        "dead": lambda: make_runner(alive=False),
        "retired": lambda: make_runner(retired_at=LONG_AGO),
    }[runner]()
    job = make_job("running", runner=owner, **session, **hard(conn, "11 seconds"))

    conn.execute(END)

    row = job_of(conn, job)
    assert (row["status"], row["backend_pid"]) == ("cancelled", None)


def test_leaves_the_end_to_a_runner_that_lives(conn, make_job, make_runner):
    job = make_job("running", runner=make_runner(), **hard(conn, "11 seconds"))

    conn.execute(END)

    assert status_of(conn, job) == "running"


def test_leaves_a_job_that_was_asked_softly_to_its_body(conn, make_job):
    job = make_job("running", cancel_requested_at=LONG_AGO)

    conn.execute(END)

    assert status_of(conn, job) == "running"


@pytest.mark.parametrize("status", ["interrupted", "queued"])
def test_forgets_the_session_of_an_attempt_that_was_given_up(conn, make_job, status):
    job = make_job("interrupted", **SESSION)
    if status == "queued":
        conn.execute(
            "update cortex.job set status = 'queued', finished_at = null, started_at = null"
        )
    conn.execute("update cortex.event set at = at - interval '11 seconds'")

    conn.execute(END)

    row = job_of(conn, job)
    assert (row["status"], row["backend_pid"]) == (status, None)


def test_leaves_the_session_of_an_attempt_within_the_grace(conn, make_job):
    job = make_job("interrupted", **SESSION)

    conn.execute(END)

    assert job_of(conn, job)["backend_pid"] == SESSION["backend_pid"]


def test_skips_rows_that_somebody_has(committed, connect):
    job = committed.make_job("running", **SESSION, **hard(committed.conn, "11 seconds"))
    other = connect()
    other.execute("select from cortex.job where uuid = %s for update", [job])
    committed.conn.execute("set lock_timeout = '10s'")

    committed.conn.execute(END)

    assert status_of(committed.conn, job) == "running"


@pytest.mark.parametrize("pid", [None, -1, 0, 2147483647])
def test_signal_backend_signals_nobody_where_nobody_is(conn, pid):
    answer = value(conn, "select cortex.signal_backend(%s, %s::timestamptz, true)", [pid, LONG_AGO])

    assert answer is False


def test_signal_backend_never_signals_the_calling_session(conn):
    answer = value(
        conn,
        "select cortex.signal_backend(a.pid, a.backend_start, true) from pg_stat_activity as a"
        " where a.pid = pg_backend_pid()",
    )

    assert answer is False
