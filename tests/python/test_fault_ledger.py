"""The ledger of the fault tests sees what it is there to see."""

from __future__ import annotations

import os
from uuid import uuid4

import pytest

from tests.faults.ledger import Ledger


@pytest.fixture
def ledger(tmp_path, shared_database):
    return Ledger(tmp_path / "journal", shared_database)


def began(ledger, job, attempt=1, *, run="1", pid=None):
    ledger.add("began", run=run, pid=pid or os.getpid(), job=job, attempt=attempt)


def ended(ledger, *, run="1", status="succeeded", result=None):
    ledger.add("ended", run=run, status=status, result=result)


def figures(ledger, conn):
    found = ledger.count(conn)
    return found.jobs, len(found.lost), len(found.doubled), len(found.going)


def test_misses_a_job_that_was_acknowledged_and_has_no_row(ledger, conn):
    ledger.acknowledged(uuid4())

    assert figures(ledger, conn) == (1, 1, 0, 0)


def test_misses_an_outcome_that_was_known_and_is_not_in_the_row(ledger, conn, make_job):
    job = make_job("interrupted", attempt=1)
    began(ledger, job)
    ended(ledger)

    assert figures(ledger, conn) == (1, 1, 0, 0)


def test_misses_a_result_that_is_another_in_the_row(ledger, conn, make_job):
    job = make_job("succeeded", attempt=1)
    began(ledger, job)
    ended(ledger, result=7)

    assert figures(ledger, conn) == (1, 1, 0, 0)


def test_does_not_miss_what_a_killed_process_alone_knew(ledger, conn, make_job):
    job = make_job("interrupted", attempt=1)
    began(ledger, job, pid=1)
    ended(ledger)
    ledger.add("gone", pid=1, killed=True)

    assert figures(ledger, conn) == (1, 0, 0, 0)


def test_misses_the_run_of_a_job_that_is_said_to_have_succeeded(ledger, conn, make_job):
    ledger.acknowledged(make_job("succeeded", attempt=1))

    assert figures(ledger, conn) == (1, 1, 0, 0)


def test_sees_two_runs_at_once(ledger, conn, make_job):
    job = make_job("succeeded", attempt=2)
    began(ledger, job, 1, run="1")
    began(ledger, job, 2, run="2")
    ended(ledger, run="1")
    ended(ledger, run="2")

    assert figures(ledger, conn) == (1, 0, 1, 0)


@pytest.mark.parametrize(("thawed_first", "doubled"), [(False, 0), (True, 1)])
def test_takes_a_run_whose_process_is_stopped_for_none(
    ledger, conn, make_job, thawed_first, doubled
):
    job = make_job("succeeded", attempt=2)
    began(ledger, job, 1, run="1", pid=1)
    ledger.add("frozen", pid=1)
    began(ledger, job, 2, run="2")
    for what in ("thawed", "ended") if thawed_first else ("ended", "thawed"):
        if what == "thawed":
            ledger.add("thawed", pid=1)
        else:
            ended(ledger, run="2")
    ended(ledger, run="1", status=None)

    assert figures(ledger, conn) == (1, 0, doubled, 0)


def test_sees_an_attempt_that_ran_twice(ledger, conn, make_job):
    job = make_job("succeeded", attempt=1)
    for run in "12":
        began(ledger, job, run=run)
        ended(ledger, run=run)

    assert figures(ledger, conn) == (1, 0, 1, 0)


def test_takes_two_attempts_in_turn_for_what_they_are(ledger, conn, make_job):
    job = make_job("succeeded", attempt=2)
    began(ledger, job, 1, run="1", pid=1)
    ledger.add("gone", pid=1, killed=True)
    began(ledger, job, 2, run="2")
    ended(ledger, run="2")

    assert figures(ledger, conn) == (1, 0, 0, 0)


def test_sees_a_job_that_was_left_running(ledger, conn, make_job):
    job = make_job("running", attempt=1)
    began(ledger, job)

    found = ledger.count(conn)

    assert any(str(job) in text for text in found.left)
    assert [run.job for run in found.going] == [job]
