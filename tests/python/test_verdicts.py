"""What a body hears: that somebody asked for its end, or that the job is no longer its own."""

from __future__ import annotations

import threading

import pytest

from pycortex import JobCancelled, JobStatus, JobStopped, sql
from tests.runners import Gate
from tests.waiting import wait_until


@pytest.fixture
def gate(runner):
    """The body of a job that runs; `gate.progress` is what it holds."""
    gate = Gate()
    gate.handle = runner.spawn("test", gate, actor="ada", params={"a": 1})
    gate.wait_entered()
    yield gate
    gate.open()


def test_step_raises_once_somebody_asked_for_the_end(gate, committed):
    gate.progress.step(1)
    sql.cancel_job(committed.conn, gate.handle.uuid, actor="bob")

    with pytest.raises(JobCancelled) as caught:
        gate.progress.step(2, flush=True)

    assert type(caught.value) is JobCancelled
    assert gate.progress.cancel_requested
    assert gate.handle.job().progress_current == 2


def test_a_cancelled_body_ends_its_job_cancelled(runner, committed):
    entered = threading.Event()

    def body(progress):
        for n in range(10**9):
            progress.step(n)
            entered.set()

    handle = runner.spawn("test", body)
    assert entered.wait(20)

    sql.cancel_job(committed.conn, handle.uuid)

    assert handle.wait(20).status is JobStatus.CANCELLED


def test_step_raises_when_the_row_is_another_attempts(gate, committed):
    """B03."""
    committed.conn.execute("update cortex.job set attempt = 2")

    with pytest.raises(JobStopped):
        gate.progress.step(1)


def test_step_raises_when_the_job_was_ended(gate, committed):
    sql.interrupt_orphans(committed.conn)

    with pytest.raises(JobStopped):
        gate.progress.step(1)


def test_step_raises_when_the_job_is_gone(gate, committed):
    committed.conn.execute("delete from cortex.job")

    with pytest.raises(JobStopped):
        gate.progress.step(1)


def test_a_body_that_was_stopped_writes_nothing(runner, committed):
    gate = Gate()

    def body(progress):
        gate(progress)
        progress.step(1)

    handle = runner.spawn("test", body)
    gate.wait_entered()
    sql.interrupt_orphans(committed.conn)
    gate.open()

    wait_until(lambda: runner._bodies.find(handle.uuid) is None)
    job = handle.job()
    assert (job.status, job.message) == (JobStatus.INTERRUPTED, "interrupted by a restart")


def test_a_body_that_never_steps_can_see_that_it_should_end(new_runner, committed):
    sql.configure(committed.conn, runner_beat="50 ms", runner_grace="1 s")
    gate = Gate()
    handle = new_runner().spawn("test", gate)
    progress = gate.wait_entered()

    sql.cancel_job(committed.conn, handle.uuid)

    wait_until(lambda: progress.cancel_requested)
    gate.open()
    assert handle.wait(20).status is JobStatus.SUCCEEDED


def test_a_hard_cancel_ends_the_statement_and_the_job_cancelled(runner, committed):
    def body(progress):
        progress.connection().execute("select pg_sleep(60)")

    handle = runner.spawn("test", body)
    [activity] = wait_until(
        lambda: [a for a in sql.list_activity(committed.conn) if a.wait_event == "PgSleep"]
    )

    sql.cancel_job(committed.conn, handle.uuid, hard=True)

    job = handle.wait(20)
    assert (job.status, activity.job) == (JobStatus.CANCELLED, handle.uuid)


def test_a_hard_cancel_counts_even_if_its_commit_comes_later(runner, committed, connect):
    def body(progress):
        progress.connection().execute("select pg_sleep(60)")

    handle = runner.spawn("test", body)
    wait_until(lambda: [a for a in sql.list_activity(committed.conn) if a.wait_event == "PgSleep"])

    canceller = connect()
    sql.cancel_job(canceller, handle.uuid, hard=True)
    wait_until_somebody_waits(committed.conn)
    canceller.commit()

    assert handle.wait(20).status is JobStatus.CANCELLED


def wait_until_somebody_waits(conn):
    waiting = "select from pg_locks where not granted"
    wait_until(lambda: conn.execute(waiting).fetchall())


def test_a_job_given_up_amid_a_statement_keeps_the_reason(runner, committed):
    def body(progress):
        progress.connection().execute("select pg_sleep(60)")

    handle = runner.spawn("test", body)
    wait_until(lambda: [a for a in sql.list_activity(committed.conn) if a.wait_event == "PgSleep"])

    sql.interrupt_orphans(committed.conn)

    wait_until(lambda: runner._bodies.busy == 0)
    job = handle.job()
    assert (job.status, job.message) == (JobStatus.INTERRUPTED, "interrupted by a restart")


def test_a_statement_that_times_out_is_a_failure_of_the_body(runner):
    def body(progress):
        progress.connection().execute("set statement_timeout = '50 ms'")
        progress.connection().execute("select pg_sleep(60)")

    job = runner.spawn("test", body).wait(20)

    assert job.status is JobStatus.FAILED
    assert job.message.startswith("QueryCanceled")
