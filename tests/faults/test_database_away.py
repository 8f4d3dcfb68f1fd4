"""The database goes away and comes back, in every phase of a job."""

from __future__ import annotations

import os
import signal
import threading
import time

import psycopg
import pytest

import pycortex
from pycortex import JobStatus, Runner, Worker, registry, sql
from tests.runners import Gate
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("database restarted or stopped")


@pytest.fixture
def runner(own_database):
    runner = Runner(own_database, grace=5, poll_interval=0.05).start()
    yield runner
    runner.shutdown(0)


@pytest.fixture
def gate(runner):
    gate = Gate()
    gate.handle = runner.spawn("test", gate)
    gate.wait_entered()
    yield gate
    gate.open()


def warnings(caplog):
    return [r.getMessage() for r in caplog.records if r.levelname in ("WARNING", "ERROR")]


def rows(conninfo):
    with psycopg.connect(conninfo) as conn:
        return sql.list_recent(conn)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_under_a_running_body_costs_nothing(own_server, gate, caplog, mode):
    gate.progress.step(1, 3)

    own_server.restart(mode)
    gate.progress.step(2, 3)
    gate.progress.step(3, 3)
    gate.open()

    job = gate.handle.wait(30)
    assert (job.status, job.result, job.progress_current) == (JobStatus.SUCCEEDED, "passed", 3)
    assert len(warnings(caplog)) <= 1


def test_ten_seconds_without_a_database_cost_nothing(own_server, runner, caplog):
    slowest = 0.0
    stopped, stepping = threading.Event(), threading.Event()

    def body(progress):
        nonlocal slowest
        n = 0
        until = float("inf")
        while time.monotonic() < until:
            n += 1
            began = time.monotonic()
            progress.step(n, None, "working")
            slowest = max(slowest, time.monotonic() - began)
            stepping.set()
            time.sleep(0.01)
            if stopped.is_set() and until == float("inf"):
                until = time.monotonic() + 10
        return n

    handle = runner.spawn("test", body)
    assert stepping.wait(20)
    own_server.stop()
    stopped.set()
    time.sleep(10.5)
    assert "job succeeded" not in caplog.text
    own_server.start()

    job = handle.wait(30)
    assert job.status is JobStatus.SUCCEEDED
    assert job.progress_current == job.result
    assert slowest < 2
    assert len(warnings(caplog)) == 1, warnings(caplog)


def test_steps_are_seen_again_soon_after_the_outage(own_server, gate):
    gate.progress.step(1)
    own_server.stop()
    gate.progress.step(2)
    own_server.start()

    wait_until(lambda: gate.handle.job().progress_current == 2, 10)


def test_an_end_during_the_outage_is_written_after_it(own_server, gate):
    own_server.stop("immediate")
    gate.open()
    time.sleep(0.5)
    own_server.start()

    assert gate.handle.wait(30).result == "passed"


def test_a_wait_outlasts_the_outage(own_server, gate):
    found = []
    waiter = threading.Thread(target=lambda: found.append(gate.handle.wait(60)))
    waiter.start()

    own_server.restart()
    gate.open()

    waiter.join(60)
    assert [job.status for job in found] == [JobStatus.SUCCEEDED]


def test_a_spawn_after_a_restart_finds_the_database_again(own_server, runner):
    for mode in ("fast", "immediate"):
        runner.spawn("test", lambda progress: 1).wait(20)
        own_server.restart(mode)

        assert runner.spawn("test", lambda progress: 2).wait(20).result == 2


def test_a_spawn_during_the_outage_raises_and_leaves_nothing(own_server, own_database, runner):
    own_server.stop()
    for _ in range(10):
        with pytest.raises(psycopg.OperationalError):
            runner.spawn("lost", lambda progress: 1)
    own_server.start()

    assert runner.spawn("test", lambda progress: 1).wait(20).result == 1
    assert [job.kind for job in rows(own_database)] == ["test"]


def test_a_runner_stays_registered_through_a_restart(own_server, own_database, runner):
    own_server.restart()

    with psycopg.connect(own_database, autocommit=True) as conn:
        sql.configure(conn, runner_beat="100 ms", runner_grace="300 ms")
        wait_until(lambda: [row.alive for row in sql.list_runners(conn)] == [True])
        held = "select count(*) = 1 from pg_locks where locktype = 'advisory' and granted"
        wait_until(lambda: conn.execute(held).fetchone()[0])
        time.sleep(0.5)
        assert [row.alive for row in sql.list_runners(conn)] == [True]


SLEEPER = """
import sys, pycortex
from tests.faults.ledger import main_journal
journal = main_journal()
def body(progress):
    progress.step(1, 2)
    sys.stdin.readline()
    progress.step(2, 2, flush=True)
    return "awake"
with pycortex.Runner(sys.argv[1]) as runner:
    handle = runner.spawn("sleep", journal.body(body))
    journal.acknowledged(handle.uuid)
    print("ready", flush=True)
    handle.wait()
"""


def test_an_outage_longer_than_the_grace_makes_no_orphans(
    own_server, own_database, make_runner_process
):
    """Whoever is back first, pg_cron or another runner, leaves the others the time to come back."""
    with psycopg.connect(own_database, autocommit=True) as conn:
        sql.configure(conn, runner_beat="100 ms", runner_grace="5 s")
    process = make_runner_process(SLEEPER, own_database)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    wait_until(lambda: rows(own_database)[0].progress_current == 1)
    os.kill(process.pid, signal.SIGSTOP)  # so that it is certainly not the first to be back
    own_server.stop()
    until = time.monotonic() + 5.5
    wait_until(lambda: time.monotonic() > until)
    own_server.start()

    with psycopg.connect(own_database, autocommit=True) as conn:
        assert sql.maintain(conn).orphaned == 0
        assert [runner.alive for runner in sql.list_runners(conn)] == [True]
    os.kill(process.pid, signal.SIGCONT)
    process.stdin.write("\n")
    process.stdin.flush()

    assert process.wait(30) == 0
    [job] = rows(own_database)
    assert (job.status, job.result, job.progress_current) == (JobStatus.SUCCEEDED, "awake", 2)


def test_an_idle_worker_outlasts_the_outage_and_hears_again(
    own_server, own_database, runner, monkeypatch, caplog, ledger
):
    """H02, H09."""
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("test")(lambda progress: 1)
    stop = threading.Event()
    worker = Worker(runner, poll_interval=3600)
    thread = threading.Thread(target=worker.run, args=[stop])
    thread.start()
    wait_until(lambda: rows(own_database) == [])

    own_server.stop()
    wait_until(lambda: warnings(caplog))
    own_server.start()

    with psycopg.connect(own_database, autocommit=True) as conn:
        spawned = ledger.enqueue(conn, "test")
        wait_until(lambda: sql.find_job(conn, spawned.uuid).status is JobStatus.SUCCEEDED, 20)
        spawned = ledger.enqueue(conn, "test")
        wait_until(lambda: sql.find_job(conn, spawned.uuid).status is JobStatus.SUCCEEDED, 20)
    stop.set()
    thread.join(20)
    assert not thread.is_alive()
    assert len(warnings(caplog)) == 1, warnings(caplog)


def test_a_shutdown_during_the_outage_ends_in_time(own_server, own_database):
    """C10."""
    runner = Runner(own_database, grace=0.5).start()
    gate = Gate()
    runner.spawn("test", gate)
    gate.wait_entered()
    own_server.stop()
    began = time.monotonic()

    runner.shutdown()

    assert time.monotonic() - began < 30  # far below any of the network's own limits
    own_server.start()
    gate.open()
