"""A hard cancel ends a body's process for good, and the row says how."""

from __future__ import annotations

import os
import signal
import time

import pytest

from pycortex import JobStatus, sql
from pycortex.models import Verdict
from tests.isolation import bodies
from tests.isolation.processes import ended, state, wait_at_it
from tests.waiting import wait_until

BY_SIGTERM = "cancelled on request; its process was ended by SIGTERM (exit code -15); last step: "


def cancel(committed, handle):
    assert sql.cancel_job(committed.conn, handle.uuid, actor="ada", hard=True) == "running"
    return handle.wait(60)


@pytest.mark.parametrize(
    "body", [bodies.spin, bodies.nap, bodies.wait_for_program, bodies.query_aside]
)
def test_ends_a_body_by_sigterm(runner, committed, body):
    handle = runner.spawn("test", body)
    pids = wait_at_it(handle)

    job = cancel(committed, handle)

    assert (job.status, job.cancel_requested_by) == (JobStatus.CANCELLED, "ada")
    assert job.message == f"{BY_SIGTERM}1 of 2, {' '.join(map(str, pids))}"
    assert state(pids[0]) == ""


@pytest.mark.parametrize(
    "body",
    [bodies.nap_deaf, bodies.swallow, bodies.hold_the_gil, bodies.wait_for_deaf_program],
)
def test_ends_a_body_that_heeds_nothing_by_sigkill(impatient, committed, body):
    handle = impatient.spawn("test", body)
    pids = wait_at_it(handle)

    job = cancel(committed, handle)

    assert job.status is JobStatus.CANCELLED
    assert "its process was ended by SIGKILL (exit code -9), 0." in job.message
    assert "s after SIGTERM; last step: 1 of 2, " in job.message
    assert state(pids[0]) == ""


@pytest.mark.parametrize("body", [bodies.wait_for_program, bodies.wait_for_deaf_program])
def test_ends_what_the_body_has_started(impatient, committed, body):
    handle = impatient.spawn("test", body)
    pids = wait_at_it(handle)

    cancel(committed, handle)

    wait_until(lambda: ended(*pids))


def test_ends_the_statement_that_a_body_waits_for(runner, committed):
    handle = runner.spawn("test", bodies.query)
    [pid, backend] = wait_at_it(handle)

    job = cancel(committed, handle)

    assert job.status is JobStatus.CANCELLED
    assert state(pid) == ""
    wait_until(lambda: is_gone(committed, backend))


def is_gone(committed, backend):
    query = "select not exists (select from pg_stat_activity where pid = %s)"
    return committed.conn.execute(query, [backend]).fetchone()[0]


def test_ends_statements_in_other_sessions_of_the_body_too(runner, committed):
    handle = runner.spawn("test", bodies.query_aside)
    [_, backend] = wait_at_it(handle)

    cancel(committed, handle)

    wait_until(lambda: is_gone(committed, backend))


def test_lets_a_body_clean_up(runner, committed, tmp_path):
    handle = runner.spawn("test", bodies.tidy_up, params={"file": str(tmp_path / "file")})
    wait_at_it(handle)

    job = cancel(committed, handle)

    assert job.message.startswith(BY_SIGTERM)
    assert (tmp_path / "file").read_text() == "tidy"


def test_logs_what_a_body_raises_when_it_cleans_up(runner, committed, caplog):
    handle = runner.spawn("test", bodies.tidy_up_badly)
    wait_at_it(handle)

    job = cancel(committed, handle)

    assert job.message.startswith(BY_SIGTERM)
    assert "no broom" in caplog.text


def test_a_body_that_finishes_in_spite_of_it_has_succeeded(runner, committed):
    """Policy of cancel_job: one that was done anyway has succeeded."""
    handle = runner.spawn("test", bodies.finish_soon)
    wait_at_it(handle)

    job = cancel(committed, handle)

    assert (job.status, job.result) == (JobStatus.SUCCEEDED, "finished")


def test_ends_a_body_that_was_asked_softly_before_and_heard_nothing(impatient, committed):
    """For minutes the runner hears at every beat that somebody asked; its beat must go on."""
    handle = impatient.spawn("test", bodies.hold_the_gil)
    [pid] = wait_at_it(handle)
    sql.cancel_job(committed.conn, handle.uuid)
    carrier = impatient._bodies.find(handle.uuid).carrier
    for _ in range(2000):
        carrier.hear(Verdict.CANCEL, hard=False)
    assert state(pid) != ""

    job = cancel(committed, handle)

    assert "SIGKILL" in job.message


def test_kills_a_stopped_process(impatient, committed):
    handle = impatient.spawn("test", bodies.nap)
    [pid] = wait_at_it(handle)
    os.kill(pid, signal.SIGSTOP)

    job = cancel(committed, handle)

    assert "SIGKILL" in job.message
    assert state(pid) == ""


def test_a_process_that_left_its_line_open_to_a_fork_is_ended_too(runner, committed):
    handle = runner.spawn("test", bodies.fork_and_nap)
    pids = wait_at_it(handle)

    cancel(committed, handle)

    wait_until(lambda: ended(*pids))


def test_before_its_body_begins_ends_a_job_too(impatient, committed):
    """The cancel comes while the fresh process is starting."""
    for wait in (0, 0.05, 0.1, 0.2, 0.4):
        handle = impatient.spawn("test", bodies.hold_the_gil)
        wait_until(lambda handle=handle: handle.job().status is JobStatus.RUNNING)
        time.sleep(wait)  # any moment will do

        job = cancel(committed, handle)

        assert job.status is JobStatus.CANCELLED
        assert job.message.startswith("cancelled")
