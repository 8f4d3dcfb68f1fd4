"""cortex.set_running: a runner starts one particular job."""

from uuid import uuid4

import pytest

from tests.sql.asking import job_of, refused, value

SET_RUNNING = "select cortex.set_running(job => %s)"
SET_RUNNING_BY = "select cortex.set_running(job => %s, runner => %s)"


def test_takes_a_queued_job_to_running(conn, make_job, make_runner):
    job, runner = make_job("queued", silent_for="1 hour"), make_runner()
    before = job_of(conn, job)

    answer = value(conn, SET_RUNNING_BY, [job, runner])

    after = job_of(conn, job)
    assert answer is True
    assert after == before | {
        "status": "running",
        "runner": runner,
        "attempt": 1,
        "started_at": after["updated_at"],
        "updated_at": after["updated_at"],
    }
    assert after["started_at"] > before["updated_at"]


def test_may_run_a_job_for_nobody(conn, make_job):
    job = make_job("queued")

    answer = value(conn, SET_RUNNING, [job])

    after = job_of(conn, job)
    assert answer is True
    assert (after["status"], after["runner"]) == ("running", None)


def test_keeps_the_owner_of_a_job_when_it_is_told_none(conn, make_job, make_runner):
    runner = make_runner()
    job = make_job("queued", runner=runner)

    answer = value(conn, SET_RUNNING, [job])

    assert answer is True
    assert job_of(conn, job)["runner"] == runner


def test_counts_a_new_attempt(conn, make_job):
    job = make_job("queued", attempt=3)

    conn.execute(SET_RUNNING, [job])

    assert job_of(conn, job)["attempt"] == 4


@pytest.mark.parametrize("status", ["running", "succeeded", "failed", "interrupted", "cancelled"])
def test_leaves_a_job_alone_that_does_not_wait_any_more(conn, make_job, status):
    job = make_job(status)
    before = job_of(conn, job)

    answer = value(conn, SET_RUNNING, [job])

    assert answer is False
    assert job_of(conn, job) == before


def test_says_yes_only_once(conn, make_job, make_runner):
    job = make_job("queued")

    answers = [value(conn, SET_RUNNING_BY, [job, make_runner()]) for _ in range(2)]

    assert answers == [True, False]


def test_leaves_the_job_of_another_runner_alone(conn, make_job, make_runner):
    job = make_job("queued", runner=make_runner())
    before = job_of(conn, job)

    answer = value(conn, SET_RUNNING_BY, [job, make_runner()])

    assert answer is False
    assert job_of(conn, job) == before


def test_leaves_a_job_alone_whose_time_has_not_come(conn, make_job):
    job = make_job("queued", run_at="2100-01-01 00:00:00+00")
    before = job_of(conn, job)

    answer = value(conn, SET_RUNNING, [job])

    assert answer is False
    assert job_of(conn, job) == before


def test_lets_a_follow_up_wait_for_the_job_before_it(conn, make_job):
    make_job("running", debounce_scope={})
    follow_up = make_job("queued", debounce_scope={}, debounce_on="queued")
    before = job_of(conn, follow_up)

    answer = value(conn, SET_RUNNING, [follow_up])

    assert answer is False
    assert job_of(conn, follow_up) == before


@pytest.mark.parametrize("ended", ["succeeded", "failed", "interrupted", "cancelled"])
def test_starts_a_follow_up_once_the_job_before_it_has_ended(conn, make_job, ended):
    make_job(ended, debounce_scope={})
    follow_up = make_job("queued", debounce_scope={}, debounce_on="queued")

    answer = value(conn, SET_RUNNING, [follow_up])

    assert answer is True


def test_starts_a_job_beside_those_of_other_scopes_and_kinds(conn, make_job):
    make_job("running", debounce_scope={"other": 1})
    make_job("running", debounce_scope={}, kind="other")
    make_job("running")
    job = make_job("queued", debounce_scope={}, debounce_on="queued")

    answer = value(conn, SET_RUNNING, [job])

    assert answer is True


def test_refuses_a_job_that_never_was(conn):
    with refused(conn, "JC101"):
        conn.execute(SET_RUNNING, [uuid4()])


def test_refuses_null(conn):
    with refused(conn, "22004"):
        conn.execute("select cortex.set_running(job => null)")


def test_refuses_a_runner_that_never_was(conn, make_job):
    job = make_job("queued")
    before = job_of(conn, job)

    with refused(conn, "JC102"):
        conn.execute(SET_RUNNING_BY, [job, uuid4()])

    assert job_of(conn, job) == before


def test_refuses_a_runner_that_has_retired(conn, make_job, make_runner):
    runner = make_runner(retired_at="2020-01-01 00:00:00+00")

    with refused(conn, "JC102"):
        conn.execute(SET_RUNNING_BY, [make_job("queued"), runner])


def test_starts_a_job_that_was_made_by_a_clock_ahead(conn, make_job):
    """F05: the database's clock was set back since."""
    ahead = "2100-01-01 00:00:00+00"
    job = make_job("queued", created_at=ahead, updated_at=ahead)

    answer = value(conn, SET_RUNNING, [job])

    assert answer is True
