"""Any executor of concurrent.futures carries bodies; they step from the place where they run."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from pycortex import JobStatus, _remote, sql
from pycortex._remote import Task, carry
from tests.executors import bodies
from tests.waiting import wait_until


class OneThreadEach(Executor):
    """Somebody's own: starts a thread for each call."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future


class AtOnce(Executor):
    """Somebody's own: calls before submit returns."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def processes(method: str, count: int = 2) -> ProcessPoolExecutor:
    """A pool of processes whose sessions are known by their numbers."""
    context = multiprocessing.get_context(method)
    return ProcessPoolExecutor(count, context, initializer=bodies.name_sessions)


MAKERS = {
    "threads": lambda: ThreadPoolExecutor(2),
    "spawn": lambda: processes("spawn"),
    "forkserver": lambda: processes("forkserver"),
    "one thread each": OneThreadEach,
    "at once": AtOnce,
}


@contextmanager
def opened(name: str) -> Iterator[Executor]:
    """An executor for a block."""
    executor = MAKERS[name]()
    yield executor
    executor.shutdown(wait=False, cancel_futures=True)


@pytest.fixture(params=MAKERS, scope="module")
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """One of each sort, for the module's tests."""
    with opened(request.param) as executor:
        yield executor


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """An executor with processes of its own."""
    with opened("spawn") as executor:
        yield executor


@pytest.fixture
def threads() -> Iterator[Executor]:
    """A fresh executor with two threads."""
    with opened("threads") as executor:
        yield executor


def hasten(conn):
    sql.configure(conn, runner_beat="100 ms", runner_grace="300 ms")


def sessions(conn, name="place %"):
    query = "select application_name from pg_stat_activity where application_name like %s"
    return [row[0] for row in conn.execute(query, [name]).fetchall()]


def stacks(executor):
    """Where the threads of an executor are."""
    frames = sys._current_frames()
    return [
        "".join(traceback.format_stack(frames[thread.ident]))
        for thread in executor._threads
        if thread.ident in frames
    ]


def test_a_body_ends_as_anywhere(executor, new_runner):
    job = new_runner(executor=executor).spawn("test", bodies.tell_where).wait(60)

    assert (job.status, job.message) == (JobStatus.SUCCEEDED, "")
    assert (job.progress_current, job.progress_total) == (2, 2)
    away = isinstance(executor, ProcessPoolExecutor)
    assert (job.result["pid"] != os.getpid()) is away
    assert job.result["backend"] > 0


def test_a_body_in_a_process_steps_from_there(pool, new_runner, signs, committed):
    runner = new_runner(executor=pool)
    handle = runner.spawn("test", bodies.hold, params=signs.params)
    [[pid, _]] = [line.split() for line in signs.wait("held")]

    steps = committed.conn.execute(
        "select distinct application_name from pg_stat_activity"
        " where query like '%cortex.step%' and pid <> pg_backend_pid()"
        " and datname = current_database()"
    ).fetchall()

    assert steps == [(f"place {pid}",)]
    before = handle.job().progress_current
    wait_until(lambda: handle.job().progress_current > before)
    signs.give("end")
    assert handle.wait(20).status is JobStatus.SUCCEEDED


def test_a_place_without_a_body_holds_no_connection(pool, new_runner, signs, committed):
    runner = new_runner(executor=pool)
    handles = [runner.spawn("test", bodies.hold, params=signs.params) for _ in range(2)]
    signs.wait("held", 2)
    assert len(set(sessions(committed.conn))) == 2

    signs.give("end")

    assert {handle.wait(20).status for handle in handles} == {JobStatus.SUCCEEDED}
    wait_until(lambda: not sessions(committed.conn), 10)


def test_bodies_in_one_place_share_what_is_open(threads, new_runner, signs):
    runner = new_runner(executor=threads)
    handles = [runner.spawn("test", bodies.hold, params=signs.params) for _ in range(2)]
    signs.wait("held", 2)

    [place] = _remote._places.values()
    assert place.users == 2
    signs.give("end")
    assert {handle.wait(20).status for handle in handles} == {JobStatus.SUCCEEDED}
    wait_until(lambda: not _remote._places)


def test_a_place_that_is_never_without_a_body_keeps_few_connections(
    threads, new_runner, signs, committed
):
    runner = new_runner(executor=threads)
    held = runner.spawn("test", bodies.hold, params=signs.params)
    signs.wait("held")
    quick = [runner.spawn("test", bodies.tell_where) for _ in range(15)]
    assert {handle.wait(30).status for handle in quick} == {JobStatus.SUCCEEDED}

    [place] = _remote._places.values()

    assert len(place.desk.pool._idle) <= 4
    signs.give("end")
    assert held.wait(20).status is JobStatus.SUCCEEDED


def test_a_reason_to_fail_is_the_message(executor, new_runner, caplog):
    job = new_runner(executor=executor).spawn("test", bodies.fail).wait(60)

    assert (job.status, job.message) == (JobStatus.FAILED, "no more paper")
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("body", "message"), [(bodies.stumble, "ValueError: a stone"), (bodies.raise_odd, "odd")]
)
def test_what_a_body_raises_is_told_with_its_traceback(executor, new_runner, caplog, body, message):
    runner = new_runner(executor=executor)
    handle = runner.spawn("test", body)

    job = handle.wait(60)

    assert job.status is JobStatus.FAILED
    assert message in job.message
    wait_until(lambda: f"in {body.__name__}" in caplog.text)


def test_a_result_that_can_not_travel_is_told_as_anywhere(executor, new_runner):
    job = new_runner(executor=executor).spawn("test", bodies.return_odd).wait(60)

    assert job.status is JobStatus.SUCCEEDED
    assert (job.result["path"], job.result["uuid"]) == (
        "/a",
        "00000000-0000-0000-0000-000000000007",
    )
    assert "lock" in job.result["lock"]


def test_a_body_that_can_not_travel_fails_its_own_job_only(pool, new_runner):
    runner = new_runner(executor=pool)

    odd = runner.spawn("test", lambda progress: 1).wait(60)
    good = runner.spawn("test", bodies.tell_where).wait(60)

    assert odd.status is JobStatus.FAILED
    assert "the executor can't carry its body" in odd.message
    assert good.status is JobStatus.SUCCEEDED


def test_a_body_told_to_run_elsewhere_does(pool, new_runner):
    runner = new_runner(executor=pool)

    here = runner.spawn("test", bodies.tell_where, isolation="thread").wait(60)

    assert here.result["pid"] == os.getpid()


def test_a_running_body_hears_of_its_cancellation(executor, new_runner, signs, committed):
    handle = new_runner(executor=executor).spawn("test", bodies.hold, params=signs.params)
    signs.wait("held")

    sql.cancel_job(committed.conn, handle.uuid)

    job = handle.wait(30)
    assert job.status is JobStatus.CANCELLED
    assert signs.see("heard") == ["JobCancelled"]


def test_a_silent_body_that_asks_hears_of_it_too(pool, new_runner, signs, committed):
    hasten(committed.conn)
    runner = new_runner(executor=pool)
    handle = runner.spawn("test", bodies.hold_in_silence, params=signs.params)
    signs.wait("held")

    sql.cancel_job(committed.conn, handle.uuid)

    job = handle.wait(30)
    assert (job.status, job.message) == (JobStatus.CANCELLED, "asked in silence")


def test_a_body_whose_job_was_ended_is_stopped(executor, new_runner, signs, committed):
    runner = new_runner(executor=executor)
    handle = runner.spawn("test", bodies.hold, params=signs.params)
    signs.wait("held")

    sql.interrupt_orphans(committed.conn, runner.uuid)

    assert signs.wait("heard") == ["JobStopped"]
    assert handle.job().status is JobStatus.INTERRUPTED


def test_a_body_that_has_not_begun_is_withdrawn(threads, new_runner, signs, committed):
    hasten(committed.conn)
    runner = new_runner(executor=threads)
    held = [runner.spawn("test", bodies.hold, params=signs.params) for _ in range(2)]
    signs.wait("held", 2)
    waiting = runner.spawn("test", bodies.count_once, params=signs.params)
    wait_until(lambda: waiting.job().status is JobStatus.RUNNING)

    sql.cancel_job(committed.conn, waiting.uuid)

    job = waiting.wait(20)
    assert job.status is JobStatus.CANCELLED
    assert "before its body began" in job.message
    signs.give("end")
    assert {handle.wait(20).status for handle in held} == {JobStatus.SUCCEEDED}
    threads.shutdown()
    assert signs.see("ran") == []


def test_shutdown_ends_what_is_not_over_within_its_grace(pool, new_runner, signs):
    runner = new_runner(executor=pool)
    held = [runner.spawn("test", bodies.hold, params=signs.params) for _ in range(2)]
    signs.wait("held", 2)
    waiting = runner.spawn("test", bodies.count_once, params=signs.params)
    wait_until(lambda: waiting.job().status is JobStatus.RUNNING)

    runner.shutdown(0.1)

    for handle in [*held, waiting]:
        job = handle.job()
        assert job.status is JobStatus.INTERRUPTED
        assert "shutdown" in job.message
    assert signs.wait("heard", 2) == ["JobStopped"] * 2
    pool.submit(bool).result(20)
    assert signs.see("ran") == []


class Again(ThreadPoolExecutor):
    """Runs what it is given twice, and tells of the one or the other."""

    def __init__(self, tells: str) -> None:
        super().__init__(2)
        self.tells = tells

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        first = super().submit(fn, *args, **kwargs)
        if fn is not carry:
            return first
        second = super().submit(lambda: (first.result(), fn(*args, **kwargs))[1])
        return first if self.tells == "first" else second


@pytest.mark.parametrize(
    ("tells", "status"), [("first", JobStatus.SUCCEEDED), ("second", JobStatus.FAILED)]
)
def test_an_executor_that_runs_things_again_runs_no_body_twice(new_runner, signs, tells, status):
    with Again(tells) as executor:
        handle = new_runner(executor=executor).spawn("test", bodies.count_once, params=signs.params)
        job = handle.wait(20)

    assert job.status is status
    assert len(signs.see("ran")) == 1
    if status is JobStatus.FAILED:
        assert "none is begun twice" in job.message


def test_a_lost_body_has_another_attempt_where_its_kind_allows(new_runner, signs, committed):
    sql.configure_kind(committed.conn, "test", max_attempts=2, backoff="0")
    with Again("second") as executor:
        runner = new_runner(executor=executor)
        handle = runner.spawn("test", bodies.count_once, params=signs.params)
        job = handle.wait(20)

    assert (job.status, job.attempt) == (JobStatus.FAILED, 2)
    assert [line.split()[1] for line in signs.see("ran")] == ["1", "2"]


@pytest.mark.parametrize("status", ["interrupted", "cancelled", "queued"])
def test_a_body_whose_job_is_over_when_it_comes_does_not_begin(database, committed, status):
    job = sql.find_job(committed.conn, committed.make_job(status))

    report = carry(Task(job, bodies.fail, database, 0.25))

    assert report.outcome.status is None


def test_a_place_that_can_not_reach_the_database_says_so(new_runner, committed, monkeypatch):
    monkeypatch.setattr(_remote, "PATIENCE", 0.0)
    job = sql.find_job(committed.conn, committed.make_job("running"))

    report = carry(Task(job, bodies.fail, "host=127.0.0.1 port=1 connect_timeout=2", 0.25))

    assert report.outcome.status is JobStatus.FAILED
    assert "could not begin where the executor brought it" in report.outcome.message


def test_a_place_waits_for_the_database_before_it_begins(
    own_server, own_database, threads, new_runner, signs, caplog
):
    runner = new_runner(own_database, executor=threads)
    held = [runner.spawn("test", bodies.hold_in_silence, params=signs.params) for _ in range(2)]
    signs.wait("held", 2)
    waiting = runner.spawn("test", bodies.count_once, params=signs.params)
    wait_until(lambda: waiting.job().status is JobStatus.RUNNING)
    own_server.stop()

    signs.give("end")
    wait_until(lambda: any("_begin" in stack for stack in stacks(threads)))
    own_server.start()

    assert waiting.wait(60).status is JobStatus.SUCCEEDED
    assert {handle.wait(60).status for handle in held} == {JobStatus.SUCCEEDED}
    assert len(signs.see("ran")) == 1


def test_what_is_printed_of_a_body_on_its_way_tells_no_secret(committed):
    job = sql.find_job(committed.conn, committed.make_job("running"))

    shown = repr(Task(job, bodies.fail, "password=sesame", 0.25))

    assert "sesame" not in shown
    assert str(job.uuid) in shown


def test_an_executor_and_an_isolation_exclude_each_other(threads, new_runner):
    with pytest.raises(ValueError, match="isolation or an executor"):
        new_runner(executor=threads, isolation="process")
