"""cortex.interrupt_orphans: what was active before a restart can't be alive any more."""

from uuid import uuid4

import pytest

from tests.sql.asking import job_of, refused, status_of, table_of, value

ALL = "select cortex.interrupt_orphans()"
ONE = "select cortex.interrupt_orphans(runner => %s)"


@pytest.mark.parametrize("status", ["queued", "running"])
def test_ends_every_active_job(conn, make_job, status):
    job = make_job(status)
    before = job_of(conn, job)

    answer = value(conn, ALL)

    after = job_of(conn, job)
    assert answer == 1
    assert after == before | {
        "status": "interrupted",
        "message": "interrupted by a restart",
        "finished_at": after["finished_at"],
    }


def test_asks_neither_for_owners_nor_for_their_lives(conn, make_job, make_runner):
    """A deployment of one process, that just started."""
    make_job("running", runner=make_runner())
    make_job("queued", runner=make_runner(alive=False))
    make_job("queued", run_at="2100-01-01 00:00:00+00")
    make_job("running")

    answer = value(conn, ALL)

    assert answer == 4
    assert {job["status"] for job in table_of(conn)} == {"interrupted"}


@pytest.mark.parametrize("status", ["succeeded", "failed", "interrupted", "cancelled"])
def test_leaves_what_is_over_as_it_is(conn, make_job, status):
    job = make_job(status)
    before = job_of(conn, job)

    answer = value(conn, ALL)

    assert answer == 0
    assert job_of(conn, job) == before


def test_touches_one_runners_jobs_only(conn, make_job, make_runner):
    """C04: what another instance runs is its own."""
    mine, theirs = make_runner(), make_runner()
    jobs = [make_job("queued", runner=mine), make_job("running", runner=mine)]
    others = [make_job("running", runner=theirs), make_job("queued"), make_job("running")]
    before = [job_of(conn, job) for job in others]

    answer = value(conn, ONE, [mine])

    assert answer == 2
    assert {status_of(conn, job) for job in jobs} == {"interrupted"}
    assert [job_of(conn, job) for job in others] == before


def test_also_sweeps_behind_a_runner_that_has_retired(conn, make_job, make_runner):
    """C03: the registration outlives the process, so that its jobs are found."""
    runner = make_runner(retired_at="2020-01-01 00:00:00+00")
    job = make_job("running", runner=runner)

    answer = value(conn, ONE, [runner])

    assert answer == 1
    assert status_of(conn, job) == "interrupted"


def test_keeps_the_registration_of_a_runner_that_has_jobs(conn, make_job, make_runner):
    """C03."""
    runner = make_runner()
    make_job("running", runner=runner)

    with refused(conn, "23503") as caught:
        conn.execute("delete from cortex.runner where uuid = %s", [runner])

    assert caught.value.diag.constraint_name == "job_runner_fkey"


def test_refuses_a_runner_that_never_was(conn, make_job):
    job = make_job("running")

    with refused(conn, "JC102"):
        conn.execute(ONE, [uuid4()])

    assert status_of(conn, job) == "running"


def test_reads_null_as_all(conn, make_job):
    make_job("running")

    assert value(conn, ONE, [None]) == 1


def test_may_be_repeated(conn, make_job):
    """C05."""
    for _ in range(3):
        make_job("running")

    answers = [value(conn, ALL) for _ in range(2)]

    assert answers == [3, 0]
    assert value(conn, "select count(*) from cortex.event where to_status = 'interrupted'") == 3


def test_goes_round_a_row_that_somebody_has_locked(committed, connect):
    """Who holds it lives, and will say itself how the job ended."""
    locked, free = committed.make_job("running"), committed.make_job("running")
    holder = connect()
    holder.execute("select from cortex.job where uuid = %s for update", [locked])

    answer = value(committed.conn, ALL)

    assert answer == 1
    assert status_of(committed.conn, locked) == "running"
    assert status_of(committed.conn, free) == "interrupted"


def test_ends_jobs_that_a_clock_ahead_started(conn, make_job):
    """F05."""
    job = make_job("running", started_at="2100-01-01 00:00:00+00")

    answer = value(conn, ALL)

    assert answer == 1
    assert status_of(conn, job) == "interrupted"
