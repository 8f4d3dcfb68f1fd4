"""The database restarts, orderly or by a crash, in every phase of a job."""

from __future__ import annotations

import contextlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

import pycortex
from pycortex import JobStatus, Runner, Worker, registry, sql
from tests.runners import Gate
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("database restarted or stopped")

WAITING = "select count(*) from pg_catalog.pg_locks where not granted"


@pytest.fixture(params=["fast", "immediate"])
def restart(request, own_server):
    return lambda: own_server.restart(request.param)


@pytest.fixture
def new_own_runner(own_database):
    runners = []

    def make(**options):
        runners.append(Runner(own_database, **{"grace": 5, "poll_interval": 0.05, **options}))
        return runners[-1].start()

    yield make
    for runner in runners:
        runner.shutdown(0)


@pytest.fixture
def runner(new_own_runner):
    """A runner with one place, so that a second job waits for the first."""
    return new_own_runner(max_workers=1)


@pytest.fixture
def gate(runner):
    gate = Gate()
    gate.handle = runner.spawn("gate", gate)
    gate.wait_entered()
    yield gate
    gate.open()


class Hold:
    """A lock on a job's row, held until the server goes away."""

    def __init__(self, conninfo, statement, *params):
        self.conn = psycopg.connect(conninfo)
        self.conn.execute(statement, params)

    def wait_for_victim(self):
        wait_until(lambda: self.conn.execute(WAITING).fetchone()[0])


@pytest.fixture
def hold(own_database):
    holds = []

    def make(job):
        holds.append(Hold(own_database, "select from cortex.job where uuid = %s for update", job))
        return holds[-1]

    yield make
    for held in holds:
        held.conn.close()


def rows(conninfo):
    with psycopg.connect(conninfo) as conn:
        return sql.list_recent(conn)


def test_before_the_answer_to_a_spawn(own_database, runner, restart):
    """It raises and there is no job, or returns and there is one."""
    scope = {"one": 1}
    with psycopg.connect(own_database) as other:
        sql.spawn_job(other, "test", debounce_scope=scope)
        with ThreadPoolExecutor(1) as pool:
            spawned = pool.submit(runner.spawn, "test", lambda progress: 1, debounce_scope=scope)
            wait_until(lambda: other.execute(WAITING).fetchone()[0])
            restart()
            with contextlib.suppress(psycopg.OperationalError):
                assert spawned.result(60).wait(20).result == 1
        other.close()

    expected = [] if spawned.exception() else [JobStatus.SUCCEEDED]
    assert [job.status for job in rows(own_database)] == expected
    assert runner.spawn("test", lambda progress: 2).wait(20).result == 2


def test_while_a_job_waits_for_a_place(runner, gate, restart):
    waiting = runner.spawn("test", lambda progress: "done")

    restart()
    gate.open()

    assert gate.handle.wait(30).result == "passed"
    assert waiting.wait(30).result == "done"


def test_while_a_job_waits_for_a_worker(own_database, new_own_runner, restart, ledger, monkeypatch):
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("test")(lambda progress: "done")
    with psycopg.connect(own_database, autocommit=True) as conn:
        job = ledger.enqueue(conn, "test").uuid

    restart()
    worker = Worker(new_own_runner(), poll_interval=0.05)
    stop = threading.Event()
    thread = threading.Thread(target=worker.run, args=[stop])
    thread.start()

    wait_until(lambda: rows(own_database)[0].status is JobStatus.SUCCEEDED)
    assert rows(own_database)[0].uuid == job
    stop.set()
    thread.join(30)


def test_at_the_start_of_a_job(runner, gate, hold, restart):
    starting = runner.spawn("test", lambda progress: progress.attempt)
    held = hold(starting.uuid)
    gate.open()
    held.wait_for_victim()

    restart()

    assert starting.wait(30).result == 1


def test_amid_a_step(runner, gate, hold, restart):
    held = hold(gate.handle.uuid)
    with ThreadPoolExecutor(1) as pool:
        stepped = pool.submit(gate.progress.step, 1, 2, "one")
        held.wait_for_victim()
        restart()
        stepped.result(30)

    wait_until(lambda: gate.handle.job().progress_current == 1)
    gate.open()
    assert gate.handle.wait(30).result == "passed"


def test_amid_a_statement_of_the_body(runner, restart, own_database):
    """The error is the body's to handle; one that it does not ends the job and is in its row."""

    def body(progress):
        progress.connection().execute("select pg_sleep(600)")

    handle = runner.spawn("test", body)
    sleeping = "select count(*) from pg_stat_activity where query like '%pg_sleep(600)'"
    with psycopg.connect(own_database, autocommit=True) as conn:
        wait_until(lambda: conn.execute(sleeping).fetchone()[0])
        restart()
        with contextlib.suppress(psycopg.Error):
            conn.close()

    job = handle.wait(30)
    assert job.status is JobStatus.FAILED
    assert "connection" in job.message


def test_a_body_that_asks_for_its_connection_again_goes_on(runner, restart):
    entered, restarted = threading.Event(), threading.Event()

    def body(progress):
        first = progress.connection()
        entered.set()
        assert restarted.wait(60)
        with contextlib.suppress(psycopg.OperationalError):
            first.execute("select 1")
        return progress.connection().execute("select 2").fetchone()

    handle = runner.spawn("test", body)
    assert entered.wait(20)
    restart()
    restarted.set()

    assert handle.wait(30).result == [2]


def test_at_the_end_of_a_job(gate, hold, restart):
    held = hold(gate.handle.uuid)
    gate.open()
    held.wait_for_victim()

    restart()

    assert gate.handle.wait(30).result == "passed"


def test_while_somebody_waits_for_the_end(gate, restart):
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(gate.handle.wait, 60) for _ in range(3)]
        restart()
        gate.open()

        assert {job.result(60).result for job in waiting} == {"passed"}


def test_between_two_attempts(own_database, runner, restart):
    with psycopg.connect(own_database, autocommit=True) as conn:
        sql.configure_kind(conn, "test", max_attempts=2, backoff="300 ms")

    def body(progress):
        if progress.attempt == 1:
            raise RuntimeError("the first")
        return progress.attempt

    handle = runner.spawn("test", body)
    wait_until(lambda: (job := handle.job()).status is JobStatus.QUEUED and job.attempt == 1)
    restart()

    job = handle.wait(30)
    assert (job.status, job.result, job.attempt) == (JobStatus.SUCCEEDED, 2, 2)


def test_while_a_follow_up_waits_for_the_job_before_it(runner, gate, new_own_runner, restart):
    first = Gate()
    other = new_own_runner()
    one = other.spawn("test", first, debounce_scope={}, debounce_on="queued")
    first.wait_entered()
    two = other.spawn("test", lambda progress: "two", debounce_scope={}, debounce_on="queued")

    restart()
    first.open()

    assert one.wait(30).result == "passed"
    assert two.wait(30).result == "two"


def test_during_a_shutdown_that_lets_bodies_end(own_database, new_own_runner, restart):
    runner, gate = new_own_runner(), Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    with ThreadPoolExecutor(1) as pool:
        left = pool.submit(runner.shutdown, 60)
        wait_until(lambda: runner.closing)
        restart()
        gate.open()
        left.result(60)

    assert handle.job().result == "passed"
    with psycopg.connect(own_database) as conn:
        assert [row.alive for row in sql.list_runners(conn)] == [False]


def test_at_the_farewell_of_a_shutdown(own_database, new_own_runner, restart):
    """What it leaves says so, whether the farewell got through or the grace had to tell."""
    runner, gate = new_own_runner(), Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    lock = "select from cortex.runner where uuid = %s for update"
    held = Hold(own_database, lock, runner.uuid)
    with ThreadPoolExecutor(1) as pool:
        left = pool.submit(runner.shutdown, 0)
        held.wait_for_victim()
        restart()
        left.result(60)
    held.conn.close()

    with psycopg.connect(own_database, autocommit=True) as conn:
        sql.configure(conn, runner_beat="100 ms", runner_grace="300 ms")
        wait_until(lambda: sql.maintain(conn) and handle.job().status.terminal)
    assert handle.job().status is JobStatus.INTERRUPTED
    gate.open()  # its late outcome still counts


def test_a_worker_process_works_on(own_database, make_runner_process, ledger, restart, tmp_path):
    process = make_runner_process(
        [sys.executable, "-m", "pycortex", "--database-url", own_database, "worker"],
        "--app", "tests.faults.app", "--kinds", "hold",
    )  # fmt: skip
    until = tmp_path / "until"
    with psycopg.connect(own_database, autocommit=True) as conn:
        ledger.enqueue(conn, "hold", params={"until": str(until), "steps": True})
    wait_until(lambda: rows(own_database)[0].progress_current > 1)

    restart()
    with psycopg.connect(own_database, autocommit=True) as conn:
        ledger.enqueue(conn, "hold", params={"until": str(until)})
    until.touch()

    wait_until(lambda: {job.status for job in rows(own_database)} == {JobStatus.SUCCEEDED})
    assert process.poll() is None
    process.terminate()
    assert process.wait(30) == 0
