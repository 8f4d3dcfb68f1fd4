"""cortex.note_end: what became of a body whose job was ended without it."""

from uuid import uuid4

import pytest

from tests.sql.asking import job_of, refused, rows, table_of, value

NOTE = "select cortex.note_end(job => %s, note => %s, attempt => %s)"
ENDED = "its process was ended by SIGTERM"


@pytest.fixture
def interrupted(conn, make_job, make_runner):
    runner = make_runner()
    job = make_job("running", runner=runner)
    conn.execute("select cortex.interrupt_orphans(runner => %s)", [runner])
    return job


def messages_of(conn, job):
    statement = "select message from cortex.job_events where job = %s order by at"
    return [row["message"] for row in rows(conn, statement, [job])]


def test_adds_to_the_message_of_the_job_and_its_last_event(conn, interrupted):
    before = job_of(conn, interrupted)["message"]

    assert value(conn, NOTE, [interrupted, ENDED, 1]) is True
    after = job_of(conn, interrupted)
    assert after["message"] == f"{before}; {ENDED}"
    assert after["status"] == "interrupted"
    assert messages_of(conn, interrupted)[-1] == after["message"]


def test_adds_it_once(conn, interrupted):
    """Its answer may be lost, and it be called again."""
    value(conn, NOTE, [interrupted, ENDED, 1])
    first = job_of(conn, interrupted), messages_of(conn, interrupted)

    assert value(conn, NOTE, [interrupted, ENDED, 1]) is True
    assert (job_of(conn, interrupted), messages_of(conn, interrupted)) == first


def test_reaches_a_job_that_waits_for_its_next_attempt(conn, make_job, make_runner):
    conn.execute(
        "select cortex.configure_kind(kind => 'test', max_attempts => 2, on_interrupt => 'requeue')"
    )
    runner = make_runner()
    job = make_job("running", runner=runner)
    conn.execute("select cortex.interrupt_orphans(runner => %s)", [runner])
    assert job_of(conn, job)["status"] == "queued"

    assert value(conn, NOTE, [job, ENDED, 1]) is True
    assert job_of(conn, job)["message"].endswith(ENDED)
    interruption = [text for text in messages_of(conn, job) if text.endswith(ENDED)]
    assert interruption


def test_leaves_a_newer_attempt_alone(conn, interrupted):
    conn.execute("update cortex.job set attempt = 2 where uuid = %s", [interrupted])
    before = job_of(conn, interrupted)

    value(conn, NOTE, [interrupted, ENDED, 1])

    assert job_of(conn, interrupted) == before
    assert messages_of(conn, interrupted)[-1].endswith(ENDED)


@pytest.mark.parametrize("status", ["queued", "running", "succeeded", "failed", "cancelled"])
def test_says_no_where_nothing_was_interrupted(conn, make_job, status):
    job = make_job(status)
    before = table_of(conn), table_of(conn, "event")

    assert value(conn, NOTE, [job, ENDED, 1]) is False
    assert (table_of(conn), table_of(conn, "event")) == before


def test_keeps_within_the_limit_of_a_message(conn, interrupted):
    value(conn, NOTE, [interrupted, "x" * 9000, 1])

    assert len(job_of(conn, interrupted)["message"]) <= 4000


def test_refuses_what_is_not_a_job(conn):
    with refused(conn, "JC101"):
        value(conn, NOTE, [uuid4(), ENDED, 1])


@pytest.mark.parametrize(
    "arguments",
    [[None, ENDED, 1], [uuid4(), None, 1], [uuid4(), ENDED, None]],
    ids=["job", "note", "attempt"],
)
def test_refuses_null(conn, arguments):
    with refused(conn, "22004"):
        value(conn, NOTE, arguments)
