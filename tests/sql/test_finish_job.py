"""cortex.finish_job: how a job ended; final unless it was only presumed dead."""

from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb

from tests.sql.asking import job_of, refused, rows, value

FINISH = "select cortex.finish_job(job => %s, status => %s)"
FINISH_OF = "select cortex.finish_job(job => %s, status => %s, attempt => %s)"
FINISH_FULLY = "select cortex.finish_job(job => %s, status => %s, message => %s, result => %s)"
OUTCOMES = ["succeeded", "failed", "cancelled"]
MIB = 1024 * 1024


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_writes_the_outcome_of_a_running_job(conn, make_job, make_runner, outcome):
    job = make_job("running", silent_for="1 hour", runner=make_runner(), progress_current=7)
    before = job_of(conn, job)

    answer = value(conn, FINISH_FULLY, [job, outcome, "that's it", Jsonb({"n": 3})])

    after = job_of(conn, job)
    assert answer is True
    assert after == before | {
        "status": outcome,
        "message": "that's it",
        "result": {"n": 3},
        "updated_at": after["finished_at"],
        "finished_at": after["finished_at"],
    }
    assert after["finished_at"] > before["updated_at"]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_lets_a_job_that_was_only_slow_correct_its_interruption(conn, make_job, outcome):
    """B03, policy 1: the same attempt; reaping is a presumption."""
    job = make_job("interrupted", silent_for="1 hour", attempt=2)

    answer = value(conn, FINISH_OF, [job, outcome, 2])

    after = job_of(conn, job)
    assert answer is True
    assert after["status"] == outcome
    assert after["finished_at"] == after["updated_at"]


def test_corrects_an_interruption_also_when_it_is_told_no_attempt(conn, make_job):
    job = make_job("interrupted")

    answer = value(conn, FINISH, [job, "succeeded"])

    assert answer is True
    assert job_of(conn, job)["status"] == "succeeded"


@pytest.mark.parametrize("stands", OUTCOMES)
@pytest.mark.parametrize("comes", OUTCOMES)
def test_never_overwrites_another_outcome(conn, make_job, stands, comes):
    job = make_job(stands, message="the first")
    before = job_of(conn, job)

    answer = value(conn, FINISH_FULLY, [job, comes, "the second", None])

    assert answer is False
    assert job_of(conn, job) == before


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("attempt", [None, 1])
def test_says_yes_to_a_repetition_and_changes_nothing(conn, make_job, outcome, attempt):
    """B08: who didn't hear the first answer may ask again."""
    finish = FINISH_FULLY[:-1] + ", attempt => %s)"
    arguments = [make_job("running"), outcome, "m" * 5000, Jsonb({"n": 3}), attempt]
    conn.execute(finish, arguments)
    before = job_of(conn, arguments[0])
    events = value(conn, "select count(*) from cortex.event")

    answer = value(conn, finish, arguments)

    assert answer is True
    assert job_of(conn, arguments[0]) == before
    assert value(conn, "select count(*) from cortex.event") == events


@pytest.mark.parametrize(
    ("message", "result"), [("other", '{"n": 3}'), ("m", '{"n": 4}'), ("m", None), ("m", "null")]
)
def test_says_no_to_the_same_state_with_another_story(conn, make_job, message, result):
    job = make_job("succeeded", message="m", result={"n": 3})
    before = job_of(conn, job)

    answer = value(conn, FINISH_FULLY, [job, "succeeded", message, result])

    assert answer is False
    assert job_of(conn, job) == before


@pytest.mark.parametrize("status", ["running", "succeeded", "failed", "interrupted", "cancelled"])
@pytest.mark.parametrize("attempt", [1, 3])
def test_refuses_an_attempt_that_lost_the_job(conn, make_job, status, attempt):
    """B03."""
    job = make_job(status, attempt=2)
    before = job_of(conn, job)

    with refused(conn, "JC202"):
        conn.execute(FINISH_OF, [job, "succeeded", attempt])

    assert job_of(conn, job) == before


def test_refuses_an_attempt_whose_job_waits_for_the_next(conn, make_job):
    job = make_job("queued", attempt=2)

    with refused(conn, "JC201", "JC202"):
        conn.execute(FINISH_OF, [job, "succeeded", 2])
    with refused(conn, "JC202"):
        conn.execute(FINISH_OF, [job, "succeeded", 1])


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_refuses_a_job_that_was_never_started(conn, make_job, outcome):
    job = make_job("queued")
    before = job_of(conn, job)

    with refused(conn, "JC201"):
        conn.execute(FINISH, [job, outcome])

    assert job_of(conn, job) == before


def test_leaves_an_interruption_before_the_start_as_it_is(conn, make_job):
    """There is no body that could have ended it otherwise."""
    job = make_job("interrupted", started_at=None, attempt=0)
    before = job_of(conn, job)

    answer = value(conn, FINISH, [job, "succeeded"])

    assert answer is False
    assert job_of(conn, job) == before


@pytest.mark.parametrize("status", ["queued", "running", "interrupted"])
def test_refuses_what_is_not_an_outcome_of_a_body(conn, make_job, status):
    job = make_job("running")
    before = job_of(conn, job)

    with refused(conn, "22023"):
        conn.execute(FINISH, [job, status])

    assert job_of(conn, job) == before


def test_refuses_null_for_the_job_and_for_the_status(conn, make_job):
    """B05."""
    with refused(conn, "22004"):
        conn.execute("select cortex.finish_job(job => null, status => 'failed')")
    with refused(conn, "22004"):
        conn.execute("select cortex.finish_job(job => %s, status => null)", [make_job("running")])


def test_refuses_a_job_that_never_was(conn):
    """B05."""
    with refused(conn, "JC101"):
        conn.execute(FINISH, [uuid4(), "succeeded"])

    assert rows(conn, "select * from cortex.job") == []


@pytest.mark.parametrize("result", ["null", "0", '""', "[]", "false", "{}"])
def test_tells_a_falsy_result_from_none_recorded(conn, make_job, result):
    """E15."""
    job, other = make_job("running"), make_job("running")

    conn.execute(FINISH_FULLY, [job, "succeeded", "", result])
    conn.execute(FINISH_FULLY, [other, "succeeded", "", None])

    kept = "select result::text from cortex.jobs where uuid = %s"
    assert value(conn, kept, [job]) == result
    assert value(conn, kept, [other]) is None


def test_keeps_a_result_exactly(conn, make_job):
    """E10."""
    job = make_job("running")
    result = '{"big": 12345678901234567890123, "fine": 0.1000000000000000055, "text": "é\\"\\\\"}'

    conn.execute(FINISH_FULLY, [job, "succeeded", "", result])

    assert value(conn, "select result::text from cortex.job where uuid = %s", [job]) == result


def test_cuts_a_long_message_in_the_middle(conn, make_job):
    """E07."""
    job = make_job("running")
    message = "ValueError" + "x" * 5_000_000 + "the end"

    conn.execute(FINISH_FULLY, [job, "failed", message, None])

    kept = job_of(conn, job)["message"]
    assert len(kept) <= 4000
    assert kept.startswith("ValueError")
    assert kept.endswith("the end")


def test_reads_a_null_message_as_none(conn, make_job):
    job = make_job("running", message="working")

    conn.execute(FINISH_FULLY, [job, "succeeded", None, None])

    assert job_of(conn, job)["message"] == ""


@pytest.mark.parametrize("shape", ['"{}"', '["{}"]', '{{"text": "{}"}}'])
def test_refuses_a_result_of_more_than_8_mib(conn, make_job, shape):
    """E08: the job runs on, so that its end can be told otherwise."""
    job = make_job("running")
    before = job_of(conn, job)

    with refused(conn, "22023"):
        conn.execute(FINISH_FULLY, [job, "succeeded", "", shape.format("x" * (8 * MIB + 1))])

    assert job_of(conn, job) == before


def test_is_not_fooled_by_a_result_that_is_stored_compressed(conn, make_job):
    """E08."""
    conn.execute("create temp table source (result jsonb)")
    conn.execute("insert into source values (%s)", [Jsonb("x" * (8 * MIB + 1))])
    conn.execute("set local plan_cache_mode = force_generic_plan")

    with refused(conn, "22023"):
        conn.execute(
            "select cortex.finish_job(%s, 'succeeded', result => result) from source",
            [make_job("running")],
        )


def test_ends_a_job_that_a_clock_ahead_started(conn, make_job):
    """F05: no constraint is hurt, and it lasted no less than nothing."""
    ahead = "2100-01-01 00:00:00+00"
    job = make_job("running", created_at=ahead, updated_at=ahead, started_at=ahead)

    answer = value(conn, FINISH, [job, "succeeded"])

    after = job_of(conn, job)
    duration = "select duration_seconds from cortex.jobs where uuid = %s"
    assert answer is True
    assert after["finished_at"] == after["started_at"]
    assert value(conn, duration, [job]) == 0


def test_frees_the_scope(conn, make_job):
    spawn = "select * from cortex.spawn_job(kind => 'test', debounce_scope => '{}')"
    job = make_job("running", debounce_scope={})

    conn.execute(FINISH, [job, "succeeded"])

    [answer] = rows(conn, spawn)
    assert answer["created"] is True


def test_corrects_an_interruption_while_the_next_job_of_the_scope_runs(conn, make_job):
    """B04: a late outcome stands in its own row and takes nothing from the newer job."""
    late = make_job("interrupted", debounce_scope={})
    newer = make_job("running", debounce_scope={})
    before = job_of(conn, newer)

    answer = value(conn, FINISH, [late, "succeeded"])

    assert answer is True
    assert job_of(conn, newer) == before
