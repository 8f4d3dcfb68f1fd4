"""A runner's own jobs, where their kind asks for another attempt."""

from __future__ import annotations

import pytest

from pycortex import JobStatus, JobStopped, sql
from tests.runners import Gate
from tests.waiting import wait_until


@pytest.fixture
def conn(committed):
    """A session in which the kind "test" has three attempts, close together."""
    sql.configure(committed.conn, runner_beat="100 ms", runner_grace="3 s")
    sql.configure_kind(
        committed.conn, "test", max_attempts=3, backoff="50 ms", on_interrupt="requeue"
    )
    return committed.conn


def test_tries_a_failed_job_again(conn, runner):
    attempts = []

    def fail_twice(progress):
        attempts.append(progress.attempt)
        if len(attempts) < 3:
            raise OSError("not yet")
        return "at last"

    job = wait_for_end(runner.spawn("test", fail_twice))

    assert (job.status, job.result, job.attempt) == (JobStatus.SUCCEEDED, "at last", 3)
    assert attempts == [1, 2, 3]


def test_leaves_a_job_failed_when_its_attempts_are_used_up(conn, runner):
    def fail(progress):
        raise OSError(f"attempt {progress.attempt}")

    handle = runner.spawn("test", fail)

    job = wait_until(
        lambda: (found := handle.job()).attempt == 3 and found.status.terminal and found
    )
    assert (job.status, job.message) == (JobStatus.FAILED, "OSError: attempt 3")
    wait_until(lambda: runner._bodies.find(handle.uuid) is None)


def test_starts_another_attempt_beside_a_body_that_hangs(conn, runner):
    """B03, B04: the first copy is told to stop, and only the second one's outcome stands."""
    hung, second = Gate(), Gate()
    bodies = [hung, second]
    handle = runner.spawn("test", lambda progress: bodies[progress.attempt - 1](progress))
    first = hung.wait_entered()
    conn.execute("update cortex.job set updated_at = updated_at - interval '3 hours'")

    sql.reap_stale(conn)

    assert second.wait_entered().attempt == 2
    with pytest.raises(JobStopped):
        first.step(1)
    second.open()
    job = wait_for_end(handle)
    assert (job.status, job.attempt) == (JobStatus.SUCCEEDED, 2)
    hung.open()
    wait_until(lambda: runner._bodies.busy == 0)
    after = handle.job()
    assert (after.status, after.attempt, after.finished_at) == (job.status, 2, job.finished_at)


def test_tries_again_what_failed_after_it_was_given_up(conn, runner):
    """The interruption stands, the body comes back with a failure: that is worth a retry."""
    sql.configure_kind(conn, "test", on_interrupt="leave")
    gate = Gate()

    def body(progress):
        if progress.attempt == 1:
            gate(progress)
            raise OSError("late")
        return "at last"

    handle = runner.spawn("test", body)
    gate.wait_entered()
    sql.interrupt_orphans(conn)
    wait_until(lambda: runner._bodies.find(handle.uuid) is None)

    gate.open()

    assert wait_for_end(handle).attempt == 2


def wait_for_end(handle):
    return wait_until(lambda: (found := handle.job()).status is JobStatus.SUCCEEDED and found)
