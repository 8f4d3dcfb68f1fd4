"""Limits that the role's own settings set, and that strike: time, locks, idleness, isolation."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import pycortex
from pycortex import JobStatus, Worker, registry, sql
from tests.runners import Gate
from tests.servers import to_url
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("settings of the role")


@pytest.fixture
def limited(database, committed, ledger, new_runner):
    """Starts a runner whose role has this setting."""
    params = conninfo_to_dict(database)
    name = f"cortex_limited_{committed.conn.info.backend_pid}"
    committed.conn.execute(f"create role {name} login in role cortex_admin")
    if "password" in params:
        committed.conn.execute(f"alter role {name} password '{params['password']}'")
    runners = []

    def start(setting, **options):
        committed.conn.execute(f"alter role {name} set {setting}")
        ledger.fault()
        runners.append(new_runner(to_url(params | {"user": name}), **options))
        return runners[-1]

    yield start
    for runner in runners:
        runner.shutdown(0)
    left = "select from pg_stat_activity where usename = %s"
    wait_until(lambda: not committed.conn.execute(left, [name]).fetchall())
    committed.conn.execute(f"drop role {name}")


def open_gate(runner):
    gate = Gate()
    gate.handle = runner.spawn("test", gate)
    gate.wait_entered()
    return gate


def hold(connect, job):
    holder = connect()
    holder.execute("select from cortex.job where uuid = %s for update", [job])
    return holder


LIMITS = ["statement_timeout = '150ms'", "lock_timeout = '150ms'"]


@pytest.mark.parametrize("setting", LIMITS)
def test_an_end_that_takes_too_long_is_tried_until_it_is_written(limited, connect, caplog, setting):
    gate = open_gate(limited(setting))
    holder = hold(connect, gate.handle.uuid)

    gate.open()
    wait_until(lambda: "isn't written yet" in caplog.text)
    holder.rollback()

    assert gate.handle.wait(30).result == "passed"


@pytest.mark.parametrize("setting", LIMITS)
def test_a_step_that_takes_too_long_harms_no_body(limited, connect, caplog, setting):
    gate = open_gate(limited(setting))
    holder = hold(connect, gate.handle.uuid)

    gate.progress.step(1, 2)
    gate.progress.step(2, 2)
    wait_until(lambda: "is not written yet" in caplog.text)
    holder.rollback()

    wait_until(lambda: gate.handle.job().progress_current == 2)
    gate.open()
    assert gate.handle.wait(30).result == "passed"


@pytest.mark.parametrize("setting", LIMITS)
def test_a_start_that_takes_too_long_comes_later(limited, connect, caplog, setting):
    runner = limited(setting, max_workers=1)
    gate = open_gate(runner)
    starting = runner.spawn("test", lambda progress: progress.attempt)
    holder = hold(connect, starting.uuid)

    gate.open()
    wait_until(lambda: "can't start yet" in caplog.text)
    holder.rollback()

    assert starting.wait(30).result == 1
    assert gate.handle.wait(30).result == "passed"


@pytest.mark.parametrize("setting", LIMITS)
def test_a_spawn_that_takes_too_long_raises_and_leaves_nothing(
    limited, connect, committed, setting
):
    runner = limited(setting)
    other = connect()
    sql.spawn_job(other, "test", debounce_scope={})

    with pytest.raises((psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable)):
        runner.spawn("test", lambda progress: 1, debounce_scope={})
    other.rollback()

    assert committed.conn.execute("select count(*) from cortex.jobs").fetchone() == (0,)
    assert runner.spawn("test", lambda progress: 2, debounce_scope={}).wait(20).result == 2


def test_a_statement_of_a_body_that_takes_too_long_is_its_failure(limited):
    def body(progress):
        progress.connection().execute("select pg_sleep(600)")

    job = limited("statement_timeout = '300ms'").spawn("test", body).wait(30)

    assert job.status is JobStatus.FAILED
    assert "statement timeout" in job.message


def test_a_body_that_idles_in_its_transaction_loses_its_session_only(limited, committed):
    idled = threading.Event()

    def body(progress):
        conn = progress.connection()
        conn.execute("begin")
        progress.step(1, 2)
        pid = conn.info.backend_pid
        left = "select from pg_stat_activity where pid = %s"
        wait_until(lambda: not committed.conn.execute(left, [pid]).fetchall())
        idled.set()
        progress.step(2, 2)
        return "over it"

    runner = limited("idle_in_transaction_session_timeout = '100ms'")
    job = runner.spawn("test", body).wait(30)

    assert idled.is_set()
    assert (job.result, job.progress_current) == ("over it", 2)


def test_idle_sessions_that_are_ended_are_opened_again(limited, committed, ledger, monkeypatch):
    """Except for the lease's, which holds out."""
    sql.configure(committed.conn, runner_beat="1 s", runner_grace="3 s")
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("queued")(lambda progress: progress.attempt)
    runner = limited("idle_session_timeout = '100ms'")
    stop = threading.Event()
    thread = threading.Thread(target=Worker(runner, poll_interval=0.1).run, args=[stop])
    thread.start()
    gate = open_gate(runner)
    holder = "select backend_pid from cortex.runner"
    before = committed.conn.execute(holder).fetchone()
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        gate.progress.step(1, 2, flush=True)
        job = ledger.enqueue(committed.conn, "queued").uuid
        wait_until(lambda job=job: sql.find_job(committed.conn, job).result == 1)
        assert runner.spawn("test", lambda progress: "quick").wait(20).result == "quick"
        time.sleep(0.15)  # so that they are idle for too long, whichever they are

    assert committed.conn.execute(holder).fetchone() == before
    gate.open()
    assert gate.handle.wait(20).result == "passed"
    stop.set()
    thread.join(20)


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_many_at_once_in_another_isolation_cost_tries_and_nothing_else(
    limited, committed, ledger, monkeypatch, level
):
    """Debounced, limited, queued, stepping and ending at the same time."""
    sql.configure_kind(committed.conn, "queued", max_running=2)
    monkeypatch.setattr(registry, "_bodies", {})

    def body(progress):
        for n in (1, 2, 3):
            progress.step(n, 3, flush=True)
        return progress.attempt

    pycortex.job("queued")(body)
    runner = limited(f"default_transaction_isolation = '{level}'", max_workers=6)
    stop = threading.Event()
    thread = threading.Thread(target=Worker(runner, poll_interval=0.05).run, args=[stop])
    thread.start()

    def spawn(number):
        while True:
            try:
                return runner.spawn("test", body, debounce_scope={"scope": number % 3})
            except psycopg.errors.SerializationFailure:
                continue  # as a caller does who is told so

    queued = [ledger.enqueue(committed.conn, "queued").uuid for _ in range(20)]
    with ThreadPoolExecutor(8) as pool:
        handles = list(pool.map(spawn, range(40)))

    assert {handle.wait(60).result for handle in handles} == {1}
    for job in queued:
        wait_until(lambda job=job: sql.find_job(committed.conn, job).result == 1)
    stop.set()
    thread.join(20)


def test_a_role_that_may_only_read_is_told_at_the_start(limited, committed):
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        limited("default_transaction_read_only = on")

    assert sql.list_runners(committed.conn) == []
