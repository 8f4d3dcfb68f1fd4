"""cortex.claim_jobs: a worker takes ready jobs from the queue."""

from uuid import uuid4

import pytest

from tests.sql.asking import job_of, refused, rows, status_of

CLAIM = "select * from cortex.claim_jobs(runner => %s, kinds => %s, max_jobs => %s)"


@pytest.fixture
def claim(conn, make_runner):
    runner = make_runner()

    def claim_some(max_jobs=1, kinds=("test",), runner=runner):
        return [row["uuid"] for row in rows(conn, CLAIM, [runner, list(kinds), max_jobs])]

    return claim_some


def test_takes_a_queued_job_to_running(conn, make_job, make_runner):
    job, runner = make_job("queued", silent_for="1 hour"), make_runner()
    before = job_of(conn, job)

    [answer] = rows(conn, CLAIM, [runner, ["test"], 1])

    after = job_of(conn, job)
    assert after == before | {
        "status": "running",
        "runner": runner,
        "attempt": 1,
        "started_at": after["updated_at"],
        "updated_at": after["updated_at"],
    }
    assert after["started_at"] > before["updated_at"]
    assert (answer["uuid"], answer["status"], answer["attempt"]) == (job, "running", 1)


def test_answers_with_the_columns_of_the_view(conn, make_job, make_runner):
    make_job("queued", params={"a": 1})

    [answer] = rows(conn, CLAIM, [make_runner(), ["test"], 1])

    [seen] = rows(conn, "select * from cortex.jobs")
    assert list(answer) == list(seen)
    assert answer | {"seconds_since_update": 0} == seen | {"seconds_since_update": 0}


def test_takes_one_unless_told_otherwise(conn, make_job, make_runner):
    for _ in range(3):
        make_job("queued")

    answer = rows(conn, "select * from cortex.claim_jobs(%s, '{test}')", [make_runner()])

    assert len(answer) == 1


def test_reads_null_as_one(make_job, claim):
    for _ in range(3):
        make_job("queued")

    assert len(claim(None)) == 1


def test_takes_the_greater_priority_first_then_the_earlier_run_at_then_the_older(make_job, claim):
    late = make_job("queued", silent_for="1 minute")
    early = make_job("queued", silent_for="1 hour")
    urgent = make_job("queued", priority=10)
    humble = make_job("queued", silent_for="1 day", priority=-10)
    same = "2020-01-01 00:00:00+00"
    twins = [make_job("queued", run_at=same) for _ in range(3)]

    order = claim(100)

    assert order == [urgent, *twins, early, late, humble]


def test_takes_them_in_that_order_one_by_one(make_job, claim):
    jobs = [make_job("queued", run_at="2020-01-01 00:00:00+00") for _ in range(4)]

    order = [claim(1)[0] for _ in range(4)]

    assert order == jobs


def test_takes_no_more_than_it_is_told(make_job, claim):
    for _ in range(5):
        make_job("queued")

    taken = [len(claim(3)) for _ in range(3)]

    assert taken == [3, 2, 0]


def test_takes_only_the_kinds_that_it_is_told(make_job, claim):
    a, b = make_job("queued", kind="a"), make_job("queued", kind="b")
    make_job("queued", kind="c")

    taken = claim(9, ["a", "b", "d"])

    assert taken == [a, b]


@pytest.mark.parametrize("kind", ["a_b", "100%", "A_B", "a"])
def test_compares_kinds_to_the_letter(make_job, claim, kind):
    """I03."""
    make_job("queued", kind="aXb")
    make_job("queued", kind="100 percent")
    job = make_job("queued", kind=kind)

    taken = claim(9, [kind])

    assert taken == [job]


@pytest.mark.parametrize("kinds", [[], [None], ["nobody"]])
def test_takes_nothing_of_kinds_that_are_not_there(conn, make_job, claim, kinds):
    job = make_job("queued")

    taken = claim(9, kinds)

    assert taken == []
    assert status_of(conn, job) == "queued"


def test_leaves_what_belongs_to_a_runner(make_job, make_runner, claim):
    """Also to the one that asks: it starts its own jobs by set_running."""
    asking = make_runner()
    make_job("queued", runner=asking)
    make_job("queued", runner=make_runner())

    taken = claim(9, runner=asking)

    assert taken == []


def test_leaves_what_has_its_time_ahead(make_job, claim):
    make_job("queued", run_at="2100-01-01 00:00:00+00")

    assert claim(9) == []


@pytest.mark.parametrize("status", ["running", "succeeded", "failed", "interrupted", "cancelled"])
def test_leaves_what_does_not_wait(conn, make_job, claim, status):
    job = make_job(status)
    before = job_of(conn, job)

    taken = claim(9)

    assert taken == []
    assert job_of(conn, job) == before


def test_leaves_a_follow_up_while_the_job_before_it_runs(make_job, claim):
    make_job("running", debounce_scope={})
    make_job("queued", debounce_scope={}, debounce_on="queued")

    assert claim(9) == []


def test_takes_a_follow_up_once_the_job_before_it_has_ended(make_job, claim):
    make_job("interrupted", debounce_scope={})
    follow_up = make_job("queued", debounce_scope={}, debounce_on="queued")

    assert claim(9) == [follow_up]


def test_finds_ready_jobs_behind_a_thousand_follow_ups_that_wait(conn, make_job, claim):
    """A06: nothing that can't be taken hides what can."""
    conn.execute(
        """
        insert into cortex.job (kind, status, started_at, debounce_scope, debounce_on, priority)
        select 'test', s.status, s.started_at, jsonb_build_object('n', g), 'queued', 100
        from generate_series(1, 1000) as g
        cross join (values ('running'::cortex.job_status, now()), ('queued', null))
            as s (status, started_at)
        """
    )
    ready = make_job("queued")

    assert claim(1) == [ready]


def test_skips_what_another_worker_is_taking(committed, connect):
    """B06."""
    first, second = committed.make_job("queued"), committed.make_job("queued")
    other = connect()
    other.execute("select from cortex.job where uuid = %s for update", [first])

    taken = rows(committed.conn, CLAIM, [committed.make_runner(), ["test"], 9])

    assert [job["uuid"] for job in taken] == [second]


def test_refuses_a_runner_that_never_was(conn, make_job):
    job = make_job("queued")

    with refused(conn, "JC102"):
        conn.execute(CLAIM, [uuid4(), ["test"], 1])

    assert status_of(conn, job) == "queued"


def test_refuses_a_runner_that_has_retired(conn, make_runner):
    runner = make_runner(retired_at="2020-01-01 00:00:00+00")

    with refused(conn, "JC102"):
        conn.execute(CLAIM, [runner, ["test"], 1])


def test_refuses_null_for_the_runner_and_for_the_kinds(conn, make_runner):
    with refused(conn, "22004"):
        conn.execute(CLAIM, [None, ["test"], 1])
    with refused(conn, "22004"):
        conn.execute(CLAIM, [make_runner(), None, 1])


@pytest.mark.parametrize("max_jobs", [0, -1, -2147483648])
def test_refuses_fewer_than_one_job(conn, make_runner, max_jobs):
    with refused(conn, "22023"):
        conn.execute(CLAIM, [make_runner(), ["test"], max_jobs])


def test_takes_everything_when_it_is_told_a_huge_number(make_job, claim):
    jobs = [make_job("queued") for _ in range(3)]

    assert claim(2147483647) == jobs


def test_works_beyond_the_largest_int4(conn, make_job, claim):
    """E14."""
    conn.execute("alter table cortex.job alter column id restart with 2147483646")
    jobs = [make_job("queued") for _ in range(4)]

    assert claim(9) == jobs


def test_keeps_for_operators_what_kinds_a_runner_asks_for(conn, make_runner):
    """I13."""
    runner = make_runner()
    make_runner()

    conn.execute(CLAIM, [runner, ["b", "a", None, "b"], 1])

    assert rows(conn, "select uuid, kinds from cortex.runners where kinds is not null") == [
        {"uuid": runner, "kinds": ["a", "b"]}
    ]
    conn.execute(CLAIM, [runner, [], 1])
    assert rows(conn, "select kinds from cortex.runners where uuid = %s", [runner]) == [
        {"kinds": []}
    ]


def test_writes_the_kinds_of_a_runner_only_when_they_change(conn, make_runner):
    runner = make_runner()
    conn.execute(CLAIM, [runner, ["a", "b"], 1])
    before = rows(conn, "select ctid::text from cortex.runner where uuid = %s", [runner])

    conn.execute(CLAIM, [runner, ["b", "a"], 1])

    assert rows(conn, "select ctid::text from cortex.runner where uuid = %s", [runner]) == before
