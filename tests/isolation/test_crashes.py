"""Processes that end amid their body: the row says how, and another attempt is a fresh process."""

from __future__ import annotations

import os
import signal

import pytest

from pycortex import JobStatus, _guard, _process, sql
from tests.isolation import bodies
from tests.isolation.processes import ended, state, wait_at_it
from tests.waiting import wait_until

STEP = "; last step: 2 of 5, two of five"


@pytest.mark.parametrize("code", [0, 3, 255])
def test_names_the_exit_code(run, code):
    job = run(bodies.leave_at_once, params={"code": code})

    assert job.status is JobStatus.FAILED
    assert job.message == f"its process ended with exit code {code} amid its body{STEP}"
    assert (job.progress_current, job.progress_total) == (2, 5)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGFPE", "SIGXCPU"])
def test_names_the_signal(run, name):
    job = run(bodies.die_by, params={"signal": name})

    assert job.status is JobStatus.FAILED
    number = -signal.Signals[name].value
    assert job.message == f"its process was ended by {name} (exit code {number}){STEP}"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGINT"])
def test_says_that_somebody_else_sent_it(run, name):
    job = run(bodies.die_by, params={"signal": name})

    assert job.status is JobStatus.FAILED
    assert f"ended by {name} (exit code {-signal.Signals[name].value}), which this" in job.message
    assert job.message.endswith(f"runner did not send{STEP}")


def test_says_that_no_step_was_taken(run):
    job = run(bodies.abort)

    assert job.message == "its process was ended by SIGABRT (exit code -6); it had taken no step"


def test_names_real_time_signals_by_number(run):
    job = run(bodies.die_by_number, params={"number": signal.SIGRTMIN + 3})

    number = signal.SIGRTMIN + 3
    assert f"was ended by signal {number} (exit code {-number})" in job.message


def test_an_operator_who_kills_the_process_fails_its_job(runner):
    handle = runner.spawn("test", bodies.nap)
    [pid] = wait_at_it(handle)

    os.kill(pid, signal.SIGTERM)

    job = handle.wait(60)
    assert job.status is JobStatus.FAILED
    assert "SIGTERM (exit code -15), which this runner did not send; last step: 1" in job.message


def test_tells_a_kill_for_want_of_memory_apart(run, monkeypatch):
    kills = iter([4, 5])
    monkeypatch.setattr(_process, "kills_for_memory", lambda: next(kills))

    job = run(bodies.die_by, params={"signal": "SIGKILL"})

    assert job.status is JobStatus.FAILED
    assert job.message == (
        "its process was ended by SIGKILL (exit code -9), while the system killed for want of"
        f" memory{STEP}"
    )


def test_does_not_take_its_own_kill_for_one_for_want_of_memory(impatient, committed, monkeypatch):
    kills = iter([4, 5])
    monkeypatch.setattr(_process, "kills_for_memory", lambda: next(kills))
    handle = impatient.spawn("test", bodies.nap_deaf)
    wait_at_it(handle)

    sql.cancel_job(committed.conn, handle.uuid, hard=True)

    assert "memory" not in handle.wait(60).message


def test_a_limit_on_memory_is_an_ordinary_failure(run):
    job = run(bodies.eat)

    assert (job.status, job.message) == (JobStatus.FAILED, "MemoryError")


def test_another_attempt_runs_in_another_fresh_process(runner, committed):
    sql.configure_kind(committed.conn, "test", max_attempts=2, backoff="0 seconds")

    job = runner.spawn("test", bodies.crash_once).wait(60)

    first = [event for event in sql.list_events(committed.conn, job.uuid) if event.attempt == 1]
    assert (job.status, job.result["attempt"]) == (JobStatus.SUCCEEDED, 2)
    crash = next(event.message for event in first if event.to_status == "failed")
    assert crash.startswith("its process ended with exit code 9 amid its body; last step: 1 of 1, ")
    assert crash.split()[-1] != str(job.result["pid"])


def test_uses_up_its_attempts(runner, committed):
    sql.configure_kind(committed.conn, "test", max_attempts=3, backoff="0 seconds")

    job = runner.spawn("test", bodies.leave_at_once).wait(60)

    assert (job.status, job.attempt) == (JobStatus.FAILED, 3)


@pytest.mark.parametrize("body", [bodies.leave_program, bodies.leave_fork])
def test_what_a_body_leaves_behind_ends_with_it(run, body):
    job = run(body)

    assert job.status is JobStatus.SUCCEEDED
    wait_until(lambda: ended(job.result))


def test_what_a_crash_leaves_behind_ends_with_it(runner):
    handle = runner.spawn("test", bodies.crash_with_fork)

    job = handle.wait(60)

    assert "exit code 4" in job.message
    pids = [int(word) for word in job.message.split(", ")[-1].split()]
    wait_until(lambda: ended(*pids))


def test_a_thread_that_a_body_leaves_delays_its_end_only(run, monkeypatch):
    monkeypatch.setattr(_process, "EXIT_LIMIT", 0.5)

    job = run(bodies.leave_thread)

    assert (job.status, job.result) == (JobStatus.SUCCEEDED, "done")


def test_a_body_that_closes_its_line_is_ended(runner, monkeypatch):
    monkeypatch.setattr(_process, "EXIT_LIMIT", 0.5)
    handle = runner.spawn("test", bodies.close_everything)
    job = handle.wait(60)

    assert job.status is JobStatus.FAILED
    assert "SIGKILL (exit code -9), as it had closed its line to the runner" in job.message
    pid = int(job.message.split(", ")[-1])
    assert state(pid) == ""


def test_a_system_that_gives_no_process_fails_the_job(run, monkeypatch):
    def refuse(*args):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(_process, "launch", refuse)

    job = run(bodies.where)

    assert job.status is JobStatus.FAILED
    assert job.message.startswith("no process could be had for it: BlockingIOError: ")


NOBODY = 2**30
"""The number of no process."""


def test_a_system_that_gives_no_watchman_lets_bodies_run(monkeypatch, caplog):
    def refuse(*args, **options):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(_guard.subprocess, "Popen", refuse)
    guard = _guard.Guard()

    guard.watch(NOBODY)
    guard.tend()
    guard.forget(NOBODY)

    assert "nobody can end bodies if this process dies" in caplog.text


def test_a_watchman_that_is_stopped_is_replaced(monkeypatch):
    """And keeps no job waiting that is to be watched."""
    monkeypatch.setattr(_guard, "START_EVERY", 0)
    guard = _guard.Guard()
    guard.watch(NOBODY)
    watchman = guard._watchman
    os.kill(watchman.pid, signal.SIGSTOP)

    for _ in range(10_000):
        guard.watch(NOBODY)

    assert watchman.returncode == -signal.SIGKILL
    guard.forget(NOBODY)
    guard.stop()
    assert guard._watchman is None
