"""cortex.step: a heartbeat, how far the job is, and whether to go on."""

from uuid import uuid4

import psycopg
import pytest

from tests.sql.asking import job_of, refused, value

STEP = "select cortex.step(job => %s, current => 3, total => 9, message => 'page 3')"
STEP_OF = "select cortex.step(job => %s, current => 3, attempt => %s)"
BIGGEST = 9223372036854775807


def test_records_how_far_a_running_job_is(conn, make_job):
    job = make_job("running", silent_for="1 hour")
    before = job_of(conn, job)

    verdict = value(conn, STEP, [job])

    after = job_of(conn, job)
    assert verdict == "continue"
    assert after == before | {
        "progress_current": 3,
        "progress_total": 9,
        "message": "page 3",
        "updated_at": after["updated_at"],
    }


def test_refreshes_the_heartbeat_by_the_clock_not_by_the_transaction(conn, make_job):
    job = make_job("running", silent_for="1 hour")
    first = value(conn, "select clock_timestamp()")

    conn.execute(STEP, [job])

    second = value(conn, "select clock_timestamp()")
    assert first < job_of(conn, job)["updated_at"] < second


def test_clears_total_and_message_that_are_left_out(conn, make_job):
    job = make_job("running", progress_total=9, message="before")

    conn.execute("select cortex.step(job => %s, current => 4)", [job])

    after = job_of(conn, job)
    assert (after["progress_current"], after["progress_total"], after["message"]) == (4, None, "")


def test_tells_the_body_of_a_request_to_cancel(conn, make_job):
    job = make_job("running", cancel_requested_at="2020-01-01 00:00:00+00")

    verdict = value(conn, STEP, [job])

    assert verdict == "cancel"
    assert job_of(conn, job)["progress_current"] == 3


@pytest.mark.parametrize("status", ["queued", "succeeded", "failed", "interrupted", "cancelled"])
def test_tells_the_body_of_a_job_that_does_not_run_to_stop(conn, make_job, status):
    """B05."""
    job = make_job(status)
    before = job_of(conn, job)

    verdict = value(conn, STEP, [job])

    assert verdict == "stop"
    assert job_of(conn, job) == before


@pytest.mark.parametrize("attempt", [0, 1, 3, -1])
def test_tells_another_attempt_than_the_running_one_to_stop(conn, make_job, attempt):
    """B03."""
    job = make_job("running", attempt=2)
    before = job_of(conn, job)

    verdict = value(conn, STEP_OF, [job, attempt])

    assert verdict == "stop"
    assert job_of(conn, job) == before


@pytest.mark.parametrize("attempt", [2, None])
def test_goes_on_with_the_running_attempt(conn, make_job, attempt):
    job = make_job("running", attempt=2)

    verdict = value(conn, STEP_OF, [job, attempt])

    assert verdict == "continue"


@pytest.mark.parametrize(
    ("current", "total"),
    [(-1, 10), (5, 0), (11, 10), (5, None), (3, -7), (BIGGEST, -BIGGEST - 1), (0, BIGGEST)],
)
def test_stores_absurd_progress_as_it_is_given(conn, make_job, current, total):
    """E12: clamping is for those who show it."""
    job = make_job("running")

    verdict = value(
        conn, "select cortex.step(job => %s, current => %s, total => %s)", [job, current, total]
    )

    after = job_of(conn, job)
    assert verdict == "continue"
    assert (after["progress_current"], after["progress_total"]) == (current, total)
    assert value(conn, "select health from cortex.jobs where uuid = %s", [job]) == "running"


def test_lets_progress_go_back(conn, make_job):
    """E12."""
    job = make_job("running", progress_current=7)

    conn.execute(STEP, [job])

    assert job_of(conn, job)["progress_current"] == 3


@pytest.mark.parametrize("current", ["'NaN'::numeric", "9223372036854775808", "1.5::float8"])
def test_has_no_place_for_a_count_that_is_no_bigint(conn, make_job, current):
    """E12: the signature refuses it, nothing is rounded."""
    job = make_job("running")

    with refused(conn, "42883"):
        conn.execute(f"select cortex.step(job => %s, current => {current})", [job])


def test_refuses_null_for_the_job_and_for_the_count(conn, make_job):
    """B05."""
    with refused(conn, "22004"):
        conn.execute("select cortex.step(job => null, current => 3)")
    with refused(conn, "22004"):
        conn.execute("select cortex.step(job => %s, current => null)", [make_job("running")])


def test_refuses_a_job_that_never_was(conn):
    """B05."""
    with refused(conn, "JC101"):
        conn.execute(STEP, [uuid4()])


@pytest.mark.parametrize("message", ["", "a\nb\tc\r\x1b[31mred", "é\u200b\U0001f600", "%s %I \\"])
def test_keeps_a_message_to_the_letter(conn, make_job, message):
    """E13."""
    job = make_job("running")

    conn.execute("select cortex.step(job => %s, current => 1, message => %s)", [job, message])

    assert job_of(conn, job)["message"] == message


def test_reads_a_null_message_as_none(conn, make_job):
    job = make_job("running", message="before")

    conn.execute("select cortex.step(job => %s, current => 1, message => null)", [job])

    assert job_of(conn, job)["message"] == ""


def test_cuts_a_long_message_in_the_middle(conn, make_job):
    """E13."""
    job = make_job("running")
    message = "head" + "x" * 1_000_000 + "tail"

    conn.execute("select cortex.step(job => %s, current => 1, message => %s)", [job, message])

    kept = job_of(conn, job)["message"]
    assert len(kept) <= 4000
    assert kept.startswith("head")
    assert kept.endswith("tail")


def test_writes_no_event_and_sends_no_notification(conn, make_job):
    job = make_job("running")
    events = value(conn, "select count(*) from cortex.event")
    notified = "select pg_notification_queue_usage()"

    conn.execute(STEP, [job])

    assert value(conn, "select count(*) from cortex.event") == events
    assert value(conn, notified) == 0


def test_is_a_heap_only_update(conn, make_job):
    """Nothing that a heartbeat writes is indexed."""
    job = make_job("running")
    hot = "select pg_stat_get_xact_tuples_hot_updated('cortex.job'::regclass)"
    before = value(conn, hot)

    for _ in range(10):
        conn.execute(STEP, [job])

    assert value(conn, hot) == before + 10


def test_waits_for_a_locked_row_for_two_seconds_only(committed, connect):
    """G04: also where the session itself would wait for ever."""
    job = committed.make_job("running")
    holder = connect()
    holder.execute("select from cortex.job where uuid = %s for update", [job])
    committed.conn.execute("set lock_timeout = 0")

    with pytest.raises(psycopg.errors.LockNotAvailable):
        committed.conn.execute(STEP, [job])

    assert value(committed.conn, "show lock_timeout") == "0"


def test_works_in_a_row_that_a_clock_ahead_wrote(conn, make_job):
    """F05: the heartbeat then tells the time as it is now."""
    job = make_job("running", updated_at="2100-01-01 00:00:00+00")

    verdict = value(conn, STEP, [job])

    assert verdict == "continue"
    assert job_of(conn, job)["updated_at"] <= value(conn, "select clock_timestamp()")
