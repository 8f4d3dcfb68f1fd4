"""cortex.spawn_job: a job that only looks alive never keeps a new one out."""

import pytest
from psycopg import IsolationLevel

from tests.sql.asking import job_of, rows, status_of, value

SPAWN = "select * from cortex.spawn_job(kind => 'test', debounce_scope => '{}')"
FOLLOW_UP = (
    "select * from cortex.spawn_job("
    "kind => 'test', debounce_scope => '{}', debounce_on => 'queued')"
)


@pytest.mark.parametrize("statement", [SPAWN, FOLLOW_UP])
def test_first_ends_a_job_that_has_been_silent_too_long(conn, make_job, statement):
    """D06."""
    zombie = make_job("running", silent_for="2 hours 1 second", debounce_scope={})

    [answer] = rows(conn, statement)

    assert answer["created"] is True
    assert status_of(conn, zombie) == "interrupted"
    assert status_of(conn, answer["uuid"]) == "queued"


@pytest.mark.parametrize("statement", [SPAWN, FOLLOW_UP])
@pytest.mark.parametrize("status", ["queued", "running"])
def test_first_ends_a_job_whose_runner_is_gone(conn, make_job, make_runner, status, statement):
    zombie = make_job(status, runner=make_runner(alive=False), debounce_scope={})

    [answer] = rows(conn, statement)

    assert answer["created"] is True
    assert status_of(conn, zombie) == "interrupted"


def test_ends_both_zombies_of_a_scope(conn, make_job, make_runner):
    gone = make_runner(alive=False)
    running = make_job("running", runner=gone, debounce_scope={})
    waiting = make_job("queued", runner=gone, debounce_scope={}, debounce_on="queued")

    [answer] = rows(conn, SPAWN)

    assert answer["created"] is True
    assert status_of(conn, running) == status_of(conn, waiting) == "interrupted"


@pytest.mark.parametrize("statement", [SPAWN, FOLLOW_UP])
def test_ends_a_running_zombie_in_front_of_a_follow_up(conn, make_job, statement):
    """Else nothing would start the follow-up, which the caller is told to wait for."""
    zombie = make_job("running", silent_for="3 hours", debounce_scope={})
    follow_up = make_job("queued", debounce_scope={}, debounce_on="queued")

    answer = rows(conn, statement)

    assert answer == [{"uuid": follow_up, "created": False}]
    assert status_of(conn, zombie) == "interrupted"


@pytest.mark.parametrize("statement", [SPAWN, FOLLOW_UP])
def test_ends_a_follow_up_whose_runner_is_gone_behind_a_job_whose_runner_lives(
    conn, make_job, make_runner, statement
):
    live = make_job("running", runner=make_runner(), debounce_scope={})
    zombie = make_job(
        "queued", runner=make_runner(alive=False), debounce_scope={}, debounce_on="queued"
    )

    [answer] = rows(conn, statement)

    assert status_of(conn, zombie) == "interrupted"
    assert status_of(conn, live) == "running"
    assert answer["created"] is (statement == FOLLOW_UP)
    assert (answer["uuid"] == live) is (statement == SPAWN)


@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
@pytest.mark.parametrize("statement", [SPAWN, FOLLOW_UP])
def test_does_so_in_every_isolation_level(conn, make_job, statement, level):
    conn.isolation_level = level
    zombie = make_job("running", silent_for="3 hours", debounce_scope={})

    [answer] = rows(conn, statement)

    assert answer["created"] is True
    assert status_of(conn, zombie) == "interrupted"


def test_leaves_a_job_alone_that_was_heard_of_in_time(conn, make_job):
    live = make_job("running", silent_for="1 hour 59 minutes", debounce_scope={})

    answer = rows(conn, SPAWN)

    assert answer == [{"uuid": live, "created": False}]


def test_leaves_a_job_alone_that_has_waited_for_long(conn, make_job):
    """A07: waiting is not silence."""
    live = make_job("queued", silent_for="30 days", debounce_scope={})

    answer = rows(conn, SPAWN)

    assert answer == [{"uuid": live, "created": False}]


def test_asks_the_kind_for_its_own_limit(conn, make_job):
    conn.execute("insert into cortex.kind (name, stale_after) values ('test', '1 day')")
    live = make_job("running", silent_for="3 hours", debounce_scope={})

    answer = rows(conn, SPAWN)

    assert answer == [{"uuid": live, "created": False}]


def test_touches_zombies_of_no_other_scope_or_kind(conn, make_job):
    others = [
        make_job("running", silent_for="3 hours", debounce_scope={"other": 1}),
        make_job("running", silent_for="3 hours", debounce_scope={}, kind="other"),
        make_job("running", silent_for="3 hours"),
    ]
    before = [job_of(conn, job) for job in others]

    conn.execute(SPAWN)

    assert [job_of(conn, job) for job in others] == before


def test_goes_round_a_zombie_that_somebody_has_locked(committed, connect):
    """The one who holds the row is likely its body, which then lives."""
    zombie = committed.make_job("running", silent_for="3 hours", debounce_scope={})
    holder = connect()
    holder.execute("select from cortex.job where uuid = %s for update", [zombie])

    answer = rows(committed.conn, SPAWN)

    assert answer == [{"uuid": zombie, "created": False}]


def test_says_why_it_ended_the_zombie(conn, make_job):
    zombie = make_job("running", silent_for="3 hours", debounce_scope={})

    conn.execute(SPAWN)

    assert "120 minutes" in job_of(conn, zombie)["message"]
    assert value(conn, "select count(*) from cortex.job_events where job = %s", [zombie]) == 2
