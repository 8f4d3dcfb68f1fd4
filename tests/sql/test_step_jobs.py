"""cortex.step_jobs: the steps of several jobs in one call, each as step takes it."""

from uuid import uuid4

import pytest

from tests.sql.asking import job_of, refused, rows, value

STEP = (
    "select * from cortex.step_jobs(jobs => %s::uuid[], current => %s::bigint[],"
    " total => %s::bigint[], message => %s::text[], attempt => %s::integer[])"
)
BARE = "select * from cortex.step_jobs(jobs => %s::uuid[], current => %s::bigint[])"


def answers(conn, statement, *params):
    return [(row["verdict"], row["refusal"]) for row in rows(conn, statement, params)]


def test_records_how_far_each_job_is(conn, make_job):
    jobs = [make_job("running", silent_for="1 hour") for _ in range(3)]
    before = [job_of(conn, job) for job in jobs]

    said = rows(conn, STEP, [jobs, [1, 2, 3], [9, None, 7], ["a", "b", None], [1, None, 1]])

    assert said == [{"job": job, "verdict": "continue", "refusal": None} for job in jobs]
    for job, was, current, total, message in zip(
        jobs, before, [1, 2, 3], [9, None, 7], ["a", "b", ""], strict=True
    ):
        now = job_of(conn, job)
        assert now["updated_at"] > was["updated_at"]
        assert now == was | {
            "progress_current": current,
            "progress_total": total,
            "message": message,
            "updated_at": now["updated_at"],
        }


def test_clears_what_is_left_out(conn, make_job):
    job = make_job("running", progress_total=9, message="before")

    assert answers(conn, BARE, [job], [4]) == [("continue", None)]

    now = job_of(conn, job)
    assert (now["progress_current"], now["progress_total"], now["message"]) == (4, None, "")


STATES = {
    "queued": ("queued", {}),
    "running": ("running", {}),
    "second": ("running", {"attempt": 2}),
    "asked": ("running", {"cancel_requested_at": "2020-01-01 00:00:00+00"}),
    "silent": ("running", {"silent_for": "3 hours"}),
    "interrupted": ("interrupted", {}),
    "succeeded": ("succeeded", {}),
    "cancelled": ("cancelled", {}),
}


@pytest.mark.parametrize("attempt", [None, 1])
@pytest.mark.parametrize("state", STATES)
def test_answers_and_writes_as_step_does(conn, make_job, state, attempt):
    status, columns = STATES[state]
    one, other = make_job(status, **columns), make_job(status, **columns)
    bystander = make_job("running")
    single = value(conn, "select cortex.step(%s, 3, 9, 'page 3', %s)", [one, attempt])

    said = answers(
        conn, STEP, [bystander, other], [1, 3], [None, 9], [None, "page 3"], [None, attempt]
    )

    assert said == [("continue", None), (single, None)]
    columns = ["status", "progress_current", "progress_total", "message", "attempt"]
    assert [job_of(conn, one)[name] for name in columns] == [
        job_of(conn, other)[name] for name in columns
    ]


def test_refuses_single_members_and_writes_the_others(conn, make_job):
    first, silent, last = make_job("running"), make_job("running"), make_job("running")

    said = answers(conn, BARE, [first, uuid4(), None, silent, last], [1, 1, 1, None, 5])

    assert said == [
        ("continue", None), (None, "JC101"), (None, "22004"), (None, "22004"), ("continue", None),
    ]  # fmt: skip
    assert [job_of(conn, job)["progress_current"] for job in (first, silent, last)] == [1, 0, 5]


@pytest.mark.parametrize("order", [[3, 8], [8, 3]])
def test_takes_the_last_of_several_steps_of_one_job(conn, make_job, order):
    job, other = make_job("running"), make_job("running")

    said = answers(conn, BARE, [job, other, job], [order[0], 1, order[1]])

    assert said == [("continue", None)] * 3
    assert job_of(conn, job)["progress_current"] == order[1]


def test_tells_a_lost_attempt_from_the_one_that_runs(conn, make_job):
    job = make_job("running", attempt=2)

    said = answers(conn, STEP, [job, job, job], [7, 5, 9], None, None, [2, 2, 1])

    assert said == [("continue", None), ("continue", None), ("stop", None)]
    assert job_of(conn, job)["progress_current"] == 5


def test_waits_for_no_row_that_somebody_has(committed, connect):
    free, held = committed.make_job("running"), committed.make_job("running")
    with connect() as holder:
        holder.execute("select from cortex.job where uuid = %s for update", [held])

        said = answers(committed.conn, BARE, [held, free], [1, 2])

    assert said == [(None, "55P03"), ("continue", None)]
    assert job_of(committed.conn, held)["progress_current"] == 0
    assert job_of(committed.conn, free)["progress_current"] == 2


def test_cuts_what_is_too_long_to_be_a_message(conn, make_job):
    one, other = make_job("running"), make_job("running")
    conn.execute("select cortex.step(%s, 1, message => %s)", [one, "x" * 5000])

    answers(conn, STEP, [other], [1], None, ["x" * 5000], None)

    assert job_of(conn, other)["message"] == job_of(conn, one)["message"]


def test_says_nothing_of_no_jobs(conn):
    assert answers(conn, BARE, [], []) == []


@pytest.mark.parametrize(
    ("arrays", "sqlstate"),
    [
        ([None, [1], None, None, None], "22004"),
        ([["{job}"], None, None, None, None], "22004"),
        ([["{job}"], [1, 2], None, None, None], "22023"),
        ([["{job}"], [1], [], None, None], "22023"),
        ([["{job}"], [1], None, ["a", "b"], None], "22023"),
        ([["{job}"], [1], None, None, [1, 1]], "22023"),
    ],
)
def test_refuses_arrays_that_do_not_fit_each_other(conn, make_job, arrays, sqlstate):
    job = make_job("running")
    given = [[job] if array == ["{job}"] else array for array in arrays]

    with refused(conn, sqlstate):
        conn.execute(STEP, given)

    assert job_of(conn, job)["progress_current"] == 0


def test_keeps_rows_where_they_are(committed):
    """Heap-only updates: no index is touched, and what is locked first costs no second version."""
    conn = committed.conn
    jobs = [committed.make_job("running") for _ in range(20)]
    conn.execute("vacuum cortex.job")
    changes = (
        "select pg_stat_get_xact_tuples_updated(c) as rows,"
        " pg_stat_get_xact_tuples_hot_updated(c) as hot"
        " from (select 'cortex.job'::regclass::oid) as t (c)"
    )

    with conn.transaction():
        for number in range(5):
            answers(conn, BARE, jobs, [number] * 20)
        [counts] = rows(conn, changes)

    assert counts["rows"] == 100
    assert counts["hot"] >= 60  # what does not fit on a page of so young a table may move
