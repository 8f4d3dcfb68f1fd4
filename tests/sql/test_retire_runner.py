"""cortex.retire_runner: a runner says goodbye."""

from uuid import uuid4

import pytest

from tests.sql.asking import job_of, refused, status_of, table_of, value

RETIRE = "select cortex.retire_runner(runner => %s)"
RETIRE_SAYING = "select cortex.retire_runner(runner => %s, message => %s)"


def test_notes_when_it_left(conn, make_runner):
    runner = make_runner()
    [before] = table_of(conn, "runner")

    answer = value(conn, RETIRE, [runner])

    [after] = table_of(conn, "runner")
    assert answer == 0
    assert after["retired_at"] >= before["registered_at"]
    assert after == before | {"retired_at": after["retired_at"]}


def test_ends_what_it_leaves_behind(conn, make_job, make_runner):
    runner = make_runner()
    left = [make_job("queued", runner=runner), make_job("running", runner=runner)]
    before = [job_of(conn, job) for job in left]

    answer = value(conn, RETIRE_SAYING, [runner, "the machine goes down"])

    assert answer == 2
    for was, job in zip(before, left, strict=True):
        now = job_of(conn, job)
        assert now == was | {
            "status": "interrupted",
            "message": "the machine goes down",
            "finished_at": now["finished_at"],
        }


@pytest.mark.parametrize("message", [None, ""])
def test_finds_words_of_its_own_where_it_is_given_none(conn, make_job, make_runner, message):
    runner = make_runner()
    job = make_job("running", runner=runner)

    conn.execute(RETIRE_SAYING, [runner, message])

    assert "shutdown" in job_of(conn, job)["message"]


def test_cuts_a_long_message_in_the_middle(conn, make_job, make_runner):
    runner = make_runner()
    job = make_job("running", runner=runner)

    conn.execute(RETIRE_SAYING, [runner, "head" + "x" * 10_000 + "tail"])

    kept = job_of(conn, job)["message"]
    assert len(kept) <= 4000
    assert (kept[:4], kept[-4:]) == ("head", "tail")


def test_leaves_everybody_elses_jobs_alone(conn, make_job, make_runner):
    others = [make_job("running", runner=make_runner()), make_job("queued"), make_job("running")]
    before = [job_of(conn, job) for job in others]

    conn.execute(RETIRE, [make_runner()])

    assert [job_of(conn, job) for job in others] == before


@pytest.mark.parametrize("status", ["succeeded", "failed", "interrupted", "cancelled"])
def test_leaves_what_is_over_as_it_is(conn, make_job, make_runner, status):
    runner = make_runner()
    job = make_job(status, runner=runner)
    before = job_of(conn, job)

    answer = value(conn, RETIRE, [runner])

    assert answer == 0
    assert job_of(conn, job) == before


def test_may_be_repeated(conn, make_job, make_runner):
    runner = make_runner()
    make_job("running", runner=runner)
    conn.execute(RETIRE, [runner])
    before = table_of(conn, "runner"), table_of(conn)

    answer = value(conn, RETIRE, [runner])

    assert answer == 0
    assert (table_of(conn, "runner"), table_of(conn)) == before


def test_gives_the_lease_back(conn):
    runner = value(conn, "select cortex.register_runner('a', 'h', 1)")
    held = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"
    before = value(conn, held)

    conn.execute(RETIRE, [runner])

    assert (before, value(conn, held)) == (1, 0)


def test_says_nothing_about_a_lease_that_another_session_holds(conn, make_runner, notices):
    """H07: no "you don't own a lock of type ExclusiveLock"."""
    runner = make_runner(backend_pid=1)

    conn.execute(RETIRE, [runner])

    assert notices == []


def test_lets_the_body_that_ends_after_all_correct_its_row(conn, make_job, make_runner):
    runner = make_runner()
    job = make_job("running", runner=runner)
    conn.execute(RETIRE, [runner])

    answer = value(conn, "select cortex.finish_job(%s, 'succeeded', attempt => 1)", [job])

    assert answer is True
    assert status_of(conn, job) == "succeeded"


def test_refuses_a_runner_that_never_was(conn):
    with refused(conn, "JC102"):
        conn.execute(RETIRE, [uuid4()])


def test_refuses_null(conn):
    with refused(conn, "22004"):
        conn.execute(RETIRE, [None])
