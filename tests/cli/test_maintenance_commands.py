"""reindex and analyze: limits, what they would do, and what Ctrl-C leaves."""

from __future__ import annotations

import json
import signal

import pytest

from tests.cli.conftest import ended
from tests.corpus.indexes import files, invalid, invalidate
from tests.waiting import wait_until, wait_until_blocked

KINDS = pytest.mark.parametrize("command", ["reindex", "analyze"])


@pytest.fixture
def own(committed):
    committed.conn.execute("create table public.t (a int primary key, b int)")
    committed.conn.execute("insert into public.t select i, i from generate_series(1, 1000) as i")
    committed.conn.execute("create index t_b on public.t (b)")
    return committed.conn


def jobs(conn):
    return conn.execute("select count(*) from cortex.jobs").fetchone()[0]


@KINDS
def test_carries_limits_into_the_params(cli, own, command):
    """J08"""
    cli(command, "t", "--queue", "--lock-timeout", "1.5", "--statement-timeout", "0")

    [params] = own.execute("select params from cortex.jobs").fetchone()
    assert params == {
        "tables": ["public.t"],
        "lock_timeout": "1500ms",
        "statement_timeout": "0s",
    }


@KINDS
@pytest.mark.parametrize("value", ["-1", "nan", "soon", "1e10"])
def test_refuses_a_limit_that_is_none(cli, own, command, value):
    result = cli(command, "t", "--lock-timeout", value)

    assert result.exit_code == 2
    assert jobs(own) == 0


def test_ends_with_1_and_keeps_the_rows_when_a_table_is_locked(cli, own, connect):
    """J04"""
    blocker = connect(application_name="idler")
    blocker.execute("select from public.t")

    result = cli("reindex", "t", "corpus.tasks", "--lock-timeout", "0.2", "--json")

    job = json.loads(result.stdout)
    assert result.exit_code == 1
    assert f"session {blocker.info.backend_pid} (idler" in job["message"]
    assert [row["outcome"] for row in job["result"]["tables"]] == ["failed", "done"]


@KINDS
def test_dry_run_changes_nothing_and_makes_no_job(cli, own, command):
    before = files(own, "public.t_pkey", "public.t_b")
    invalidate(own, "public.t_b")

    result = cli(command, "t", "--dry-run")

    assert result.exit_code == 0
    assert "public.t" in result.stdout
    assert jobs(own) == 0
    assert files(own, "public.t_pkey", "public.t_b") == before
    assert invalid(own) == ["t_b"]
    assert own.execute("select count(*) from pg_stats where tablename = 't'").fetchone() == (0,)


def test_dry_run_says_why(cli, own):
    invalidate(own, "public.t_b")

    result = cli("reindex", "t", "--dry-run")

    assert "rebuild 2 of 2 indexes; 1 of them invalid" in result.stdout
    assert "public.t_b is invalid: it is made anew" in result.stderr


def test_dry_run_says_how_stale_the_statistics_are(cli, own):
    own.execute("analyze public.t")

    def seen():
        return "analyze; 0 rows modified" in cli("analyze", "t", "--dry-run").stdout

    wait_until(seen, what="the statistics arrive")


def test_dry_run_measures_bloat_where_pgstattuple_is(cli, own):
    plain = json.loads(cli("reindex", "t", "--dry-run", "--json").stdout)
    own.execute('create schema "odd one"')
    own.execute('create extension pgstattuple with schema "odd one"')
    own.execute("create index t_hash on public.t using hash (a)")
    own.execute("delete from public.t where a % 10 <> 0")
    own.execute("vacuum public.t")

    [plan] = json.loads(cli("reindex", "t", "--dry-run", "--json").stdout)

    assert {index["bloat_bytes"] for index in plain[0]["indexes"]} == {None}
    bloat = {index["index"]: index["bloat_bytes"] for index in plan["indexes"]}
    assert bloat["public.t_hash"] is None
    assert 8192 < bloat["public.t_pkey"] < plan["index_bytes"]
    assert "BLOAT" in cli("reindex", "t", "--dry-run").stdout


def test_dry_run_names_who_is_in_the_way_and_waits_for_nobody(cli, own, connect):
    blocker = connect(application_name="migration")
    blocker.execute("lock table public.t in access exclusive mode")

    [plan] = json.loads(cli("reindex", "t", "--dry-run", "--json").stdout)

    assert f"session {blocker.info.backend_pid} (migration" in plan["in_the_way"][0]
    assert plan["table_bytes"] is None
    assert "locked" in cli("reindex", "t", "--dry-run").stdout


def test_dry_run_says_that_a_job_is_active(cli, own):
    job = cli("analyze", "--queue").stdout.strip()

    result = cli("analyze", "t", "--dry-run")

    assert f"job {job} of this kind is queued" in result.stderr


def test_dry_run_refuses_what_the_job_would_refuse(cli, own):
    assert cli("reindex", "nosuch", "--dry-run").exit_code == 1
    assert cli("reindex", "t", "--dry-run", "--queue").exit_code == 2


def test_ctrl_c_ends_the_statement_on_the_server_and_cleans_up(pycortex, own, connect):
    """J12"""
    blocker = connect()
    blocker.execute("select from public.t")
    process = pycortex.start("reindex", "t")
    pid = wait_until(
        lambda: own.execute(
            "select min(pid) from pg_stat_activity where query ilike 'reindex%%concurrently%%'"
            " and pid <> pg_backend_pid() and cardinality(pg_blocking_pids(pid)) > 0"
        ).fetchone()[0],
        what="the reindex waits",
    )
    wait_until_blocked(own, pid)

    process.send_signal(signal.SIGINT)
    wait_until(
        lambda: (
            own.execute(
                "select query ilike 'drop index%%' from pg_stat_activity where pid = %s", [pid]
            ).fetchone()
            in ((True,), None)
        ),
        what="it cleans up",
    )
    blocker.rollback()

    assert ended(process) == 130
    process.communicate()
    assert invalid(own) == []
    wait_until(
        lambda: (
            own.execute("select count(*) from pg_stat_activity where pid = %s", [pid]).fetchone()
            == (0,)
        ),
        what="its session is gone",
    )
    [status] = own.execute("select status::text from cortex.jobs").fetchone()
    assert status == "interrupted"


def test_shows_what_the_server_does_while_it_waits(pycortex, own, connect):
    blocker = connect(application_name="idler")
    blocker.execute("select from public.t")
    process = pycortex.start("reindex", "t")

    line = process.stderr.readline()
    while f"waiting for session {blocker.info.backend_pid} (idler" not in line:
        assert line, "it ended"
        line = process.stderr.readline()
    assert "reindexing public.t: public.t_pkey, 1 of 2" in line
    assert "(REINDEX CONCURRENTLY: waiting for readers before marking dead" in line
    blocker.rollback()

    process.communicate(timeout=60)
    assert process.returncode == 0
