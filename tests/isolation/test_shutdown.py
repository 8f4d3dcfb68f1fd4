"""Runner.shutdown: the grace, SIGTERM, SIGKILL, and the truth in the row."""

from __future__ import annotations

import os
import threading

import pytest

from pycortex import JobStatus, sql
from tests.isolation import bodies
from tests.isolation.processes import bodies as body_processes
from tests.isolation.processes import ended, state, wait_at_it
from tests.waiting import wait_until


def test_ends_a_body_by_sigterm_within_the_grace(new_runner):
    runner = new_runner()
    handle = runner.spawn("test", bodies.nap)
    [pid] = wait_at_it(handle)

    runner.shutdown(2)

    job = handle.job()
    assert job.status is JobStatus.INTERRUPTED
    assert job.message == (
        "interrupted by shutdown: not over within its grace of 2 s; its process was ended by"
        f" SIGTERM (exit code -15); last step: 1 of 2, {pid}"
    )
    assert state(pid) == ""


@pytest.mark.parametrize("grace", [0, 0.5])
@pytest.mark.parametrize("body", [bodies.nap_deaf, bodies.hold_the_gil, bodies.swallow])
def test_kills_a_body_that_heeds_nothing(new_runner, body, grace):
    runner = new_runner()
    handle = runner.spawn("test", body)
    [pid] = wait_at_it(handle)

    runner.shutdown(grace)

    job = handle.job()
    assert job.status is JobStatus.INTERRUPTED
    assert f"its grace of {grace:g} s; its process was ended by SIGKILL" in job.message
    assert "s after SIGTERM; last step: 1 of 2" in job.message
    assert state(pid) == ""


def test_ends_what_bodies_have_started(new_runner):
    runner = new_runner()
    handles = [runner.spawn("test", bodies.wait_for_deaf_program) for _ in range(2)]
    pids = [pid for handle in handles for pid in wait_at_it(handle)]

    runner.shutdown(0)

    wait_until(lambda: ended(*pids))


def test_lets_a_body_finish_within_the_grace(new_runner):
    runner = new_runner()
    handle = runner.spawn("test", bodies.count, params={"to": 50_000})

    runner.shutdown(60)

    assert handle.job().status is JobStatus.SUCCEEDED


def test_lets_a_body_clean_up_within_the_grace(new_runner, tmp_path):
    runner = new_runner()
    handle = runner.spawn("test", bodies.tidy_up, params={"file": str(tmp_path / "file")})
    wait_at_it(handle)

    runner.shutdown(6)

    assert handle.job().status is JobStatus.INTERRUPTED
    assert (tmp_path / "file").read_text() == "tidy"


def test_a_body_that_finishes_when_it_is_told_to_end_has_succeeded(new_runner):
    runner = new_runner()
    handle = runner.spawn("test", bodies.finish_soon)
    wait_at_it(handle)

    runner.shutdown(6)

    job = handle.job()
    assert (job.status, job.result) == (JobStatus.SUCCEEDED, "finished")


def test_starts_nothing_while_it_ends_bodies(new_runner, committed):
    """One that waited for a place must not get it when the one before it is ended."""
    runner = new_runner(max_workers=1)
    handles = [runner.spawn("test", bodies.nap_deaf) for _ in range(4)]
    wait_at_it(handles[0])

    runner.shutdown(1)

    assert {handle.job().status for handle in handles} == {JobStatus.INTERRUPTED}
    wait_until(lambda: not body_processes(os.getpid()))
    wait_until(lambda: runner._bodies.busy == 0)
    assert not body_processes(os.getpid())


def test_hurries_when_called_again_with_no_grace(new_runner):
    runner = new_runner()
    handle = runner.spawn("test", bodies.nap_deaf)
    [pid] = wait_at_it(handle)
    patient = threading.Thread(target=runner.shutdown, args=[600])
    patient.start()
    wait_until(lambda: runner.closing)

    runner.shutdown(0)

    patient.join(30)
    assert not patient.is_alive()
    assert handle.job().status is JobStatus.INTERRUPTED
    wait_until(lambda: ended(pid))


def test_a_job_that_is_tried_again_is_left_to_others(new_runner, committed):
    sql.configure_kind(committed.conn, "test", max_attempts=2, on_interrupt="requeue")
    runner = new_runner()
    handle = runner.spawn("test", bodies.nap)
    wait_at_it(handle)

    runner.shutdown(1)

    job = handle.job()
    assert job.status is JobStatus.INTERRUPTED
    assert "SIGTERM" in job.message
