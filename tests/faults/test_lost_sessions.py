"""Sessions of a runner that somebody ends, and runners that somebody retires."""

from __future__ import annotations

import threading
import time

import pytest

import pycortex
from pycortex import JobStatus, Worker, registry, sql
from tests.runners import Gate
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("connections terminated")


def wait_for_success(conn, job):
    wait_until(lambda: sql.find_job(conn, job).status is JobStatus.SUCCEEDED)


def test_a_lease_that_is_terminated_once_is_taken_again(new_runner, committed, caplog, ledger):
    """A08."""
    sql.configure(committed.conn, runner_beat="200 ms", runner_grace="2 s")
    runner = new_runner()
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    holder = "select pid from pg_locks where locktype = 'advisory' and granted and objid > 0"
    [(old,)] = committed.conn.execute(holder).fetchall()

    ledger.terminate(committed.conn, old)

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


def test_a_listener_that_is_terminated_hears_again(new_runner, committed, monkeypatch, ledger):
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
        ledger.terminate(committed.conn, ear)
        wait_for_success(committed.conn, ledger.enqueue(committed.conn, "test").uuid)

    stop.set()
    thread.join(20)
    assert not thread.is_alive()


def test_a_runner_that_somebody_retired_registers_anew(new_runner, committed, ledger):
    sql.configure(committed.conn, runner_beat="50 ms", runner_grace="1 s")
    runner = new_runner()
    old = runner.uuid

    ledger.fault()
    sql.retire_runner(committed.conn, old)

    wait_until(lambda: runner.uuid != old)
    assert runner.spawn("test", lambda progress: 1).wait(20).runner == runner.uuid
