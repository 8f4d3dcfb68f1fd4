"""Sessions of a runner that somebody ends, and runners that somebody retires."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
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


OURS = (
    "select pid from pg_stat_activity where datname = current_database()"
    " and application_name like 'pycortex%%' order by backend_start, pid"
)


def spawn_anyhow(runner, body, handles):
    """Spawn; where that raises there is no job, as its scope shows."""
    try:
        handles.append(runner.spawn("test", body))
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.parametrize("at_once", [False, True], ids=["in turn", "all at once"])
def test_sessions_that_are_ended_all_the_time_cost_nothing(
    new_runner, committed, ledger, at_once, monkeypatch
):
    """Each of the runner's sessions: of its lease, its listener, its calls, its bodies."""
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("queued")(lambda progress: progress.step(1, 2))
    runner = new_runner(max_workers=4, step_interval=0.01)
    stop, spawned, due = threading.Event(), threading.Event(), threading.Semaphore(0)
    thread = threading.Thread(target=Worker(runner, poll_interval=0.1).run, args=[stop])
    thread.start()

    def body(progress):
        for n in range(1, 11):
            progress.step(n, 10)
            time.sleep(0.01)
        return "done"

    def end_sessions():
        with psycopg.connect(ledger.conninfo, autocommit=True) as conn:
            for turn in itertools.count():
                due.acquire()  # one round for each spawn, at whatever pace the machine has
                pids = [pid for (pid,) in conn.execute(OURS).fetchall()]
                for pid in pids if at_once else pids[turn % len(pids) :][:1] if pids else []:
                    ledger.terminate(conn, pid)
                if spawned.is_set():
                    return

    handles, queued, refused = [], [], 0
    with ThreadPoolExecutor(1) as pool:
        ender = pool.submit(end_sessions)
        for _ in range(40):
            due.release()
            refused += not spawn_anyhow(runner, body, handles)
            queued.append(ledger.enqueue(committed.conn, "queued").uuid)
        spawned.set()
        due.release()
        ender.result(20)

    assert handles
    jobs = [handle.wait(60) for handle in handles]
    assert {(job.status, job.result, job.progress_current) for job in jobs} == {
        (JobStatus.SUCCEEDED, "done", 10)
    }
    for job in queued:
        wait_for_success(committed.conn, job)
    [count] = committed.conn.execute("select count(*) from cortex.jobs").fetchone()
    assert count == len(handles) + len(queued) == 80 - refused
    stop.set()
    thread.join(20)


def test_a_session_of_a_body_that_is_ended_is_the_body_s_affair(new_runner, committed, ledger):
    runner = new_runner()
    entered, ended = threading.Event(), threading.Event()
    pids = []

    def body(progress):
        pids.append(progress.connection().info.backend_pid)
        entered.set()
        assert ended.wait(20)
        progress.step(1, 2)
        try:
            progress.connection().execute("select 1")
        except psycopg.OperationalError:
            progress.step(2, 2)
            return "noticed"

    handle = runner.spawn("test", body)
    assert entered.wait(20)
    ledger.terminate(committed.conn, pids[0])
    ended.set()

    job = handle.wait(20)
    assert (job.status, job.result, job.progress_current) == (JobStatus.SUCCEEDED, "noticed", 2)
