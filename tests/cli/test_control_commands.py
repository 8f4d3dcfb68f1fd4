"""cancel, rerun and metrics, and what list and show say of a running job's session."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.waiting import wait_until


def test_cancel_ends_a_waiting_job(cli, committed):
    job = committed.make_job("queued")

    result = cli("cancel", str(job), "--actor", "ada")

    assert (result.exit_code, result.stdout.strip()) == (0, "cancelled")


def test_cancel_asks_a_running_job(cli, committed):
    job = committed.make_job("running")

    result = cli("cancel", str(job)[:8])

    assert (result.exit_code, result.stdout.strip()) == (0, "running")
    assert "next step" in result.stderr


@pytest.mark.parametrize("command", ["cancel", "rerun"])
def test_an_unknown_job_is_refused_with_a_sentence(cli, command):
    result = cli(command, str(uuid4()))

    assert result.exit_code == 1
    assert "no such job" in result.stderr


def test_rerun_queues_the_work_of_a_job_that_is_over(cli, cli_json, committed):
    job = committed.make_job("failed", kind="demo")

    again = cli_json("rerun", str(job))

    assert again["created"] is True
    assert again["uuid"] != str(job)


def test_rerun_refuses_a_job_that_is_active(cli, committed):
    job = committed.make_job("running")

    result = cli("rerun", str(job))

    assert result.exit_code == 1
    assert "running" in result.stderr


def test_metrics_prints_what_prometheus_reads(cli, committed):
    committed.make_job("queued", kind="demo")

    result = cli("metrics")

    assert result.exit_code == 0
    assert 'cortex_jobs_active{kind="demo",status="queued"} 1' in result.stdout.splitlines()


@pytest.mark.parametrize("command", ["list", "show"])
def test_a_running_jobs_session_is_told_of(cli, committed, connect, command):
    job = committed.make_job("running")
    body, rival = connect(autocommit=True), connect()
    body.execute("create table busy ()")
    body.execute("select cortex.attach_backend(job => %s)", [job])
    rival.execute("lock table busy")
    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(body.execute, "select from busy")
        wait_until(lambda: is_waiting(committed.conn, body.info.backend_pid))

        result = cli(command, *([str(job)] if command == "show" else []))

        rival.rollback()
        reading.result()
    assert result.exit_code == 0
    assert "waiting for a lock" in " ".join(result.stdout.split())


def is_waiting(conn, pid):
    return conn.execute("select cardinality(pg_blocking_pids(%s)) > 0", [pid]).fetchone()[0]


def test_show_says_who_asked_for_the_end_of_a_job_that_still_runs(cli, committed):
    job = committed.make_job("running")
    cli("cancel", str(job), "--actor", "ada")

    result = cli("show", str(job))

    [told] = [line for line in result.stdout.splitlines() if line.startswith("cancel ")]
    assert told.endswith("by ada")
