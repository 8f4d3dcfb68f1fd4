"""cortex.cancel_job: somebody asks for the end of a job."""

from uuid import uuid4

import pytest

from tests.sql.asking import job_of, refused, rows, status_of, value

CANCEL = "select cortex.cancel_job(job => %s, actor => %s, hard => %s)"
TERMINAL = ["succeeded", "failed", "interrupted", "cancelled"]


def test_ends_a_job_that_waits_at_once(conn, make_job):
    job = make_job("queued", silent_for="1 hour")
    before = job_of(conn, job)

    answer = value(conn, CANCEL, [job, "ada", False])

    after = job_of(conn, job)
    assert answer == "cancelled"
    assert after == before | {
        "status": "cancelled",
        "message": "cancelled by ada before it started",
        "cancel_requested_at": after["finished_at"],
        "cancel_requested_by": "ada",
        "finished_at": after["finished_at"],
    }
    assert after["finished_at"] > before["created_at"]


def test_ends_a_job_that_waits_for_a_runner_a_time_or_another_job(conn, make_job, make_runner):
    make_job("running", debounce_scope={})
    jobs = [
        make_job("queued", runner=make_runner(), pinned=True),
        make_job("queued", run_at="2100-01-01 00:00:00+00"),
        make_job("queued", debounce_scope={}, debounce_on="queued"),
    ]

    answers = [value(conn, CANCEL, [job, "", False]) for job in jobs]

    assert answers == ["cancelled"] * 3
    assert {status_of(conn, job) for job in jobs} == {"cancelled"}


@pytest.mark.parametrize("hard", [False, True, None])
def test_asks_a_running_job(conn, make_job, hard):
    job = make_job("running", silent_for="1 hour")
    before = job_of(conn, job)

    answer = value(conn, CANCEL, [job, "ada", hard])

    after = job_of(conn, job)
    assert answer == "running"
    assert after == before | {
        "cancel_requested_at": after["cancel_requested_at"],
        "cancel_requested_by": "ada",
        "cancel_hard_at": after["cancel_requested_at"] if hard else None,
    }
    assert after["cancel_requested_at"] > before["updated_at"]


def test_is_told_at_the_next_step_and_at_the_runners_next_beat(conn, make_job, make_runner):
    runner = make_runner()
    job = make_job("running", runner=runner)

    conn.execute(CANCEL, [job, "", False])

    assert value(conn, "select cortex.step(%s, 1)", [job]) == "cancel"
    assert rows(conn, "select * from cortex.keep_runner(%s)", [runner]) == [
        {"job": job, "verdict": "cancel", "attempt": 1, "hard": False}
    ]


def test_lets_the_body_say_how_it_ended(conn, make_job):
    """A request is not a verdict: who was done anyway has succeeded."""
    job = make_job("running")
    conn.execute(CANCEL, [job, "ada", False])

    conn.execute("select cortex.finish_job(%s, 'succeeded')", [job])

    assert status_of(conn, job) == "succeeded"


@pytest.mark.parametrize("status", ["queued", "running"])
def test_writes_into_the_events_who_asked(conn, make_job, status):
    job = make_job(status)
    conn.execute(CANCEL, [job, "ada", False])
    if status == "running":
        conn.execute("select cortex.finish_job(%s, 'cancelled')", [job])

    event = rows(
        conn, "select to_status, actor from cortex.job_events where job = %s order by at", [job]
    )[-1]

    assert event == {"to_status": "cancelled", "actor": "ada"}


def test_shows_the_request_to_everybody(conn, make_job):
    job = make_job("running")

    conn.execute(CANCEL, [job, "", False])

    [seen] = rows(conn, "select * from cortex.find_job(%s)", [job])
    assert seen["cancel_requested_at"] == job_of(conn, job)["cancel_requested_at"]


@pytest.mark.parametrize("status", ["queued", "running"])
def test_shows_who_asked_while_the_job_runs_too(conn, make_job, status):
    job = make_job(status)

    conn.execute(CANCEL, [job, "ada", False])

    [seen] = rows(conn, "select * from cortex.find_job(%s)", [job])
    assert seen["cancel_requested_by"] == "ada"


@pytest.mark.parametrize("status", ["queued", "running"])
def test_knows_who_does_not_say_it_by_the_role_that_logged_in(conn, make_job, status):
    job = make_job(status)

    conn.execute(CANCEL, [job, "", False])

    [seen] = rows(conn, "select * from cortex.find_job(%s)", [job])
    assert seen["cancel_requested_by"] == value(conn, "select session_user::text")


def test_keeps_the_first_request(conn, make_job):
    job = make_job("running")
    conn.execute(CANCEL, [job, "ada", False])
    before = job_of(conn, job)

    conn.execute(CANCEL, [job, "bob", False])

    assert job_of(conn, job) == before


def test_may_be_made_hard_later_and_counts_the_grace_from_then(conn, make_job):
    job = make_job(
        "running", cancel_requested_at="2020-01-01 00:00:00+00", cancel_requested_by="ada"
    )
    before = job_of(conn, job)
    asked_at = value(conn, "select clock_timestamp()")

    conn.execute(CANCEL, [job, "bob", True])

    after = job_of(conn, job)
    assert after == before | {"cancel_hard_at": after["cancel_hard_at"]}
    assert after["cancel_hard_at"] > asked_at


@pytest.mark.parametrize("again", [False, True])
def test_stays_hard_from_the_first_hard_request_on(conn, make_job, again):
    job = make_job("running")
    conn.execute(CANCEL, [job, "", True])
    before = job_of(conn, job)

    conn.execute(CANCEL, [job, "", again])

    assert job_of(conn, job) == before


@pytest.mark.parametrize("status", TERMINAL)
@pytest.mark.parametrize("hard", [False, True])
def test_leaves_what_is_over_and_says_how_it_ended(conn, make_job, status, hard):
    job = make_job(status)
    before = job_of(conn, job)

    answer = value(conn, CANCEL, [job, "ada", hard])

    assert answer == status
    assert job_of(conn, job) == before


def test_needs_nothing_but_the_job(conn, make_job):
    job = make_job("queued")

    answer = value(conn, "select cortex.cancel_job(%s)", [job])

    assert answer == "cancelled"
    assert job_of(conn, job)["message"] == "cancelled before it started"


def test_is_no_heartbeat(conn, make_job):
    """G04, A04: a body that hangs must not look alive because somebody wants its end."""
    job = make_job("running", silent_for="3 hours")

    conn.execute(CANCEL, [job, "", True])

    assert value(conn, "select cortex.reap_stale()") == 1


def test_frees_the_scope_of_a_job_that_waited(conn, make_job):
    job = make_job("queued", debounce_scope={})
    conn.execute(CANCEL, [job, "", False])

    [answer] = rows(conn, "select * from cortex.spawn_job('test', debounce_scope => '{}')")

    assert answer["created"] is True


def test_lets_the_longest_actor_fit_into_the_message(conn, make_job):
    job = make_job("queued")

    conn.execute(CANCEL, [job, "x" * 200, False])

    assert "x" * 200 in job_of(conn, job)["message"]


def test_refuses_a_job_that_never_was(conn):
    with refused(conn, "JC101"):
        conn.execute(CANCEL, [uuid4(), "", False])


def test_refuses_null(conn):
    with refused(conn, "22004"):
        conn.execute(CANCEL, [None, "", False])


def test_refuses_an_actor_that_is_too_long(conn, make_job):
    job = make_job("running")

    with refused(conn, "22023"):
        conn.execute(CANCEL, [job, "x" * 201, False])

    assert job_of(conn, job)["cancel_requested_at"] is None


def test_keeps_a_job_from_starting_that_is_cancelled_first(conn, make_job, make_runner):
    job = make_job("queued")
    conn.execute(CANCEL, [job, "", False])

    assert value(conn, "select cortex.set_running(%s)", [job]) is False
    assert rows(conn, "select uuid from cortex.claim_jobs(%s, '{test}')", [make_runner()]) == []
