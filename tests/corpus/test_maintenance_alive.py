"""Maintenance amid a long statement: it is seen to live, ends when told, and minds other jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

import pycortex.builtin
import pycortex.sql
from pycortex import Job, JobStatus, Runner
from pycortex._maintenance import REINDEX, maintain
from tests.corpus.indexes import invalid
from tests.corpus.rows import Progress
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
ISOLATIONS = pytest.mark.parametrize("isolation", ["thread", "process"])
BODIES = {"reindex": pycortex.builtin.reindex, "analyze": pycortex.builtin.analyze}


@pytest.fixture
def own(connect) -> psycopg.Connection[Any]:
    conn = connect(autocommit=True)
    for name in ("t", "u", "v"):
        conn.execute(f"create table public.{name} (a int primary key, b int)")
        conn.execute(f"insert into public.{name} select i, i from generate_series(1, 500) as i")
        conn.execute(f"create index {name}_b on public.{name} (b)")
    return conn


@contextmanager
def reader(connect, *, name="idler") -> Iterator[psycopg.Connection[Any]]:
    """Somebody who has read public.t and does not end the transaction."""
    conn = connect(application_name=name)
    conn.execute("select from public.t")
    yield conn
    conn.rollback()


def blocked(conn) -> int:
    """Wait until a REINDEX waits for the reader; the session that it runs in."""
    return wait_until(
        lambda: conn.execute(
            "select min(pid) from pg_stat_activity where datname = current_database()"
            " and query ilike 'reindex%%concurrently%%' and state = 'active'"
            " and pid <> pg_backend_pid() and cardinality(pg_blocking_pids(pid)) > 0"
        ).fetchone()[0],
        what="a reindex waits",
    )


def cleaning(conn, pid: int) -> None:
    """Wait until a session drops an index, or is gone."""
    wait_until(
        lambda: (
            conn.execute(
                "select query ilike 'drop index%%' from pg_stat_activity where pid = %s", [pid]
            ).fetchone()
            in ((True,), None)
        ),
        what="it cleans up",
    )


def spawn(runner: Runner, kind: str, *tables: str, **params: Any) -> Any:
    params = {"tables": list(tables), **params}
    return runner.spawn(kind, BODIES[kind], params=params)


def find(conn, handle) -> Job:
    job = pycortex.sql.find_job(conn, handle.uuid)
    assert job is not None
    return job


def test_steps_while_a_statement_waits_and_says_for_whom(own, connect, database):
    """J04: the heartbeat goes on meanwhile, and the row names who is in the way."""
    with Runner(database, step_interval=0.1) as runner, reader(connect) as blocker:
        job = spawn(runner, "reindex", "public.t", "public.u")
        blocked(own)
        words = f"waiting for session {blocker.info.backend_pid} (idler, idle in transaction since"
        wait_until(lambda: words in find(own, job).message, what="the row names the reader")
        first = find(own, job).updated_at

        wait_until(lambda: find(own, job).updated_at > first, what="it gives another sign of life")

        assert find(own, job).progress_total == 2
        blocker.rollback()
        assert job.wait(timeout=60).status is JobStatus.SUCCEEDED
    assert invalid(own) == []


def test_is_not_taken_for_a_hang_while_one_statement_lasts_longer_than_its_kind_may_be_silent(
    own, connect, database
):
    own.execute("select cortex.configure_kind('reindex', stale_after => '3 seconds')")
    with Runner(database, step_interval=0.1) as runner, reader(connect) as blocker:
        job = spawn(runner, "reindex", "public.t")
        blocked(own)
        began = find(own, job).started_at

        def seen_for_long() -> bool:
            own.execute("select cortex.reap_stale()")
            return (find(own, job).updated_at - began).total_seconds() > 5

        wait_until(seen_for_long, what="it has lived longer than it may be silent")

        blocker.rollback()
        done = job.wait(timeout=60)
    assert (done.status, done.attempt) == (JobStatus.SUCCEEDED, 1)


@ISOLATIONS
@pytest.mark.parametrize("hard", [False, True])
def test_cancel_ends_the_statement_on_the_server_and_cleans_up(
    own, connect, database, isolation, hard
):
    """J12"""
    with Runner(database, isolation=isolation) as runner, reader(connect) as blocker:
        job = spawn(runner, "reindex", "public.t", "public.u")
        pid = blocked(own)

        pycortex.sql.cancel_job(own, job.uuid, hard=hard)

        cleaning(own, pid)
        blocker.rollback()
        done = job.wait(timeout=60)
        assert done.status is JobStatus.CANCELLED
        assert done.message
    wait_until(lambda: invalid(own) == [], what="nothing is left over")
    maintain(Progress(own, {"tables": ["public.t"]}), REINDEX)  # nor any lock


@ISOLATIONS
def test_keeps_the_rows_when_somebody_cancels_its_statement(own, connect, database, isolation):
    with Runner(database, isolation=isolation) as runner, reader(connect) as blocker:
        job = spawn(runner, "reindex", "public.u", "public.t", "public.v")
        pid = blocked(own)

        own.execute("select pg_cancel_backend(%s)", [pid])  # as a DBA does, who asks nobody

        cleaning(own, pid)
        blocker.rollback()
        done = job.wait(timeout=60)
    assert done.status is JobStatus.FAILED
    assert [row["outcome"] for row in done.result["tables"]] == ["done", "failed", "skipped"]
    assert done.result["reindexed"] == ["public.u"]


def test_keeps_the_rows_when_its_session_is_ended(own, connect, database):
    with Runner(database) as runner, reader(connect) as blocker:
        job = spawn(runner, "reindex", "public.u", "public.t", "public.v")
        pid = blocked(own)

        own.execute("select pg_terminate_backend(%s)", [pid])

        wait_until(
            lambda: (
                own.execute(
                    "select count(*) from pg_stat_activity where query ilike 'drop index%%'"
                    " and cardinality(pg_blocking_pids(pid)) > 0"
                ).fetchone()
                == (1,)
            ),
            what="it cleans up in another session",
        )
        blocker.rollback()
        done = job.wait(timeout=60)
    assert done.status is JobStatus.FAILED
    assert [row["outcome"] for row in done.result["tables"]] == ["done", "failed", "skipped"]
    assert invalid(own) == []


def start_worker(database: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pycortex", "worker", "--kinds", "reindex", *arguments],
        env=os.environ | {"PYCORTEX_DATABASE_URL": database, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@ISOLATIONS
def test_sigterm_to_a_worker_ends_the_statement_and_cleans_up(own, connect, database, isolation):
    """J12"""
    process = start_worker(database, "--grace", "6", "--isolation", isolation)
    try:
        with reader(connect) as blocker:
            job = pycortex.sql.spawn_reindex(own, tables=["public.t"])
            pid = blocked(own)

            process.send_signal(signal.SIGTERM)

            cleaning(own, pid)
            blocker.rollback()
            process.wait(60)
    finally:
        process.kill()
        process.wait()
    assert find(own, job).status is JobStatus.INTERRUPTED
    assert own.execute(
        "select count(*) from pg_stat_activity where pid = %s and query ilike 'reindex%%'", [pid]
    ).fetchone() == (0,)
    assert invalid(own) == []


def test_the_next_run_cleans_up_after_a_worker_that_was_killed(own, connect, database):
    """J12"""
    process = start_worker(database)
    try:
        with reader(connect):
            pycortex.sql.spawn_reindex(own, tables=["public.t"])
            pid = blocked(own)
            process.kill()
            process.wait()
            own.execute("select pg_terminate_backend(%s)", [pid])  # as the upkeep will
            wait_until(
                lambda: (
                    own.execute(
                        "select count(*) from pg_stat_activity where pid = %s", [pid]
                    ).fetchone()
                    == (0,)
                ),
                what="its session is gone",
            )
    finally:
        process.kill()
        process.wait()
    assert invalid(own) != []

    [row] = maintain(Progress(own, {"tables": ["public.t"]}), REINDEX)["tables"]

    assert len(row["dropped"]) == 1
    assert invalid(own) == []


def test_an_analyze_of_a_partitioned_table_waits_for_the_reindex_of_a_partition(
    own, connect, database
):
    """J11: else each would wait for the other."""
    own.execute(
        "create table public.p (a int primary key) partition by range (a);"
        "create table public.p1 partition of public.p default;"
        "insert into public.p select generate_series(1, 100)"
    )
    other = connect()
    other.execute("select from public.p1")
    with Runner(database, max_workers=2) as runner:
        first = spawn(runner, "reindex", "public.p")
        blocked(own)
        second = spawn(runner, "analyze", "public.p")
        wait_until(lambda: "waiting for session" in find(own, second).message, what="it waits")

        other.rollback()

        assert [job.wait(timeout=60).status for job in (first, second)] == ["succeeded"] * 2


@pytest.mark.parametrize(
    ("kind", "phases"),
    [("reindex", ("building index", "index validation")), ("analyze", ("computing statistics",))],
)
def test_shows_how_far_the_server_is_with_one_statement(own, database, kind, phases):
    own.execute(
        "create function public.slow(a int) returns int language plpgsql immutable as"
        " $$ begin perform pg_sleep(0.02); return a; end $$;"
        "create table public.p (a int) partition by range (a);"
        "create table public.p1 partition of public.p default;"
        "create index p1_slow on public.p1 (public.slow(a));"
        "insert into public.p select generate_series(1, 100)"
    )

    def seen():
        return [
            activity
            for activity in pycortex.sql.list_activity(own)
            if activity.phase and activity.phase.startswith(phases)
        ]

    with Runner(database) as runner:
        job = spawn(runner, kind, "public.p")
        [activity] = wait_until(seen, what="the phase shows", step=0.01)
        assert job.wait(timeout=60).status is JobStatus.SUCCEEDED

    assert activity.job == job.uuid
    assert activity.total is not None
    assert activity.total > 0


def test_jobs_on_the_same_tables_never_collide(own, database):
    """J11: with debounce off, and a reindex beside an analyze."""
    tables = ["public.t", "public.u", "public.v"]
    with Runner(database, max_workers=4) as runner:
        jobs = [
            spawn(runner, kind, *order)
            for kind in ("reindex", "analyze", "reindex", "analyze", "reindex")
            for order in (tables, tables[::-1])
        ]
        done = [job.wait(timeout=120) for job in jobs]

    assert {job.message: job.status for job in done if job.status != "succeeded"} == {}
    assert invalid(own) == []


def test_waits_for_another_job_at_the_end_and_does_the_rest_first(own, connect, database):
    """J11"""
    with Runner(database, max_workers=2) as runner, reader(connect) as blocker:
        first = spawn(runner, "reindex", "public.t")
        blocked(own)
        second = spawn(runner, "reindex", "public.t", "public.u")
        wait_until(
            lambda: "public.t: waiting for session" in find(own, second).message,
            what="the second waits",
        )
        assert find(own, second).progress_current == 1

        blocker.rollback()

        assert [job.wait(timeout=60).status for job in (first, second)] == ["succeeded"] * 2
        assert second.wait().result["reindexed"] == ["public.t", "public.u"]


def test_gives_up_on_a_table_that_another_job_keeps_and_names_its_session(own, connect, database):
    """J11: as for any other lock."""
    with Runner(database, max_workers=2) as runner, reader(connect) as blocker:
        first = spawn(runner, "reindex", "public.t")
        pid = blocked(own)
        second = spawn(runner, "analyze", "public.t", "public.u", lock_timeout="300ms")

        done = second.wait(timeout=60)

        assert done.status is JobStatus.FAILED
        assert "another maintenance job works on it" in done.message
        assert f"session {pid} " in done.message
        assert done.result["analyzed"] == ["public.u"]
        blocker.rollback()
        assert first.wait(timeout=60).status is JobStatus.SUCCEEDED


def test_is_cancelled_while_it_waits_for_another_job(own, connect, database):
    with Runner(database, max_workers=2) as runner, reader(connect):
        spawn(runner, "reindex", "public.t")
        blocked(own)
        second = spawn(runner, "analyze", "public.t")
        wait_until(lambda: "waiting for session" in find(own, second).message, what="it waits")

        pycortex.sql.cancel_job(own, second.uuid)

        assert second.wait(timeout=60).status is JobStatus.CANCELLED


def test_waits_for_a_reindex_of_somebody_elses_and_leaves_its_indexes_alone(own, connect):
    other, worker = connect(autocommit=True), connect(autocommit=True)
    with reader(connect) as blocker:
        theirs = threading.Thread(
            target=lambda: other.execute("reindex (verbose) table concurrently public.t")
        )
        theirs.start()
        blocked(own)
        done: list[Any] = []
        ours = threading.Thread(
            target=lambda: done.append(
                maintain(Progress(worker, {"tables": ["public.t"]}), REINDEX)
            )
        )
        ours.start()
        wait_until(
            lambda: own.execute(
                "select %s = any(pg_blocking_pids(%s))",
                [other.info.backend_pid, worker.info.backend_pid],
            ).fetchone()[0],
            what="ours waits for theirs",
        )
        blocker.rollback()
        theirs.join()
        ours.join()

    assert done[0]["reindexed"] == ["public.t"]
    assert done[0]["tables"][0]["dropped"] == []
    assert invalid(own) == []
    assert own.execute(
        "select count(*) from pg_index where indrelid = 'public.t'::regclass"
    ).fetchone() == (2,)
