"""pg_cron's scheduler really runs: the truth is kept with every Python process dead."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pycortex.schedule import schedule, unschedule
from tests.servers import Server
from tests.waiting import wait_until

TWO_MINUTES = 150

DOOMED = """
import sys, threading
from pycortex import Runner

def body(progress):
    progress.step(1, 2, "half-way")
    print(progress.uuid, flush=True)
    threading.Event().wait()

with Runner(sys.argv[1], name="doomed") as runner:
    runner.spawn("doomed", body, actor="test").wait()
"""


@pytest.fixture
def watched(cron_home: str) -> Iterator[psycopg.Connection[Any]]:
    """A committing session where pg_cron lives, with an impatient rhythm; it only watches."""
    with psycopg.connect(cron_home, autocommit=True) as conn:
        _make_impatient(conn)
        yield conn
        conn.execute("delete from cortex.job")
        conn.execute("delete from cortex.runner")
        conn.execute("select cortex.unschedule_maintenance()")


@pytest.mark.waits
@pytest.mark.timeout(400)
def test_closes_the_jobs_of_killed_runners_in_both_kinds_of_database(
    cron_server: Server, cron_home: str, apart: str, watched: psycopg.Connection[Any]
):
    with psycopg.connect(apart, autocommit=True) as conn:
        _make_impatient(conn)
        jobs = {watched: _killed_at_work(cron_home), conn: _killed_at_work(apart)}
        numbers = {watched: schedule(cron_home), conn: schedule(apart)}

        for session, job in jobs.items():
            wait_until(
                lambda session=session, job=job: _status(session, job) == "interrupted",
                TWO_MINUTES,
                what="pg_cron has closed the job",
            )

        for session, job in jobs.items():
            assert session.execute(
                "select to_status, message from cortex.job_events where job = %s order by at", [job]
            ).fetchall()[-1] == ("interrupted", _message(session, job))
            assert "its runner doomed" in _message(session, job)
            assert session.execute(
                "select last_run_at is not null from cortex.upkeep_record"
            ).fetchone() == (True,)
            runs = watched.execute(
                "select distinct status from cron.job_run_details where jobid = %s"
                " and end_time is not null",
                [numbers[session]],
            ).fetchall()
            assert runs == [("succeeded",)]
    assert unschedule(apart) is True


def _make_impatient(conn: psycopg.Connection[Any]) -> None:
    conn.execute("select cortex.configure(runner_beat => '200 ms', runner_grace => '1 second')")


def _killed_at_work(url: str) -> str:
    """Run a job in another process, kill that with SIGKILL at work, and return the job's uuid."""
    process = subprocess.Popen(
        [sys.executable, "-c", DOOMED, url], stdout=subprocess.PIPE, text=True
    )
    with process:
        job = process.stdout.readline().strip()
        process.kill()
    assert job, "the runner didn't start its job"
    return job


def _status(conn: psycopg.Connection[Any], job: str) -> str:
    # The view, not list_recent: that would reap by itself.
    return conn.execute("select status from cortex.jobs where uuid = %s", [job]).fetchone()[0]


def _message(conn: psycopg.Connection[Any], job: str) -> str:
    return conn.execute("select message from cortex.jobs where uuid = %s", [job]).fetchone()[0]
