"""An executor that takes no more bodies: its runner ends, loudly, and leaves the queue alone."""

from __future__ import annotations

import logging
import os
import signal
import threading
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor

import pytest

import pycortex
from pycortex import ExecutorBroken, JobStatus, Worker, registry, sql
from pycortex._remote import carry
from pycortex.sql import find_job as find
from tests.executors import bodies
from tests.executors.test_executors import processes
from tests.waiting import wait_until


@pytest.fixture
def pool():
    """A fresh executor with two processes."""
    executor = processes("spawn")
    yield executor
    executor.shutdown(wait=False, cancel_futures=True)


@pytest.fixture
def kinds(monkeypatch):
    """Registrations of a test go with it."""
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("hold")(bodies.hold)
    pycortex.job("count")(bodies.count_once)


def kill_holder(signs):
    pid = int(signs.wait("held")[0].split()[0])
    assert pid != os.getpid()
    os.kill(pid, signal.SIGKILL)


def states(conn):
    query = "select status::text, count(*) from cortex.jobs group by 1"
    return dict(conn.execute(query).fetchall())


def test_a_killed_process_fails_the_job_whose_body_it_ran(pool, new_runner, signs, caplog):
    runner = new_runner(executor=pool)
    handle = runner.spawn("test", bodies.hold, params=signs.params)

    kill_holder(signs)

    job = handle.wait(30)
    assert job.status is JobStatus.FAILED
    assert "the executor lost its body: BrokenProcessPool" in job.message
    assert job.progress_current >= 1
    [said] = [r for r in caplog.records if r.levelno == logging.CRITICAL]
    assert "takes no more bodies: BrokenProcessPool" in said.getMessage()


def test_the_jobs_that_come_after_are_not_failed(pool, new_runner, signs, committed):
    runner = new_runner(executor=pool, max_workers=4)
    held = [runner.spawn("test", bodies.hold, params=signs.params) for _ in range(2)]
    signs.wait("held", 2)
    waiting = [runner.spawn("test", bodies.count_once, params=signs.params) for _ in range(9)]
    wait_until(lambda: states(committed.conn) == {"running": 4, "queued": 7})

    kill_holder(signs)

    wait_until(lambda: states(committed.conn) == {"failed": 2, "interrupted": 9})
    assert {handle.job().status for handle in held} == {JobStatus.FAILED}
    assert all("takes no more bodies" in handle.job().message for handle in waiting)
    notes = ["its body had not begun" in handle.job().message for handle in waiting]
    assert sum(notes) >= 2
    assert signs.see("ran") == []


def test_nothing_is_spawned_any_more(pool, new_runner, signs, committed):
    runner = new_runner(executor=pool)
    runner.spawn("test", bodies.hold, params=signs.params)
    kill_holder(signs)
    wait_until(lambda: runner.closing)

    with pytest.raises(ExecutorBroken, match="BrokenProcessPool"):
        runner.spawn("test", bodies.count_once)

    assert sum(states(committed.conn).values()) == 1


def test_a_break_in_idleness_is_found_before_there_is_a_job(pool, new_runner, committed):
    runner = new_runner(executor=pool)
    runner.spawn("test", bodies.tell_where).wait(30)
    for process in list(pool._processes.values()):
        process.kill()
    wait_until(lambda: pool._broken)

    with pytest.raises(ExecutorBroken):
        runner.spawn("test", bodies.count_once)

    assert states(committed.conn) == {"succeeded": 1}


def run_worker(runner):
    """Start a worker in a thread; what it raises comes into the list."""
    raised = []

    def run():
        try:
            Worker(runner).run(threading.Event())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def test_a_worker_ends_with_an_error_and_leaves_the_queue(
    kinds, pool, new_runner, signs, committed
):
    thread, raised = run_worker(new_runner(executor=pool, max_workers=1))
    held = sql.spawn_job(committed.conn, "hold", params=signs.params).uuid
    signs.wait("held")
    for _ in range(20):
        sql.spawn_job(committed.conn, "count", params=signs.params)

    kill_holder(signs)

    thread.join(60)
    assert [type(error) for error in raised] == [ExecutorBroken]
    wait_until(lambda: find(committed.conn, held).status is JobStatus.FAILED)
    assert states(committed.conn) == {"failed": 1, "queued": 20}


def test_another_worker_takes_what_is_left_and_what_may_be_tried_again(
    kinds, pool, new_runner, signs, committed
):
    sql.configure_kind(committed.conn, "hold", max_attempts=2, backoff="0")
    thread, _ = run_worker(new_runner(executor=pool, max_workers=1))
    held = sql.spawn_job(committed.conn, "hold", params=signs.params).uuid
    sql.spawn_job(committed.conn, "count", params=signs.params)
    kill_holder(signs)
    thread.join(60)
    signs.give("end")

    fresh = new_runner(executor=ThreadPoolExecutor(2))
    thread, raised = run_worker(fresh)

    wait_until(lambda: states(committed.conn) == {"succeeded": 2})
    assert [line.split()[1] for line in signs.see("held")] == ["1", "2"]
    assert find(committed.conn, held).attempt == 2
    fresh.shutdown()
    thread.join(20)
    assert raised == []


class Counting(ThreadPoolExecutor):
    """Counts the bodies that it was given."""

    bodies = 0

    def submit(self, fn, /, *args, **kwargs):
        future = super().submit(fn, *args, **kwargs)
        self.bodies += fn is carry
        return future


@pytest.mark.parametrize("cancel", [False, True])
def test_an_executor_that_was_shut_down_breaks_nothing_else(
    kinds, new_runner, signs, committed, cancel
):
    executor = Counting(1)
    thread, raised = run_worker(new_runner(executor=executor, max_workers=3))
    held = sql.spawn_job(committed.conn, "hold", params=signs.params).uuid
    signs.wait("held")
    behind = [sql.spawn_job(committed.conn, "count", params=signs.params).uuid for _ in range(2)]
    wait_until(lambda: executor.bodies == 3)

    executor.shutdown(wait=False, cancel_futures=cancel)
    for _ in range(20):
        sql.spawn_job(committed.conn, "count", params=signs.params)
    signs.give("end")
    thread.join(60)

    assert [type(error) for error in raised] == [ExecutorBroken]
    wait_until(lambda: find(committed.conn, held).status is JobStatus.SUCCEEDED)
    # What it had taken in already it still runs, unless it cancelled that.
    end = "interrupted" if cancel else "succeeded"
    wait_until(lambda: {find(committed.conn, job).status for job in behind} == {end})
    assert states(committed.conn)["queued"] == 20


class Sick(Executor):
    """Refuses everything, for whatever reason."""

    def submit(self, fn, /, *args, **kwargs):
        raise BrokenExecutor("out of order")


def test_a_worker_with_an_executor_that_never_worked_takes_nothing(kinds, new_runner, committed):
    for _ in range(5):
        sql.spawn_job(committed.conn, "count")

    thread, raised = run_worker(new_runner(executor=Sick()))

    thread.join(30)
    assert "out of order" in str(raised[0])
    assert states(committed.conn) == {"queued": 5}


def test_its_runner_says_goodbye_by_itself(pool, new_runner, signs, committed):
    runner = new_runner(executor=pool)
    runner.spawn("test", bodies.hold, params=signs.params)

    kill_holder(signs)

    wait_until(lambda: [row.alive for row in sql.list_runners(committed.conn)] == [False])


def test_bodies_in_threads_have_their_grace(pool, new_runner, signs):
    runner = new_runner(executor=pool, grace=30)
    lost = runner.spawn("test", bodies.hold, params=signs.params)
    signs.wait("held")
    kept = runner.spawn("test", bodies.hold, params=signs.params, isolation="thread")
    signs.wait("held", 2)

    kill_holder(signs)

    assert lost.wait(30).status is JobStatus.FAILED
    wait_until(lambda: runner.closing)
    signs.give("end")
    assert kept.wait(30).status is JobStatus.SUCCEEDED


PROGRAM = """
import sys, threading
import pycortex
from pycortex import Runner, Worker
from tests.executors import bodies
from tests.executors.test_executors import processes

if __name__ == "__main__":
    pycortex.job("hold")(bodies.hold)
    pycortex.job("count")(bodies.count_once)
    with processes("spawn") as pool, Runner(sys.argv[1], executor=pool, max_workers=1) as runner:
        Worker(runner).run(threading.Event())
"""


def test_a_program_with_a_worker_ends_so_that_somebody_starts_it_anew(
    make_runner_process, database, signs, committed
):
    program = make_runner_process(PROGRAM, database)
    held = sql.spawn_job(committed.conn, "hold", params=signs.params).uuid
    signs.wait("held")
    waiting = sql.spawn_job(committed.conn, "count", params=signs.params).uuid

    kill_holder(signs)

    assert program.wait(60) == 1
    assert "ExecutorBroken" in program.stderr.read()
    assert find(committed.conn, held).status is JobStatus.FAILED
    assert find(committed.conn, waiting).status is JobStatus.QUEUED
