"""Workers whose kinds ask for processes."""

from __future__ import annotations

import os
import threading

import pytest

import pycortex
from pycortex import JobStatus, Worker, registry, sql
from tests.isolation import bodies
from tests.isolation.processes import ended
from tests.waiting import wait_until


@pytest.fixture
def work(new_runner, monkeypatch):
    """Registers a body as kind "test", and has a worker take its jobs."""
    monkeypatch.setattr(registry, "_bodies", {})
    monkeypatch.setattr(registry, "_isolations", {})
    stop = threading.Event()
    threads = []

    def work(body, **options):
        pycortex.job("test", isolation="process")(body)
        runner = new_runner(isolation=None, **options)
        worker = Worker(runner, poll_interval=0.05)
        threads.append(threading.Thread(target=worker.run, args=[stop]))
        threads[-1].start()
        return runner

    yield work
    stop.set()
    for thread in threads:
        thread.join(30)


def at_it(conn, job):
    found = wait_until(lambda: (j := sql.find_job(conn, job)).progress_current == 1 and j)
    return [int(word) for word in found.message.split()]


def over(conn, job):
    return wait_until(lambda: (j := sql.find_job(conn, job)).status.terminal and j)


def test_a_kind_says_that_its_body_has_a_process_of_its_own(work, committed):
    work(bodies.where)

    job = sql.spawn_job(committed.conn, "test").uuid

    assert over(committed.conn, job).result["parent"] == os.getpid()


def test_a_crash_is_followed_by_another_attempt(work, committed):
    sql.configure_kind(committed.conn, "test", max_attempts=2, backoff="0 seconds")
    work(bodies.crash_once)

    job = sql.spawn_job(committed.conn, "test").uuid

    found = over(committed.conn, job)
    assert (found.status, found.result["attempt"]) == (JobStatus.SUCCEEDED, 2)


def test_ends_an_attempt_that_was_given_up_before_it_begins_the_next(work, committed, tmp_path):
    """Also where it claims the job again before it has heard that the old one is given up."""
    sql.configure_kind(
        committed.conn, "test", stale_after="120 minutes", max_attempts=2,
        on_interrupt="requeue", backoff="0 seconds",
    )  # fmt: skip
    sql.configure(committed.conn, runner_beat="10 seconds", runner_grace="60 seconds")
    file = tmp_path / "file"
    work(bodies.overlap, kill_after=0.2)
    job = sql.spawn_job(committed.conn, "test", params={"file": str(file)}).uuid
    [first] = at_it(committed.conn, job)

    committed.conn.execute(
        "update cortex.job set created_at = created_at - interval '3 hours',"
        " run_at = run_at - interval '3 hours', started_at = started_at - interval '3 hours',"
        " updated_at = updated_at - interval '3 hours' where uuid = %s",
        [job],
    )
    assert sql.maintain(committed.conn).stale == 1

    found = over(committed.conn, job)
    assert (found.status, found.result) == (JobStatus.SUCCEEDED, 2)
    assert ended(first)
    assert file.read_text().split()[1::3] == ["1", "2"]
