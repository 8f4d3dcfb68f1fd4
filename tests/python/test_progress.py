"""JobProgress: what a body says, and what it hears."""

from __future__ import annotations

import threading
import time

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


def shown(job):
    return job.progress_current, job.progress_total, job.message


def test_knows_its_job(gate, runner):
    progress = gate.progress

    assert (progress.uuid, progress.kind, progress.actor) == (gate.handle.uuid, "test", "ada")
    assert (progress.params, progress.attempt, progress.cancel_requested) == ({"a": 1}, 1, False)


def test_the_first_step_is_written_when_step_returns(gate):
    gate.progress.step(1, 9, "first")

    assert shown(gate.handle.job()) == (1, 9, "first")


def test_a_step_after_a_pause_is_written_when_step_returns(new_runner):
    gate = Gate()
    handle = new_runner(step_interval=0).spawn("test", gate)
    progress = gate.wait_entered()

    for n in (1, 2, 3):
        progress.step(n)
        assert handle.job().progress_current == n
    gate.open()


def test_steps_in_between_are_written_within_the_interval(gate):
    for n in range(1, 6):
        gate.progress.step(n, 9, f"step {n}")

    wait_until(lambda: shown(gate.handle.job()) == (5, 9, "step 5"), 5)


def test_a_flushed_step_is_written_when_step_returns(gate):
    gate.progress.step(1)
    gate.progress.step(2, flush=True)

    assert gate.handle.job().progress_current == 2


def test_the_last_step_is_written_before_the_end(runner):
    def body(progress):
        for n in range(1000):
            progress.step(n, 1000)

    job = runner.spawn("test", body).wait(20)

    assert (job.progress_current, job.progress_total) == (999, 1000)


def test_the_last_step_of_a_failed_job_tells_how_far_it_got(runner):
    def body(progress):
        for n in range(10):
            progress.step(n, 10)
        raise ValueError("bad")

    job = runner.spawn("test", body).wait(20)

    assert (job.status, job.progress_current) == (JobStatus.FAILED, 9)


def test_a_tight_loop_costs_little_and_writes_rarely(new_runner, committed):
    committed.conn.execute(
        "create table written (current bigint);"
        "create function note() returns trigger language plpgsql as"
        " $$ begin insert into public.written values (new.progress_current); return new; end $$;"
        "create trigger note before update of progress_current on cortex.job"
        " for each row execute function note()"
    )

    def body(progress):
        began = time.perf_counter()
        for n in range(300_000):
            progress.step(n, 300_000, "working")
        return time.perf_counter() - began

    job = new_runner(step_interval=0.1).spawn("test", body).wait(60)

    assert job.result / 300_000 < 20e-6
    written = [n for (n,) in committed.conn.execute("select current from written")]
    assert written == sorted(written)
    assert written[0] == 0
    assert written[-1] == 299_999
    assert len(written) < 5 + 2 * job.result / 0.1


@pytest.mark.parametrize(
    ("current", "total"),
    [(-1, 10), (5, 0), (11, 10), (5, None), (2**63 - 1, -(2**63)), (3.0, 9.0)],
)
def test_counts_are_stored_as_given(gate, current, total):
    """E12."""
    gate.progress.step(current, total)

    job = gate.handle.job()
    assert (job.progress_current, job.progress_total) == (current, total)


def test_progress_may_go_back(gate):
    """E12."""
    gate.progress.step(7, 10, flush=True)
    gate.progress.step(3, 10, flush=True)

    assert gate.handle.job().progress_current == 3


@pytest.mark.parametrize(
    ("current", "total", "error"),
    [
        (float("nan"), 1, ValueError),
        (1.5, 3, ValueError),
        (float("inf"), None, ValueError),
        (2**63, None, ValueError),
        (1, -(2**63) - 1, ValueError),
        (None, 3, TypeError),
        ("3", None, TypeError),
        (True, None, TypeError),
        (1, "9", TypeError),
    ],
)
def test_a_count_that_is_none_is_refused_and_changes_nothing(gate, current, total, error):
    """E12."""
    gate.progress.step(2, 4, "before")

    with pytest.raises(error, match=r"current|total"):
        gate.progress.step(current, total, "after")

    gate.progress.step(2, 4, "before", flush=True)
    assert shown(gate.handle.job()) == (2, 4, "before")


def test_a_count_of_another_integer_type_is_taken(gate):
    class Count:
        def __index__(self):
            return 7

    gate.progress.step(Count(), Count())

    assert shown(gate.handle.job())[:2] == (7, 7)


@pytest.mark.parametrize(
    ("message", "stored"),
    [
        ("a\nb\tc\r\x1b[31mred", "a\nb\tc\r\x1b[31mred"),
        ("\ud800\x00", "\ufffd\ufffd"),
        (None, ""),
        (7, "7"),
    ],
)
def test_any_message_is_stored(gate, message, stored):
    """E03, E13."""
    gate.progress.step(1, 2, message)

    assert gate.handle.job().message == stored


def test_a_huge_message_is_cut(gate):
    """E13."""
    for _ in range(100):
        gate.progress.step(1, 2, "x" * 1_000_000)

    assert len(gate.handle.job().message) <= 4000


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


def test_a_statement_that_times_out_is_a_failure_of_the_body(runner):
    def body(progress):
        progress.connection().execute("set statement_timeout = '50 ms'")
        progress.connection().execute("select pg_sleep(60)")

    job = runner.spawn("test", body).wait(20)

    assert job.status is JobStatus.FAILED
    assert job.message.startswith("QueryCanceled")


def test_a_locked_row_does_not_hold_the_body(gate, connect, caplog):
    """G04."""
    gate.progress.step(1)
    other = connect()
    other.execute("select from cortex.job for update")
    began = time.monotonic()

    for n in range(2, 50):
        gate.progress.step(n, flush=n == 2)

    assert time.monotonic() - began < 1.9
    wait_until(lambda: "is not written yet" in caplog.text)
    other.rollback()
    wait_until(lambda: gate.handle.job().progress_current == 49)
    assert caplog.text.count("is not written yet") == 1
