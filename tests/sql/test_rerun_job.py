"""cortex.rerun_job: the work of a job that is over once more, as a new job."""

from uuid import uuid4

import pytest

from tests.sql.asking import job_of, refused, rows, table_of, value

RERUN = "select * from cortex.rerun_job(job => %s, actor => %s)"
TERMINAL = ["succeeded", "failed", "interrupted", "cancelled"]


@pytest.mark.parametrize("status", TERMINAL)
def test_spawns_a_job_with_the_same_kind_params_scope_and_priority(
    conn, make_job, make_runner, status
):
    old = make_job(
        status, kind="report", params={"a": [1]}, debounce_scope={"s": 1}, debounce_on="queued",
        priority=7, actor="ada", runner=make_runner(), pinned=True, result=3, message="m",
    )  # fmt: skip
    before = job_of(conn, old)

    [answer] = rows(conn, RERUN, [old, "bob"])

    new = job_of(conn, answer["uuid"])
    same = ("kind", "params", "debounce_scope", "debounce_on", "priority")
    assert answer["created"] is True
    assert {name: new[name] for name in same} == {name: before[name] for name in same}
    assert (new["status"], new["actor"], new["attempt"], new["runner"]) == (
        "queued",
        "bob",
        0,
        None,
    )
    assert (new["result"], new["message"], new["pinned"]) == (None, "", False)
    assert job_of(conn, old) == before


def test_gives_the_active_job_of_the_scope(conn, make_job):
    old = make_job("failed", debounce_scope={})
    active = make_job("running", debounce_scope={})

    assert rows(conn, RERUN, [old, ""]) == [{"uuid": active, "created": False}]


def test_spawns_as_often_as_it_is_called_without_a_scope(conn, make_job):
    old = make_job("succeeded")

    answers = [rows(conn, RERUN, [old, ""])[0] for _ in range(2)]

    assert [answer["created"] for answer in answers] == [True, True]
    assert len(table_of(conn)) == 3


def test_may_start_at_once_also_when_the_first_was_for_later(conn, make_job, make_runner):
    old = make_job("cancelled", run_at="2100-01-01 00:00:00+00")

    new = value(conn, "select uuid from cortex.rerun_job(%s)", [old])

    claimed = rows(conn, "select uuid from cortex.claim_jobs(%s, '{test}')", [make_runner()])
    assert claimed == [{"uuid": new}]


def test_reads_null_for_the_actor_as_nobody(conn, make_job):
    [answer] = rows(conn, RERUN, [make_job("failed"), None])

    assert job_of(conn, answer["uuid"])["actor"] == ""


@pytest.mark.parametrize("status", ["queued", "running"])
def test_refuses_a_job_that_is_not_over(conn, make_job, status):
    job = make_job(status)

    with refused(conn, "JC201"):
        conn.execute(RERUN, [job, ""])

    assert len(table_of(conn)) == 1


def test_refuses_a_job_that_never_was(conn):
    with refused(conn, "JC101"):
        conn.execute(RERUN, [uuid4(), ""])


def test_refuses_null(conn):
    with refused(conn, "22004"):
        conn.execute(RERUN, [None, ""])


def test_refuses_an_actor_that_is_too_long(conn, make_job):
    with refused(conn, "22023"):
        conn.execute(RERUN, [make_job("failed"), "x" * 201])
