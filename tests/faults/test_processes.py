"""Bodies in processes of their own: their process, their runner's, and the database end."""

from __future__ import annotations

import os
import signal
import sys

import psycopg
import pytest

from pycortex import JobStatus, Runner, sql
from tests.faults.app import hold
from tests.isolation.processes import ended
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("bodies in processes")

PROGRAM = """
import signal, sys
import pycortex
from tests.faults.app import hold, journal
if __name__ == "__main__":
    runner = pycortex.Runner(sys.argv[1], name="parent", isolation="process").start()
    for n in range(2):
        params = {"until": sys.argv[2], "pid": True}
        handle = runner.spawn("hold", journal.body(hold), params=params)
        journal.acknowledged(handle.uuid)
    print("ready", flush=True)
    signal.pause()
"""


@pytest.fixture
def until(tmp_path):
    return tmp_path / "until"


@pytest.fixture
def new_process_runner(monkeypatch, ledger):
    monkeypatch.setenv("PYCORTEX_TEST_JOURNAL", str(ledger.path))
    runners = []

    def make(conninfo):
        runners.append(
            Runner(conninfo, isolation="process", kill_after=0.2, grace=5, poll_interval=0.05)
        )
        return runners[-1].start()

    yield make
    for runner in runners:
        runner.shutdown(0)


def spawn(runner, until, **params):
    params |= {"until": str(until), "pid": True}
    handle = runner.spawn("hold", hold, params=params)
    return handle, pid_of(handle.job)


def pid_of(job):
    found = wait_until(lambda: (row := job()).progress_current >= 1 and row, 60)
    return int(found.message)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_the_end_of_its_process_fails_a_job_and_is_named(
    new_process_runner, database, ledger, until, number
):
    handle, pid = spawn(new_process_runner(database), until)

    ledger.fault()
    ledger.add("gone", pid=pid, killed=True)
    os.kill(pid, number)

    job = handle.wait(30)
    assert job.status is JobStatus.FAILED
    assert signal.Signals(number).name in job.message


def test_no_process_outlives_a_runner_that_was_killed(
    make_runner_process, database, committed, ledger, until, tmp_path
):
    """And upkeep alone closes its jobs."""
    sql.configure(committed.conn, runner_beat="100 ms", runner_grace="1 s")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = make_runner_process(
        [sys.executable, "-W", "error", str(program)], database, str(until)
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    uuids = [job.uuid for job in sql.list_recent(committed.conn)]
    pids = [pid_of(lambda uuid=uuid: sql.find_job(committed.conn, uuid)) for uuid in uuids]

    ledger.signal(process, signal.SIGKILL)

    wait_until(lambda: ended(*pids))
    for pid in pids:
        ledger.add("gone", pid=pid, killed=True)
    wait_until(
        lambda: (
            sql.maintain(committed.conn)
            and {sql.find_job(committed.conn, uuid).status for uuid in uuids}
            == {JobStatus.INTERRUPTED}
        )
    )


def test_a_stopped_process_is_given_up_and_killed(
    new_process_runner, database, committed, ledger, until
):
    sql.configure(committed.conn, runner_beat="50 ms", runner_grace="1 s")
    handle, pid = spawn(new_process_runner(database), until)
    ledger.fault()
    ledger.add("gone", pid=pid, killed=True)
    os.kill(pid, signal.SIGSTOP)
    sql.configure_kind(committed.conn, "hold", stale_after="10 milliseconds")

    wait_until(lambda: handle.job().status.terminal and ended(pid))
    assert handle.job().status is JobStatus.INTERRUPTED
    wait_until(lambda: "SIGKILL" in handle.job().message)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_database_restarts_under_it(new_process_runner, own_server, own_database, until, mode):
    handle, _ = spawn(new_process_runner(own_database), until, steps=True)

    own_server.restart(mode)
    until.touch()

    assert handle.wait(60).result == "held"


def test_all_its_sessions_are_ended(new_process_runner, database, committed, ledger, until):
    handle, _ = spawn(new_process_runner(database), until, steps=True)
    ours = "select pid from pg_stat_activity where application_name like 'pycortex%'"
    for _ in range(3):
        for (pid,) in committed.conn.execute(ours).fetchall():
            ledger.terminate(committed.conn, pid)
        before = handle.job().progress_current
        wait_until(lambda before=before: handle.job().progress_current > before)
    until.touch()

    assert handle.wait(30).result == "held"


def test_a_spawn_while_the_database_is_away_leaves_nothing(
    new_process_runner, own_server, own_database, until
):
    runner = new_process_runner(own_database)
    own_server.stop()
    for _ in range(runner.max_workers + 2):
        with pytest.raises(psycopg.OperationalError):
            runner.spawn("hold", hold, params={"until": str(until)})
    own_server.start()

    until.touch()
    handle = runner.spawn("hold", hold, params={"until": str(until)})
    assert handle.wait(60).result == "held"
