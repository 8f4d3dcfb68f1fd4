"""A body in a process of its own does what one in a thread does."""

from __future__ import annotations

import logging
import os
import threading

import pytest

from pycortex import JobStatus, Runner, sql
from tests.isolation import bodies
from tests.isolation.processes import bodies as body_processes
from tests.isolation.processes import wait_at_it
from tests.waiting import wait_until


def test_runs_in_a_fresh_process_with_a_session_of_its_own(run):
    first, second = run(bodies.where).result, run(bodies.where).result

    for found in (first, second):
        assert found["parent"] == os.getpid()
        assert found["session"] == found["group"] == found["pid"]
    assert len({first["pid"], second["pid"], os.getpid()}) == 3


def test_a_job_may_ask_for_it_of_a_runner_with_threads(new_thread_runner):
    runner = new_thread_runner()

    apart = runner.spawn("test", bodies.where, isolation="process").wait(60)
    here = runner.spawn("test", bodies.where).wait(60)

    assert apart.result["pid"] != os.getpid()
    assert here.result["pid"] == os.getpid()


def test_is_told_what_it_was_asked(run):
    params = {"id": 9007199254740993, "text": "Ωé\ud83d".encode("utf-16", "replace").hex()}

    job = run(bodies.echo, actor="ada", params=params)

    assert job.result == [params, "test", "ada", 1, str(job.uuid)]


def test_steps_through_the_same_procedures(run, committed):
    job = run(bodies.count, params={"to": 2000})

    assert (job.status, job.result) == (JobStatus.SUCCEEDED, 2000)
    assert (job.progress_current, job.progress_total) == (2000, 2000)
    assert [event.to_status for event in sql.list_events(committed.conn, job.uuid)] == [
        "queued",
        "running",
        "succeeded",
    ]


def test_shows_how_far_it_is_while_it_runs(runner):
    handle = runner.spawn("test", bodies.step_on)

    seen = wait_until(lambda: (job := handle.job()).progress_current > 5 and job)

    assert (seen.status, seen.message) == (JobStatus.RUNNING, "on and on")


def test_is_told_by_its_next_step_that_somebody_cancelled(runner, committed):
    handle = runner.spawn("test", bodies.step_on)
    wait_at_it_or_further(handle)

    sql.cancel_job(committed.conn, handle.uuid)

    job = handle.wait(60)
    assert (job.status, job.message) == (JobStatus.CANCELLED, "cancelled on request")


def wait_at_it_or_further(handle):
    wait_until(lambda: handle.job().progress_current > 0)


def test_has_sessions_that_are_known_as_the_runners_and_the_jobs(new_runner):
    runner = new_runner(name="bakery")

    assert runner.spawn("test", bodies.session_name).wait(60).result == "pycortex bakery"
    assert runner.spawn("test", bodies.activity).wait(60).status is JobStatus.SUCCEEDED


def test_a_reason_for_failing_becomes_the_message(run):
    job = run(bodies.give_up)

    assert (job.status, job.message) == (JobStatus.FAILED, "the shop is closed")
    assert job.result == {"sold": 3}


def test_an_exception_fails_the_job_and_leaves_its_traceback_in_the_log(run, caplog):
    job = run(bodies.stumble)

    assert (job.status, job.message) == (JobStatus.FAILED, "OddError: odd")
    assert (job.progress_current, job.progress_total) == (1, 3)
    wait_until(lambda: "raise OddError" in caplog.text)
    assert "bodies.py" in caplog.text


def test_sys_exit_fails_the_job(run):
    job = run(bodies.leave)

    assert (job.status, job.message) == (JobStatus.FAILED, "SystemExit: 3")


def test_a_result_of_megabytes_arrives(run):
    assert len(run(bodies.give_huge).result) == 7 << 20


def test_a_result_that_json_cannot_hold_is_converted_there(run, caplog):
    job = run(bodies.give_unfit)

    assert job.status is JobStatus.SUCCEEDED
    assert "lock" in job.result
    wait_until(lambda: "of type lock" in caplog.text)


def test_its_log_records_reach_the_handlers_of_the_runners_process(run, caplog):
    caplog.set_level(logging.ERROR, "noisy")
    caplog.set_level(logging.DEBUG, "shop.orders")

    run(bodies.talk)

    records = [record for record in caplog.records if record.name in ("shop.orders", "noisy")]
    assert [record.getMessage().partition("\n")[0] for record in records] == [
        "in detail",
        "order 7 is late",
        "parcel lost",
    ]
    assert records[1].order == 7
    assert "ValueError: torn" in records[2].exc_text
    assert {record.process for record in records} - {os.getpid()}


def test_thousands_of_log_records_arrive_in_their_order(run, caplog):
    run(bodies.talk_much)

    lines = [record.getMessage() for record in caplog.records if record.name == "shop.orders"]
    assert lines == [f"line {number}" for number in range(5000)]


def test_what_its_forks_log_goes_to_stderr(run, caplog, capfd):
    assert run(bodies.talk_in_fork).result == 0

    assert "the fork is done" in capfd.readouterr().err
    assert "the fork is done" not in caplog.text


def test_writes_where_the_runner_writes_and_reads_nothing(run, capfd):
    run(bodies.write_out)

    out, err = capfd.readouterr()
    assert out == "to stdout\nfrom stdin ''\n"
    assert "to stderr" in err


def test_shows_which_job_it_is_to_whoever_looks_at_the_processes(runner, committed):
    handle = runner.spawn("test", bodies.nap)
    [pid] = wait_at_it(handle)

    assert body_processes(os.getpid()) == [pid]

    sql.cancel_job(committed.conn, handle.uuid, hard=True)
    handle.wait(60)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_may_use_multiprocessing_itself(run, method, capfd):
    assert run(bodies.use_pool, params={"method": method}).result == [0, 2, 4, 6, 8]
    assert capfd.readouterr().err == ""


def test_imports_no_more_than_its_body_needs(run):
    """The runner's main module, its command line and its tests among what it doesn't need."""
    found = run(bodies.look_around).result

    assert not {"click", "rich", "yoyo", "_pytest"} & set(found["modules"])
    assert found["main"] == "__main__"


def test_is_set_up_as_its_runner_was(run):
    import multiprocessing
    import sys

    found = run(bodies.look_around).result

    assert found["argv"] == sys.argv
    assert found["method"] == multiprocessing.get_start_method(allow_none=True)
    assert "default_int_handler" in found["sigint"]


def test_works_for_runners_of_other_threads(database):
    found = []

    def work():
        with Runner(database, isolation="process") as runner:
            found.append(runner.spawn("test", bodies.where).wait(60).result["parent"])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)

    assert found == [os.getpid()]


def test_bodies_run_side_by_side(new_runner, committed):
    runner = new_runner(max_workers=3)
    handles = [runner.spawn("test", bodies.nap) for _ in range(3)]

    pids = {wait_at_it(handle)[0] for handle in handles}

    assert len(pids) == 3
    for handle in handles:
        sql.cancel_job(committed.conn, handle.uuid, hard=True)
