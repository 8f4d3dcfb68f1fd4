"""cortex.list_recent: the newest jobs, and no zombie among the living."""

import pytest

from tests.sql.asking import refused, rows, status_of, table_of, value

LIST = "select * from cortex.list_recent()"
LIST_ACTIVE = "select * from cortex.list_recent(active_only => true)"
LIST_SOME = "select * from cortex.list_recent(active_only => %s, max_rows => %s)"


def uuids(answer):
    return [job["uuid"] for job in answer]


def test_lists_the_newest_first(conn, make_job):
    middle = make_job("succeeded", silent_for="2 hours")
    oldest = make_job("queued", silent_for="3 hours")
    newest = make_job("failed", silent_for="1 hour")

    answer = rows(conn, LIST)

    assert uuids(answer) == [newest, middle, oldest]


def test_lists_what_came_at_one_instant_by_arrival(conn, make_job):
    """Q04: a unique tie-break."""
    jobs = [make_job("queued", created_at="2020-01-01 00:00:00+00") for _ in range(9)]

    answers = [uuids(rows(conn, LIST_SOME, [active, 5])) for active in (False, True)]

    assert answers == [jobs[:3:-1]] * 2


def test_answers_with_the_columns_of_the_view(conn, make_job):
    make_job("running", params={"a": 1})

    [answer] = rows(conn, LIST)

    [seen] = rows(conn, "select * from cortex.jobs")
    assert list(answer) == list(seen)
    assert answer | {"seconds_since_update": 0} == seen | {"seconds_since_update": 0}


def test_lists_active_jobs_alone_when_told_to(conn, make_job):
    queued, running = make_job("queued", silent_for="2 minutes"), make_job("running")
    for status in ("succeeded", "failed", "interrupted", "cancelled"):
        make_job(status)

    answer = rows(conn, LIST_ACTIVE)

    assert uuids(answer) == [running, queued]


def test_finds_active_jobs_behind_any_number_of_newer_ones_that_are_over(conn, make_job):
    active = make_job("queued", silent_for="30 days")
    conn.execute(
        "insert into cortex.job (kind, status, finished_at)"
        " select 'test', 'cancelled', clock_timestamp() from generate_series(1, 300)"
    )

    assert uuids(rows(conn, LIST_ACTIVE)) == [active]


def test_closes_what_has_been_silent_too_long(conn, make_job):
    """A11: one definition of stale for lists and reaper."""
    zombie = make_job("running", silent_for="3 hours")

    active, everything = rows(conn, LIST_ACTIVE), rows(conn, LIST)

    assert active == []
    assert [(job["uuid"], job["health"]) for job in everything] == [(zombie, "interrupted")]


@pytest.mark.parametrize("status", ["queued", "running"])
def test_closes_what_belongs_to_a_runner_that_is_gone(conn, make_job, make_runner, status):
    job = make_job(status, runner=make_runner(alive=False))

    active = rows(conn, LIST_ACTIVE)

    assert active == []
    assert status_of(conn, job) == "interrupted"


def test_just_reads_in_a_read_only_transaction(conn, make_job, make_runner):
    zombies = [
        make_job("running", silent_for="3 hours"),
        make_job("running", runner=make_runner(alive=False)),
    ]
    before = table_of(conn)
    conn.execute("set transaction read only")

    answer = rows(conn, LIST_ACTIVE)

    assert set(uuids(answer)) == set(zombies)
    assert table_of(conn) == before


def test_lists_at_most_50_unless_told_otherwise(conn, make_job):
    conn.execute("insert into cortex.job (kind) select 'test' from generate_series(1, 60)")

    counts = [
        value(conn, f"select count(*) from cortex.list_recent({arguments})")
        for arguments in ("", "true", "max_rows => null", "null, null", "max_rows => 2147483647")
    ]

    assert counts == [50, 50, 50, 50, 60]


@pytest.mark.parametrize(("max_rows", "expected"), [(0, 0), (1, 1), (3, 3)])
def test_lists_no_more_than_it_is_told(conn, make_job, max_rows, expected):
    for _ in range(3):
        make_job("queued")

    answers = [rows(conn, LIST_SOME, [active, max_rows]) for active in (False, True)]

    assert [len(answer) for answer in answers] == [expected] * 2


@pytest.mark.parametrize("max_rows", [-1, -2147483648])
def test_refuses_a_negative_number_of_rows(conn, make_job, max_rows):
    make_job("running", silent_for="3 hours")
    before = table_of(conn)

    with refused(conn, "22023"):
        conn.execute(LIST_SOME, [False, max_rows])

    assert table_of(conn) == before


def test_reads_null_as_all_jobs(conn, make_job):
    make_job("succeeded")

    assert len(rows(conn, LIST_SOME, [None, None])) == 1


def test_lists_what_a_clock_ahead_made(conn, make_job):
    """F05."""
    ahead = "2100-01-01 00:00:00+00"
    make_job("queued")
    job = make_job("queued", created_at=ahead, updated_at=ahead, run_at=ahead)

    answer = rows(conn, LIST)

    assert answer[0]["uuid"] == job
    assert answer[0]["seconds_since_update"] == 0


def test_works_beyond_the_largest_int4(conn, make_job):
    """E14."""
    conn.execute("alter table cortex.job alter column id restart with 2147483646")
    jobs = [make_job("queued", created_at="2020-01-01 00:00:00+00") for _ in range(4)]

    assert uuids(rows(conn, LIST_ACTIVE)) == jobs[::-1]
