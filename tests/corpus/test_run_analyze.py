"""The body of kind analyze in SQL: as honest about each table as the one in Python."""

from __future__ import annotations

import threading

import pytest

import pycortex.sql
from tests.sql.logins import login
from tests.waiting import wait_until, wait_until_blocked


@pytest.fixture
def own(connect):
    conn = connect(autocommit=True)
    conn.execute("create table public.a (x int); insert into public.a select generate_series(1, 9)")
    conn.execute("create table public.b (x int)")
    return conn


@pytest.fixture
def worker(connect):
    return connect(autocommit=True)


def ended(conn, spawned):
    job = pycortex.sql.find_job(conn, spawned.uuid)
    return job.status, job.message, job.result


def spawn(conn, **params):
    return pycortex.sql.spawn_job(conn, "analyze", params=params)


def in_thread(worker):
    running = threading.Thread(target=lambda: worker.execute("call cortex.work()"))
    running.start()
    return running


def test_tells_one_row_per_table(own, worker):
    spawned = spawn(own, tables=["public.a", "public.b"])

    worker.execute("call cortex.work()")

    status, _, result = ended(own, spawned)
    assert status == "succeeded"
    assert result["analyzed"] == ["public.a", "public.b"]
    a, b = result["tables"]
    assert a.pop("seconds") >= 0
    assert a.pop("bytes_before") == a.pop("bytes_after") == 8192
    assert a == {"table": "public.a", "outcome": "done", "reason": None, "warnings": []}
    assert b["bytes_before"] == 0


def test_does_the_rest_and_keeps_the_rows_of_what_failed(own, worker):
    """J05"""
    own.execute("create view public.look as select 1 as a")
    spawned = spawn(own, tables=["public.gone", "public.look", '"unclosed', "public.a"])

    worker.execute("call cortex.work()")

    status, message, result = ended(own, spawned)
    assert status == "failed"
    assert message.startswith("3 of 4 tables failed: public.gone: there is no such table any more;")
    assert [row["outcome"] for row in result["tables"]] == ["failed", "failed", "failed", "done"]
    assert result["analyzed"] == ["public.a"]


def test_takes_partitioned_tables_materialized_views_and_odd_names(own, worker):
    own.execute(
        "create table public.p (a int) partition by range (a);"
        'create table public."P "" 1" partition of public.p default;'
        'insert into public.p select 1; create materialized view public."m ; v" as select 1 as a'
    )
    names = ["public.p", 'public."P "" 1"', 'public."m ; v"']
    spawned = pycortex.sql.spawn_analyze(own, tables=names)

    worker.execute("call cortex.work()")

    status, _, result = ended(own, spawned)
    assert (status, result["analyzed"]) == ("succeeded", names)
    parent, part, view = (row["bytes_before"] for row in result["tables"])
    assert parent == part > 0
    assert view > 0


def test_skips_a_table_without_the_right_and_names_each_partition(own, connect, server):
    """A warning about rights is no success."""
    own.execute("create table public.p (a int) partition by range (a)")
    own.execute("create table public.p1 partition of public.p default")
    with login(server, own.info.dbname, "cortex_runner") as url:
        other = connect(url, autocommit=True)
        own.execute(f"alter table public.p owner to {other.info.user}")
        spawned = spawn(own, tables=["public.p", "public.a"])

        other.execute("call cortex.work()")

        status, message, result = ended(own, spawned)
        assert status == "failed"
        assert [row["outcome"] for row in result["tables"]] == ["skipped", "skipped"]
        assert "may not analyze public.p1" in result["tables"][0]["reason"]
        assert "may not analyze public.a" in message
        other.close()


def test_analyzes_with_the_right_to_maintain_alone(own, connect, server):
    if own.info.server_version < 170000:
        own.execute("create table public.c (x int)")  # the right came with 17: ownership it is
        right = "alter table public.c owner to {0}"
    else:
        own.execute("create table public.c (x int)")
        right = "grant maintain on public.c to {0}"
    with login(server, own.info.dbname, "cortex_runner") as url:
        other = connect(url, autocommit=True)
        own.execute(right.format(other.info.user))
        spawned = spawn(own, tables=["public.c"])

        other.execute("call cortex.work()")

        assert ended(own, spawned)[0] == "succeeded"
        other.close()


def test_gives_up_on_a_locked_table_and_names_who_is_in_the_way(own, worker, connect):
    """J04"""
    blocker = connect(application_name="migration")
    blocker.execute("lock table public.a in share row exclusive mode")
    spawned = spawn(own, tables=["public.a", "public.b"], lock_timeout="50ms")

    worker.execute("call cortex.work()")

    _, message, result = ended(own, spawned)
    assert "lock_timeout of 50ms" in message
    assert f"session {blocker.info.backend_pid} (migration, idle in transaction since" in message
    assert result["analyzed"] == ["public.b"]


@pytest.mark.parametrize("value", ["soon", "-1", "1s'; select 1", True, {}])
def test_refuses_a_lock_timeout_that_is_none(own, worker, value):
    spawned = spawn(own, tables=["public.a"], lock_timeout=value)

    worker.execute("call cortex.work()")

    status, message, _ = ended(own, spawned)
    assert status == "failed"
    assert message.startswith("params: ")


def test_says_that_it_can_not_heed_a_limit_to_statements(own, worker):
    """J08"""
    spawned = spawn(own, tables=["public.a"], statement_timeout="1s")

    worker.execute("call cortex.work()")

    [row] = ended(own, spawned)[2]["tables"]
    assert row["outcome"] == "done"
    assert "statement_timeout is not heeded" in row["warnings"][0]


def hold(conn, table):
    """Hold a table as another maintenance job does."""
    key = "cortex.maintenance_key(%s::regclass)"
    conn.execute(f"select pg_advisory_lock(cortex.lock_space(), {key})", [table])


def test_takes_a_partitioned_table_and_its_partitions_for_one(own, worker, connect):
    """J11"""
    own.execute("create table public.p (a int) partition by range (a)")
    own.execute("create table public.p1 partition of public.p default")
    hold(connect(autocommit=True), "public.p1")
    spawned = spawn(own, tables=["public.p", "public.a"], lock_timeout="300ms")

    worker.execute("call cortex.work()")

    status, message, result = ended(own, spawned)
    assert status == "failed"
    assert "public.p: another maintenance job works on it" in message
    assert result["analyzed"] == ["public.a"]


def test_takes_a_table_last_that_another_job_works_on(own, worker, connect):
    """J11"""
    other = connect(autocommit=True)
    hold(other, "public.a")
    spawned = spawn(own, tables=["public.a", "public.b"])
    running = in_thread(worker)
    wait_until(
        lambda: "waiting for another" in pycortex.sql.find_job(own, spawned.uuid).message,
        what="it waits",
    )
    assert own.execute(
        "select reltuples from pg_class where oid = 'public.b'::regclass"
    ).fetchone() == (0,)

    other.close()

    running.join()
    status, _, result = ended(own, spawned)
    assert (status, result["analyzed"]) == ("succeeded", ["public.a", "public.b"])


def test_fails_on_a_table_that_another_job_works_on_for_too_long(own, worker, connect):
    """J11"""
    hold(connect(autocommit=True), "public.a")
    spawned = spawn(own, tables=["public.a", "public.b"], lock_timeout="300ms")

    worker.execute("call cortex.work()")

    status, message, result = ended(own, spawned)
    assert status == "failed"
    assert "another maintenance job works on it" in message
    assert result["analyzed"] == ["public.b"]


@pytest.mark.parametrize("hard", [False, True])
def test_is_cancelled_while_it_waits_for_another_job(own, worker, connect, hard):
    """J12"""
    hold(connect(autocommit=True), "public.a")
    spawned = spawn(own, tables=["public.a"])
    running = in_thread(worker)
    wait_until(
        lambda: "waiting for another" in pycortex.sql.find_job(own, spawned.uuid).message,
        what="it waits",
    )

    pycortex.sql.cancel_job(own, spawned.uuid, hard=hard)

    running.join()
    assert ended(own, spawned)[0] == "cancelled"


def test_ends_its_statement_when_cancelled_hard(own, worker, connect):
    """J12"""
    blocker = connect()
    blocker.execute("lock table public.a in share row exclusive mode")
    spawned = spawn(own, tables=["public.a", "public.b"])
    running = in_thread(worker)
    wait_until_blocked(own, worker.info.backend_pid)

    pycortex.sql.cancel_job(own, spawned.uuid, hard=True)

    running.join()
    assert ended(own, spawned)[0] == "cancelled"
    assert own.execute(
        "select reltuples from pg_class where oid = 'public.b'::regclass"
    ).fetchone() == (-1,)
