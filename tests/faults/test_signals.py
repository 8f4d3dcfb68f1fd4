"""Signals to the worker command and to a plain program with a runner."""

from __future__ import annotations

import signal
import sys

import pytest

from pycortex import sql
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("signals")

PLAIN = """
import sys, threading, time
import pycortex
from tests.faults.app import hold, journal
def tell():
    while not runner.closing:
        time.sleep(0.01)
    print("closing", flush=True)
with pycortex.Runner(sys.argv[1], name="plain", grace=float(sys.argv[2])) as runner:
    handle = runner.spawn("hold", journal.body(hold), params={"until": sys.argv[3]})
    journal.acknowledged(handle.uuid)
    threading.Thread(target=tell, daemon=True).start()
    print("ready", flush=True)
    handle.wait()
"""


class Program:
    """A process that runs one job, and the file that lets the job end."""

    def __init__(self, process, conn, until):
        self.process, self.conn, self.until = process, conn, until

    def row(self):
        return self.conn.execute(
            "select status::text, result, message from cortex.jobs where kind = 'hold'"
        ).fetchone()

    def let_end(self):
        self.until.touch()

    def ended(self):
        return self.process.wait(60)


@pytest.fixture
def worker(make_runner_process, database, committed, ledger, tmp_path):
    def start(grace, **params):
        process = make_runner_process(
            [sys.executable, "-m", "pycortex", "--database-url", database, "worker"],
            "--app", "tests.faults.app", "--kinds", "hold", "--grace", str(grace),
        )  # fmt: skip
        params |= {"until": str(tmp_path / "until")}
        ledger.enqueue(committed.conn, "hold", params=params)
        return begun(Program(process, committed.conn, tmp_path / "until"))

    return start


@pytest.fixture
def plain(make_runner_process, database, committed, tmp_path):
    def start(grace):
        process = make_runner_process(PLAIN, database, str(grace), str(tmp_path / "until"))
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        return begun(Program(process, committed.conn, tmp_path / "until"))

    return start


def begun(program):
    def running():
        assert program.process.poll() is None, program.process.communicate()
        row = program.row()
        return row and row[0] == "running" and row[2] == "holding"

    wait_until(running)
    return program


def hasten(conn):
    sql.configure(conn, runner_beat="100 ms", runner_grace="300 ms")


def closed_by_upkeep(program):
    """What the row says when nothing but upkeep looks after it."""

    def closed():
        sql.maintain(program.conn)
        return program.row()[0] != "running"

    wait_until(closed)
    return program.row()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_worker_that_is_told_to_end_lets_its_body_end(worker, ledger, number, code):
    program = worker(30)

    ledger.signal(program.process, number)
    wait_until(lambda: "once more" in program.process.stderr.readline())
    program.let_end()

    assert program.ended() == code
    assert program.row() == ("succeeded", "held", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_worker_whose_body_outlasts_the_grace_says_so(worker, ledger, number, code):
    program = worker(0.2)

    ledger.signal(program.process, number)

    assert program.ended() == code
    status, _, message = program.row()
    assert status == "interrupted"
    assert "grace of 0.2 s" in message


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_told_twice_leaves_at_once(worker, ledger, number):
    program = worker(3600)
    hasten(program.conn)

    ledger.signal(program.process, number)
    wait_until(lambda: "once more" in program.process.stderr.readline())
    ledger.signal(program.process, number)

    assert program.ended() == 128 + number
    status, _, message = closed_by_upkeep(program)
    assert status == "interrupted"
    assert str(program.process.pid) in message


@pytest.mark.parametrize("start", ["worker", "plain"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_upkeep_alone_closes_the_job_of_a_process_that_was_killed(request, ledger, start, number):
    """A01. SIGTERM to a program that doesn't handle it is no better than SIGKILL."""
    program = request.getfixturevalue(start)(3600)
    hasten(program.conn)
    if start == "worker":
        number = signal.SIGKILL

    ledger.signal(program.process, number)

    assert program.ended() == -number
    status, _, message = closed_by_upkeep(program)
    assert status == "interrupted"
    assert str(program.process.pid) in message


def test_ctrl_c_in_a_program_lets_its_body_end(plain, ledger):
    program = plain(30)

    ledger.signal(program.process, signal.SIGINT)
    assert program.process.stdout.readline() == "closing\n"
    program.let_end()

    assert program.ended() == -signal.SIGINT
    assert program.row() == ("succeeded", "held", "")


def test_ctrl_c_twice_in_a_program_leaves_at_once(plain, ledger):
    program = plain(3600)

    ledger.signal(program.process, signal.SIGINT)
    assert program.process.stdout.readline() == "closing\n"
    ledger.signal(program.process, signal.SIGINT)

    assert program.ended() == -signal.SIGINT
    status, _, message = program.row()
    assert (status, "told twice" in message) == ("interrupted", True)


# Stopped for longer than the limits.


def stop(program, ledger):
    ledger.signal(program.process, signal.SIGSTOP)


def go_on(program, ledger):
    ledger.signal(program.process, signal.SIGCONT)


@pytest.mark.parametrize("limit", ["stale_after", "run_timeout"])
@pytest.mark.parametrize("start", ["worker", "plain"])
def test_a_stopped_process_whose_job_was_given_up_corrects_it(request, ledger, start, limit):
    """B04. It was only slow: what its body knows in the end counts."""
    program = request.getfixturevalue(start)(30)
    stop(program, ledger)
    sql.configure_kind(program.conn, "hold", **{limit: "10 milliseconds"})

    status, _, message = closed_by_upkeep(program)
    assert status == "interrupted"
    assert "no progress" in message or "run_timeout" in message
    program.let_end()
    go_on(program, ledger)

    wait_until(lambda: program.row()[:2] == ("succeeded", "held"))
    program.process.terminate()
    program.ended()


def test_a_stopped_process_that_lost_its_sessions_too_corrects_its_job(plain, ledger):
    """Its lease is free, its beats are old: it is taken for dead, until it goes on."""
    program = plain(30)
    hasten(program.conn)
    stop(program, ledger)
    sessions = "select pid from pg_stat_activity where application_name = 'pycortex plain'"
    for (pid,) in program.conn.execute(sessions).fetchall():
        ledger.terminate(program.conn, pid)

    status, _, message = closed_by_upkeep(program)
    assert (status, "is gone" in message) == ("interrupted", True)
    program.let_end()
    go_on(program, ledger)

    assert program.ended() == 0
    assert program.row()[:2] == ("succeeded", "held")


def test_a_job_that_another_worker_has_ended_since_is_lost_to_a_stopped_one(
    worker, make_runner_process, database, ledger
):
    """B03, B04. The first copy is told at its next step; only the second one's outcome stands."""
    program = worker(30, steps=True)
    stop(program, ledger)
    sql.configure_kind(
        program.conn, "hold", stale_after="10 milliseconds", max_attempts=2, backoff="0",
        on_interrupt="requeue",
    )  # fmt: skip
    wait_until(lambda: sql.maintain(program.conn) and program.row()[0] == "queued")
    sql.configure_kind(program.conn, "hold", reset=["stale_after"])
    program.let_end()
    other = make_runner_process(
        [sys.executable, "-m", "pycortex", "--database-url", database, "worker"],
        "--app", "tests.faults.app", "--kinds", "hold",
    )  # fmt: skip
    wait_until(lambda: program.row()[:2] == ("succeeded", "held"))
    program.until.unlink()
    go_on(program, ledger)

    wait_until(lambda: all(run.ended for runs in ledger.runs().values() for run in runs))
    [runs] = ledger.runs().values()
    assert [(run.attempt, run.status) for run in runs] == [(1, None), (2, "succeeded")]
    assert program.row()[:2] == ("succeeded", "held")
    for process in (program.process, other):
        process.terminate()
        assert process.wait(30) == 0
