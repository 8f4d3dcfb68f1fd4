"""`pycortex report show` counts what is missing: at once, or by one job for all who ask."""

from __future__ import annotations

import json

import psycopg
import pytest

import pycortex.sql
from tests.corpus.rows import make_scope, make_task
from tests.sql.asking import value


@pytest.fixture
def own(connect) -> psycopg.Connection:
    return connect(autocommit=True)


@pytest.fixture
def scope(own):
    scope = make_scope(own)
    make_task(own, scope, -2, [("warning", "font", "missing")])
    return scope


def words(scope, severity: str = "warning") -> tuple[str, ...]:
    return ("report", "show", str(scope.corpus_id), str(scope.service_id), severity)


def jobs(conn) -> list[tuple[str, str]]:
    return conn.execute("select kind, status::text from cortex.jobs order by created_at").fetchall()


def test_counts_a_small_slice_at_once(cli, own, scope):
    shown = cli(*words(scope))

    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[1].split() == ["total", "1", "1"]
    assert jobs(own) == []


def test_counts_anew_what_is_stale(cli, own, scope):
    cli(*words(scope))
    make_task(own, scope, -2, [("warning", "font", "missing")])

    shown = cli(*words(scope))

    assert shown.stdout.splitlines()[1].split() == ["total", "2", "2"]
    assert shown.stderr == ""


def test_only_looks_without_a_budget(cli, own, scope):
    cold = cli(*words(scope), "--budget", "0")
    pycortex.sql.populate_scope(own, *scope.slice("warning"))
    make_task(own, scope, -2, [("warning", "font", "missing")])
    stale = cli(*words(scope), "--budget", "0")

    assert (cold.exit_code, cold.stdout) == (0, "")
    assert "pycortex report populate" in cold.stderr
    assert (stale.exit_code, stale.stdout.splitlines()[1].split()) == (0, ["total", "1", "1"])
    assert "stale" in stale.stderr
    assert jobs(own) == []


def test_leaves_what_takes_longer_to_a_job_and_says_so(cli, own, connect, scope):
    blocker = connect()
    blocker.execute("select corpus.populate_scope(%s, %s, %s)", scope.slice("warning"))

    shown = cli(*words(scope), "--budget", "0.1", "--actor", "ada")

    (job,) = pycortex.sql.list_recent(own)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert f"pycortex wait {job.uuid}" in shown.stderr
    assert (job.kind, job.status, job.actor) == ("populate_report", "queued", "ada")


def test_shows_the_old_count_while_a_job_makes_the_new_one(cli, own, connect, scope):
    pycortex.sql.populate_scope(own, *scope.slice("warning"))
    make_task(own, scope, -2, [("warning", "font", "missing")])
    blocker = connect()
    blocker.execute("select corpus.populate_scope(%s, %s, %s)", scope.slice("warning"))

    shown = cli(*words(scope), "--budget", "0.1", "--json")

    (job,) = pycortex.sql.list_recent(own)
    assert shown.exit_code == 0
    assert [row["task_count"] for row in json.loads(shown.stdout)] == [1, 1, 1]
    assert all(row["stale"] for row in json.loads(shown.stdout))
    assert str(job.uuid) in shown.stderr


def test_sees_a_large_count_through_when_told_to_wait(cli, own, scope):
    shown = cli(*words(scope), "--wait", "--budget", "0")

    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[1].split() == ["total", "1", "1"]
    assert jobs(own) == [("populate_report", "succeeded")]


def test_many_who_wait_have_one_job_run_and_all_see_it(pycortex, own, scope):
    processes = [pycortex.start(*words(scope), "--wait", "--budget", "0") for _ in range(4)]
    told = [process.communicate(timeout=120) for process in processes]

    assert [process.returncode for process in processes] == [0] * 4
    assert {out.splitlines()[1].split()[-1] for out, _ in told} == {"1"}
    assert set(jobs(own)) == {("populate_report", "succeeded")}
    assert (
        value(own, "select count(*) from corpus.report_slice(%s, %s, %s)", scope.slice("warning"))
        == 3
    )


def test_does_not_wait_for_ever_for_a_count_that_fails(cli, own, scope):
    own.execute(
        "alter table corpus.report_grain_cache add constraint boom check (category <> 'font')"
    )

    shown = cli(*words(scope), "--wait", "--budget", "0")

    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "boom" in shown.stderr
    assert jobs(own) == [("populate_report", "failed")]


def test_shows_what_there_is_to_whoever_may_not_count(cli, own, scope, database, monkeypatch):
    pycortex.sql.populate_scope(own, *scope.slice("warning"))
    make_task(own, scope, -2, [("warning", "font", "missing")])
    own.execute("create role report_reader login in role cortex_reader")
    try:
        url = database.replace("postgres@", "report_reader@")
        shown = cli("--database-url", url, *words(scope))
    finally:
        own.execute("drop role report_reader")

    assert shown.exit_code == 0
    assert "stale" in shown.stderr
    assert jobs(own) == []
