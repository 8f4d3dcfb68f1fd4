"""pg_cron alone runs jobs to their end, with no Python process; and what its record tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import pycortex.sql
from tests.factories import make_job, make_runner
from tests.sql.asking import rows, value
from tests.sql.bodies import done, ended, make_bodies, spawn
from tests.waiting import wait_until

THREE_MINUTES = 200


@pytest.fixture
def psql(cron_home: str) -> Iterator[psycopg.Connection[Any]]:
    """A committing session where pg_cron lives; it asks and looks, as psql would."""
    with psycopg.connect(cron_home, autocommit=True) as conn:
        make_bodies(conn)
        yield conn
        conn.execute("select cortex.unschedule_work()")
        conn.execute("select cortex.unschedule_job('every minute')")
        conn.execute("delete from cortex.job")
        conn.execute("delete from cortex.runner")
        conn.execute("delete from cortex.sql_kind where schema_name = 'app'")
        conn.execute("drop schema app cascade")
        conn.execute("truncate corpus.corpora, corpus.services cascade")


@pytest.mark.timeout(400)
def test_runs_every_kind_of_body_to_its_end_by_pg_cron_alone(psql):
    corpus = value(psql, "select corpus.open_corpus('c')")
    service = value(psql, "select corpus.open_service('s')")
    psql.execute("select corpus.put_tasks(%s, %s, '{a}', '{-2}')", [corpus, service])
    psql.execute(
        "insert into corpus.log_warnings (task_id, category, what)"
        " select id, 'font', 'missing' from corpus.tasks"
    )

    psql.execute("select cortex.schedule_work()")
    psql.execute("select cortex.schedule_job('every minute', '* * * * *', 'note', '{\"by\": 1}')")
    refresh = value(psql, "select uuid from cortex.spawn_report_refresh()")
    populate = value(
        psql, "select uuid from cortex.spawn_report_populate(%s, %s, 'warning')", [corpus, service]
    )
    analyze = value(psql, "select uuid from cortex.spawn_analyze()")
    own = [spawn(psql, kind) for kind in ("note", "note_too", "commit_thrice")]
    failing = spawn(psql, "fail")
    # Its error ends the call, so last; the next call writes its end.
    lost = spawn(psql, "commit_and_fail", priority=-1)
    everything = [refresh, populate, analyze, *own, failing, lost]

    wait_until(
        lambda: {ended(psql, job)[0] for job in everything} <= {"succeeded", "failed"},
        THREE_MINUTES,
        what="pg_cron has run all jobs",
    )

    results = {
        row["uuid"]: row
        for row in rows(psql, "select uuid, status, message, result from cortex.jobs")
    }
    assert results[refresh]["result"] == {"status": "cache-invalidated"}
    assert results[populate]["result"] == {"populated": "warning", "rows": 3}
    assert len(results[analyze]["result"]["analyzed"]) == 7
    assert {results[job]["status"] for job in own} == {"succeeded"}
    assert results[failing]["message"] == "no such page: 7 (SQLSTATE 22023)"
    assert (results[lost]["status"], results[lost]["message"]) == ("failed", "division by zero")
    assert set(own) <= set(done(psql))
    assert rows(psql, "select distinct name from cortex.runners") == [{"name": "cortex.work"}]

    def comes_back() -> bool:
        [schedule] = pycortex.sql.list_schedules(psql)
        return (
            schedule.last_run_status == "succeeded"
            and schedule.last_job_status == pycortex.JobStatus.SUCCEEDED
        )

    wait_until(comes_back, THREE_MINUTES, what="the scheduled job has run")


# What pg_cron's record tells of a body whose error could not be caught

RUN = """
insert into cron.job_run_details (
    jobid, runid, job_pid, database, username, command, status, return_message, start_time, end_time
)
values (1, %s, %s, %s, current_user, %s, %s, %s, clock_timestamp(), clock_timestamp())
"""
PID = 4194399
"""Above what a pid can be here, so that no session has it."""


def recorded(
    home: psycopg.Connection[Any],
    message: str,
    *,
    pid: int = PID,
    database: str = "cronhome",
    command: str = "call cortex.work(100)",
    status: str = "failed",
) -> tuple[str, str]:
    """What becomes of a job of a session that is gone, where pg_cron recorded that."""
    runner = make_runner(home, name="cortex.work", pid=PID, backend_pid=PID)
    job = make_job(home, "running", runner=runner)
    home.execute(RUN, [PID, pid, database, command, status, message])
    home.execute("select cortex.settle_bodies()")
    return ended(home, job)


def test_takes_the_error_from_the_record(home):
    message = 'ERROR:  no such page\nCONTEXT: SQL statement "select 1"'

    assert recorded(home, message) == ("failed", "no such page")


def test_keeps_an_error_in_another_language(home):
    message = "FEHLER: Division durch Null\nKONTEXT: so"

    assert recorded(home, message) == ("failed", message)


@pytest.mark.parametrize(
    "other",
    [
        {"message": "FATAL: terminating background worker due to administrator command"},
        {"message": "server closed the connection unexpectedly"},
        {"message": "ERROR: x", "pid": PID + 1},
        {"message": "ERROR: x", "database": "another"},
        {"message": "ERROR: x", "command": "select 1"},
        {"message": "CALL", "status": "succeeded"},
    ],
)
def test_leaves_a_job_to_the_upkeep_where_no_error_of_its_body_is_recorded(home, other):
    assert recorded(home, **other) == ("running", "")


def test_corrects_an_upkeep_that_was_first(home):
    runner = make_runner(home, name="cortex.work", pid=PID, backend_pid=PID, alive=False)
    job = make_job(home, "running", runner=runner, silent_for="1 hour")
    home.execute("select cortex.maintain()")
    assert ended(home, job)[0] == "interrupted"
    home.execute("update cortex.runner set registered_at = clock_timestamp()")
    home.execute(
        RUN, [PID, PID, "cronhome", "call cortex.work(1)", "failed", "ERROR: no such page"]
    )

    home.execute("select cortex.settle_bodies()")

    assert ended(home, job) == ("failed", "no such page")


def test_writes_the_cancel_that_somebody_asked_for(home):
    runner = make_runner(home, name="cortex.work", pid=PID, backend_pid=PID)
    job = make_job(home, "running", runner=runner)
    home.execute("select cortex.cancel_job(%s, 'ada')", [job])
    home.execute(
        RUN,
        [PID, PID, "cronhome", "call cortex.work(1)", "failed", "ERROR: canceling statement"],
    )

    home.execute("select cortex.settle_bodies()")

    assert ended(home, job) == ("cancelled", "cancelled on request, amid a statement")


def test_finds_the_record_though_its_times_are_a_moment_off(home):
    """pg_cron notes the end of a run by the clock of its last look round."""
    runner = make_runner(home, name="cortex.work", pid=PID, backend_pid=PID)
    job = make_job(home, "running", runner=runner)
    home.execute(RUN, [PID, PID, "cronhome", "call cortex.work(1)", "failed", "ERROR: no page"])
    home.execute(
        "update cron.job_run_details set start_time = start_time - interval '2 seconds',"
        " end_time = end_time - interval '2 seconds'"
    )

    home.execute("select cortex.settle_bodies()")

    assert ended(home, job) == ("failed", "no page")
