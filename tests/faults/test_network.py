"""A network that swallows packets, cuts connections, and loses answers."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import pycortex
from pycortex import JobStatus, Runner, Worker, registry, sql
from tests.faults.proxy import Proxy
from tests.runners import Gate
from tests.servers import to_url
from tests.waiting import wait_until


def wait_for_success(conn, job):
    wait_until(lambda: sql.find_job(conn, job).status is JobStatus.SUCCEEDED)


@pytest.fixture
def proxy(database):
    proxy = Proxy(database)
    yield proxy
    proxy.close()


@pytest.fixture
def runner(proxy):
    # Limits that a test can wait for; the defaults are tested with the connection strings.
    runner = Runner(
        proxy.url(tcp_user_timeout=1000, connect_timeout=2, keepalives_idle=1,
                  keepalives_interval=1, keepalives_count=2),
        grace=0.2, poll_interval=0.05,
    )  # fmt: skip
    yield runner.start()
    proxy.speak()
    runner.shutdown(0)
    assert runner._lease._over.wait(30)


def test_a_silent_network_holds_no_body_and_a_shutdown_only_for_its_limit(proxy, runner):
    """C10, H03."""
    gate = Gate()
    runner.spawn("test", gate)
    progress = gate.wait_entered()
    progress.step(1)
    proxy.fall_silent()
    began = time.monotonic()

    for n in range(2, 20):
        progress.step(n, flush=n == 2)
    stepped = time.monotonic()
    runner.shutdown()
    ended = time.monotonic()

    assert stepped - began < 2
    assert ended - stepped < 0.2 + 5 + 1
    gate.open()


def test_an_answer_that_is_lost_at_the_end_does_not_end_the_job_twice(proxy, runner, committed):
    """B08."""
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    proxy.lose_answer_to(b"finish_job")

    gate.open()

    assert proxy.lost.wait(20)
    assert handle.wait(20).result == "passed"
    wait_until(lambda: runner._bodies.busy == 0)
    ends = [e for e in sql.list_events(committed.conn, handle.uuid) if e.to_status.terminal]
    assert [event.to_status for event in ends] == [JobStatus.SUCCEEDED]


def test_an_answer_that_is_lost_at_the_start_does_not_strand_the_job(proxy, runner):
    """B09."""
    proxy.lose_answer_to(b"set_running")

    job = runner.spawn("test", lambda progress: 1).wait(20)

    assert proxy.lost.is_set()
    assert (job.status, job.attempt) == (JobStatus.SUCCEEDED, 1)


def test_a_commit_whose_answer_is_lost_is_looked_up(proxy, runner, committed):
    """A spawn either raises and there is no job, or returns and there is one."""
    runner.spawn("test", lambda progress: 1).wait(20)
    proxy.lose_answer_to(b"COMMIT")

    handle = runner.spawn("test", lambda progress: 2)

    assert proxy.lost.is_set()
    assert handle.wait(20).result == 2
    assert committed.conn.execute("select count(*) from cortex.jobs").fetchone() == (2,)


def test_a_commit_that_stays_uncertain_raises_and_its_job_is_cancelled(
    proxy, runner, committed, monkeypatch
):
    monkeypatch.setattr("pycortex._spawn.SETTLE_LIMIT", 0)
    runner.spawn("test", lambda progress: 1).wait(20)
    proxy.lose_answer_to(b"COMMIT")

    with pytest.raises(psycopg.OperationalError):
        runner.spawn("uncertain", lambda progress: 2)

    row = "select status from cortex.jobs where kind = 'uncertain'"
    wait_until(lambda: committed.conn.execute(row).fetchall() == [("cancelled",)])


def test_a_connection_that_is_cut_before_the_commit_costs_one_more_try(proxy, runner, committed):
    runner.spawn("test", lambda progress: 1).wait(20)
    proxy.lose_answer_to(b"spawn_job")

    handle = runner.spawn("test", lambda progress: 2)

    assert proxy.lost.is_set()
    assert handle.wait(20).result == 2
    assert committed.conn.execute("select count(*) from cortex.jobs").fetchone() == (2,)


def test_a_claim_whose_answer_is_lost_strands_no_job(proxy, runner, committed, monkeypatch):
    """B09."""
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("test")(lambda progress: 1)
    stop = threading.Event()
    thread = threading.Thread(target=Worker(runner, poll_interval=0.1).run, args=[stop])
    thread.start()
    uuids = []
    for _ in range(5):
        proxy.lost.clear()
        proxy.lose_answer_to(b"COMMIT")
        uuids.append(sql.spawn_job(committed.conn, "test").uuid)
        assert proxy.lost.wait(20)

    for uuid in uuids:
        wait_for_success(committed.conn, uuid)
    stop.set()
    thread.join(20)
    assert {sql.find_job(committed.conn, uuid).attempt for uuid in uuids} == {1}


def test_all_connections_cut_at_once_cost_nothing(proxy, runner):
    gate = Gate()
    handle = runner.spawn("test", gate)
    progress = gate.wait_entered()
    progress.step(1)

    for n in range(2, 6):
        proxy.cut()
        progress.step(n)
    gate.open()

    job = handle.wait(20)
    assert (job.status, job.progress_current) == (JobStatus.SUCCEEDED, 5)


def test_a_primary_that_is_one_no_more_is_left_for_the_new_one(runner, proxy, committed):
    """H12."""
    [name] = committed.conn.execute("select current_database()").fetchone()
    read_only = f"alter database {name} set default_transaction_read_only = "
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    committed.conn.execute(read_only + "on")
    proxy.cut()
    gate.open()
    wait_until(lambda: "finish" in runner._outage._parts)

    committed.conn.execute(read_only + "off")

    assert handle.wait(20).result == "passed"


def test_a_lease_that_is_terminated_once_is_taken_again(new_runner, committed, caplog):
    """A08."""
    sql.configure(committed.conn, runner_beat="200 ms", runner_grace="2 s")
    runner = new_runner()
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    holder = "select pid from pg_locks where locktype = 'advisory' and granted and objid > 0"
    [(old,)] = committed.conn.execute(holder).fetchall()

    committed.conn.execute("select pg_terminate_backend(%s)", [old])

    wait_until(lambda: any(pid != old for (pid,) in committed.conn.execute(holder).fetchall()))
    until = time.monotonic() + 3
    while time.monotonic() < until:  # longer than its grace
        sql.maintain(committed.conn)
        assert handle.job().status is JobStatus.RUNNING
        time.sleep(0.05)
    gate.open()
    assert handle.wait(20).status is JobStatus.SUCCEEDED
    assert [r.levelname for r in caplog.records if r.levelname in ("WARNING", "ERROR")] == [
        "WARNING"
    ]


def test_a_listener_that_is_terminated_hears_again(new_runner, committed, monkeypatch):
    """H09."""
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("test")(lambda progress: 1)
    stop = threading.Event()
    thread = threading.Thread(target=Worker(new_runner(), poll_interval=3600).run, args=[stop])
    thread.start()
    ears = (
        "select pid from pg_stat_activity where query like 'listen %%'"
        " and datname = current_database()"
    )

    for _ in range(10):
        [(ear,)] = wait_until(lambda: committed.conn.execute(ears).fetchall())
        committed.conn.execute("select pg_terminate_backend(%s)", [ear])
        wait_for_success(committed.conn, sql.spawn_job(committed.conn, "test").uuid)

    stop.set()
    thread.join(20)
    assert not thread.is_alive()


def test_a_runner_that_somebody_retired_registers_anew(new_runner, committed):
    sql.configure(committed.conn, runner_beat="50 ms", runner_grace="1 s")
    runner = new_runner()
    old = runner.uuid

    sql.retire_runner(committed.conn, old)

    wait_until(lambda: runner.uuid != old)
    assert runner.spawn("test", lambda progress: 1).wait(20).runner == runner.uuid


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation = 'serializable'",
        "default_transaction_isolation = 'repeatable read'",
        "statement_timeout = '2s'",
        "lock_timeout = '100ms'",
        "idle_in_transaction_session_timeout = '100ms'",
        "datestyle = 'German, DMY'",
        "intervalstyle = 'iso_8601'",
        "timezone = 'America/St_Johns'",
        "search_path = 'nowhere'",
        "client_encoding = 'LATIN1'",
    ],
)
def test_a_role_with_settings_of_its_own_runs_jobs(database, committed, new_runner, setting):
    """H06."""
    name = f"cortex_test_{committed.conn.info.backend_pid}"
    committed.conn.execute(f"create role {name} login superuser")
    try:
        committed.conn.execute(f"alter role {name} set {setting}")
        runner = new_runner(to_url(conninfo_to_dict(database) | {"user": name}))
        handles = [
            runner.spawn(
                "test", lambda progress: progress.step(1, 2, "Ω") or "ü", params={"é": "Ω"}
            )
            for _ in range(5)
        ]
        assert {handle.wait(20).result for handle in handles} == {"ü"}
        runner.shutdown(0)
    finally:
        committed.conn.execute(f"drop role {name}")


def test_too_many_connections_are_named_and_waited_for(database, committed, new_runner, caplog):
    """H14."""
    name = f"cortex_test_{committed.conn.info.backend_pid}"
    committed.conn.execute(f"create role {name} login in role cortex_admin connection limit 3")
    conninfo = to_url(conninfo_to_dict(database) | {"user": name})
    runner = new_runner(conninfo)
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    runner._pool.close()  # so that the end needs a connection that isn't to be had
    greedy = [psycopg.connect(conninfo), psycopg.connect(conninfo)]
    with pytest.raises(psycopg.OperationalError, match="too many connections"):
        psycopg.connect(conninfo)

    gate.open()
    wait_until(lambda: "too many connections" in caplog.text)
    for conn in greedy:
        conn.close()

    assert handle.wait(20).result == "passed"
    runner.shutdown(0)
    wait_until(
        lambda: (
            not committed.conn.execute(
                "select from pg_stat_activity where usename = %s", [name]
            ).fetchall()
        )
    )
    committed.conn.execute(f"drop role {name}")
