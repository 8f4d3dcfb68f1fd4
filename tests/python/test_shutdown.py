"""Runner.shutdown: bodies get their grace, then the truth is told."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest

from pycortex import JobStatus, JobStopped, Runner, sql
from tests.runners import Gate
from tests.waiting import wait_until


def test_lets_bodies_end_within_the_grace(new_runner):
    runner = new_runner()
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    threading.Timer(0.2, gate.open).start()

    runner.shutdown(20)

    assert handle.job().status is JobStatus.SUCCEEDED


def test_works_off_what_it_accepted_within_the_grace(new_runner):
    runner = new_runner(max_workers=1)
    handles = [runner.spawn("test", lambda progress: 1) for _ in range(10)]

    runner.shutdown(20)

    assert {handle.job().status for handle in handles} == {JobStatus.SUCCEEDED}


def test_marks_what_is_left_interrupted_and_says_why(new_runner):
    runner = new_runner(max_workers=1)
    gate = Gate()
    running, waiting = runner.spawn("test", gate), runner.spawn("test", gate)
    progress = gate.wait_entered()

    runner.shutdown(0.1)

    for handle in (running, waiting):
        job = handle.job()
        assert job.status is JobStatus.INTERRUPTED
        assert "shutdown" in job.message
        assert job.finished_at is not None
    with pytest.raises(JobStopped):
        progress.step(1)
    gate.open()


def test_an_outcome_after_the_goodbye_still_counts(new_runner):
    runner = new_runner()
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    runner.shutdown(0)

    gate.open()

    job = wait_until(lambda: (found := handle.job()).status is JobStatus.SUCCEEDED and found)
    assert job.result == "passed"


def test_does_not_wait_for_a_job_whose_time_is_far(new_runner, committed):
    runner = new_runner()
    far = sql.db_now(committed.conn) + timedelta(hours=1)
    handle = runner.spawn("test", lambda progress: 1, run_at=far)
    wait_until(lambda: runner._bodies.busy == 0)
    began = time.monotonic()

    runner.shutdown(300)

    assert time.monotonic() - began < 150
    assert handle.job().status is JobStatus.INTERRUPTED


def test_refuses_to_spawn_before_there_is_a_row(new_runner, committed):
    """C08."""
    runner = new_runner()
    runner.shutdown(0)

    with pytest.raises(RuntimeError, match="shut down"):
        runner.spawn("test", lambda progress: 1)

    assert committed.conn.execute("select count(*) from cortex.jobs").fetchone() == (0,)
    with pytest.raises(RuntimeError, match="shut down"):
        runner.start()


def test_may_be_called_again(new_runner):
    runner = new_runner()

    for _ in range(3):
        runner.shutdown(0)


def test_may_be_called_by_many_at_once(new_runner, committed):
    runner = new_runner()
    threads = [threading.Thread(target=runner.shutdown) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert not any(thread.is_alive() for thread in threads)
    assert [row.alive for row in sql.list_runners(committed.conn)] == [False]


def test_hurries_when_called_again_with_a_shorter_grace(new_runner):
    runner = new_runner()
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    patient = threading.Thread(target=runner.shutdown, args=[60])
    patient.start()
    wait_until(lambda: runner.closing)

    runner.shutdown(0)

    patient.join(10)
    assert not patient.is_alive()
    assert handle.job().status is JobStatus.INTERRUPTED
    gate.open()


def test_a_runner_that_never_started_has_nothing_to_shut_down(database):
    runner = Runner(database)

    runner.shutdown()

    with pytest.raises(RuntimeError, match="shut down"):
        runner.spawn("test", lambda progress: 1)


def test_a_handle_answers_after_the_shutdown(new_runner):
    with new_runner() as runner:
        handle = runner.spawn("test", lambda progress: 1)

    assert handle.wait(5).result == 1


def test_leaves_no_connection_behind(new_runner, committed):
    runner = new_runner()
    runner.spawn("test", lambda progress: progress.connection().execute("select 1")).wait(20)

    runner.shutdown()

    wait_until(
        lambda: committed.conn.execute(
            "select count(*) = 1 from pg_stat_activity where datname = current_database()"
            " and backend_type = 'client backend'"
        ).fetchone()[0]
    )
