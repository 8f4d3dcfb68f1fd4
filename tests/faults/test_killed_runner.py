"""Runners that are killed, suspended, or swept by others."""

from __future__ import annotations

import contextlib
import signal
import threading
import time

import pytest

import pycortex
from pycortex import JobStatus, Worker, registry, sql
from tests.runners import Gate
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("signals")

SLEEPER = """
import sys, time, pycortex
from tests.faults.ledger import main_journal
journal = main_journal()
runner = pycortex.Runner(sys.argv[1], name="sleeper").start()
def body(progress):
    progress.step(1, 9, "asleep")
    sys.stdin.readline()
    return "awake"
handle = runner.spawn("sleep", journal.body(body))
journal.acknowledged(handle.uuid)
print(handle.uuid, flush=True)
handle.wait()
"""

POISON = """
import os, sys, pycortex
from tests.faults.ledger import main_journal
journal = main_journal()
runner = pycortex.Runner(sys.argv[1]).start()
body = journal.body(lambda progress: os._exit(9))
handle = runner.spawn("poison", body, debounce_scope={})
journal.acknowledged(handle.uuid)
print(handle.created, flush=True)
handle.wait(20)
"""


def hasten(conn):
    sql.configure(conn, runner_beat="100 ms", runner_grace="300 ms")


def only(conn):
    [job] = sql.list_recent(conn)
    return job


def start_sleeper(make_runner_process, database, conn):
    process = make_runner_process(SLEEPER, database)
    assert process.stdout.readline()
    wait_until(lambda: only(conn).progress_current == 1)
    return process


def test_sigkill_leaves_a_job_that_upkeep_alone_interrupts(
    make_runner_process, database, committed, ledger
):
    """A01: no Python process of ours is needed."""
    hasten(committed.conn)
    process = start_sleeper(make_runner_process, database, committed.conn)

    ledger.signal(process, signal.SIGKILL)
    process.wait()

    wait_until(lambda: sql.maintain(committed.conn).orphaned == 1, 10)
    job = only(committed.conn)
    assert job.status is JobStatus.INTERRUPTED
    assert job.finished_at is not None
    assert "sleeper" in job.message
    assert str(process.pid) in job.message


def test_another_runner_closes_the_jobs_of_a_dead_one(
    make_runner_process, database, committed, new_runner, ledger
):
    """C03, policy 7: runners run the upkeep too."""
    hasten(committed.conn)
    new_runner()
    process = start_sleeper(make_runner_process, database, committed.conn)

    ledger.signal(process, signal.SIGKILL)
    process.wait()

    wait_until(lambda: only_status(committed.conn) is JobStatus.INTERRUPTED, 20)


def only_status(conn):
    row = conn.execute("select status from cortex.jobs where kind = 'sleep'").fetchone()
    return JobStatus(row[0])


def test_the_sweep_of_one_runner_leaves_the_jobs_of_another_alone(
    make_runner_process, database, committed, new_runner, ledger
):
    """C04."""
    dead = new_runner(name="app")
    gates = [Gate(), Gate()]
    swept = dead.spawn("test", gates[0])
    gates[0].wait_entered()
    alive = new_runner(name="app")
    kept = alive.spawn("test", gates[1])
    gates[1].wait_entered()

    ledger.fault()
    count = sql.interrupt_orphans(committed.conn, dead.uuid)

    assert count == 1
    assert swept.job().status is JobStatus.INTERRUPTED
    assert kept.job().status is JobStatus.RUNNING
    for gate in gates:
        gate.open()
    assert kept.wait(20).status is JobStatus.SUCCEEDED


def test_a_suspended_runner_is_not_dead(make_runner_process, database, committed, ledger):
    """Its session holds the lease as long as the machine answers."""
    hasten(committed.conn)
    process = start_sleeper(make_runner_process, database, committed.conn)

    ledger.signal(process, signal.SIGSTOP)
    try:
        until = time.monotonic() + 1.5  # five graces
        while time.monotonic() < until:
            assert sql.maintain(committed.conn).orphaned == 0
            time.sleep(0.1)
    finally:
        ledger.signal(process, signal.SIGCONT)
    process.stdin.write("\n")
    process.stdin.flush()

    assert process.wait(30) == 0
    assert (only(committed.conn).status, only(committed.conn).result) == (
        JobStatus.SUCCEEDED,
        "awake",
    )


def test_a_job_that_kills_its_process_leaves_one_row_for_each_try(
    make_runner_process, database, committed, ledger
):
    """A12."""
    hasten(committed.conn)
    rounds = 4

    for _ in range(rounds):
        ledger.fault()
        process = make_runner_process(POISON, database)
        assert process.stdout.readline() == "True\n"
        assert process.wait(30) == 9
        wait_until(lambda: sql.maintain(committed.conn).orphaned == 1, 10)

    jobs = sql.list_recent(committed.conn)
    assert [job.status for job in jobs] == [JobStatus.INTERRUPTED] * rounds
    assert len({job.runner for job in jobs}) == rounds


def test_a_crash_between_claim_and_body_strands_no_job(
    committed, new_runner, monkeypatch, caplog, ledger
):
    """B09."""
    hasten(committed.conn)
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("test")(lambda progress: 1)
    runner = new_runner()
    worker = Worker(runner)

    def crash(job):
        raise SystemExit(3)

    ledger.fault()
    monkeypatch.setattr(worker, "_take", crash)
    jobs = [committed.make_job() for _ in range(4)]
    thread = threading.Thread(target=lambda: _ignore_exit(worker))
    thread.start()
    thread.join(20)
    assert {sql.find_job(committed.conn, job).status for job in jobs} == {JobStatus.RUNNING}

    runner.shutdown(0)

    assert {sql.find_job(committed.conn, job).status for job in jobs} == {JobStatus.INTERRUPTED}


def _ignore_exit(worker):
    with contextlib.suppress(SystemExit):
        worker.run(threading.Event())
