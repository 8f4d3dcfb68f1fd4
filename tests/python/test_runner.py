"""Runner.spawn and the handle that it returns."""

from __future__ import annotations

import threading
from datetime import timedelta
from decimal import Decimal

import psycopg
import pytest

import pycortex
from pycortex import JobStatus, Runner, sql
from tests.runners import Gate
from tests.waiting import wait_until


def count_jobs(conn):
    return conn.execute("select count(*) from cortex.jobs").fetchone()[0]


def test_runs_a_body_and_keeps_its_result(runner):
    def add(progress):
        return {"sum": sum(progress.params["numbers"]), "by": progress.actor}

    handle = runner.spawn("test", add, actor="ada", params={"numbers": [1, 2]})
    job = handle.wait(20)

    assert handle.created
    assert job.uuid == handle.uuid
    assert (job.status, job.result) == (JobStatus.SUCCEEDED, {"sum": 3, "by": "ada"})
    assert (job.kind, job.actor, job.attempt, job.runner) == ("test", "ada", 1, runner.uuid)


def test_gives_the_body_what_any_worker_would_get(runner):
    """E10."""
    seen = {}

    handle = runner.spawn(
        "test",
        lambda progress: seen.update(progress.params),
        params={"n": 2**63, "d": Decimal("0.1")},
    )

    assert handle.wait(20).params == {"n": 2**63, "d": "0.1"} == seen


@pytest.mark.parametrize("value", [None, 0, "", [], False])
def test_takes_nothing_for_a_success(runner, committed, value):
    """E15."""
    job = runner.spawn("test", lambda progress: value).wait(20)

    assert (job.status, job.result) == (JobStatus.SUCCEEDED, value)
    [recorded] = committed.conn.execute("select result is not null from cortex.jobs").fetchone()
    assert recorded


def test_runs_as_many_bodies_at_once_as_it_has_places(new_runner):
    runner = new_runner(max_workers=2)
    gates = [Gate() for _ in range(3)]
    handles = [runner.spawn("test", gate) for gate in gates]
    for gate in gates[:2]:
        gate.wait_entered()

    waiting = handles[2].job()

    assert waiting.status is JobStatus.QUEUED
    assert not gates[2].entered.is_set()
    gates[0].open()
    gates[2].wait_entered()
    for gate in gates:
        gate.open()
    assert {handle.wait(20).status for handle in handles} == {JobStatus.SUCCEEDED}


def test_hands_out_the_first_job_of_a_scope(runner):
    gate = Gate()
    first = runner.spawn("test", gate, debounce_scope={})

    second = runner.spawn("test", lambda progress: "never", debounce_scope={})

    assert (first.created, second.created) == (True, False)
    assert second.uuid == first.uuid
    gate.open()
    assert second.wait(20).result == "passed"


def test_starts_a_follow_up_when_the_job_before_it_has_ended(runner):
    gates = [Gate(), Gate()]
    first = runner.spawn("test", gates[0], debounce_scope={}, debounce_on="queued")
    gates[0].wait_entered()
    follow_up = runner.spawn("test", gates[1], debounce_scope={}, debounce_on="queued")

    again = runner.spawn("test", gates[1], debounce_scope={}, debounce_on="queued")

    assert follow_up.created
    assert (again.created, again.uuid) == (False, follow_up.uuid)
    assert not gates[1].entered.wait(0.3)
    assert follow_up.job().status is JobStatus.QUEUED
    gates[0].open()
    gates[1].wait_entered()
    assert first.wait(20).status is JobStatus.SUCCEEDED
    gates[1].open()
    assert follow_up.wait(20).status is JobStatus.SUCCEEDED


def test_a_follow_up_takes_no_place_while_it_waits(new_runner):
    runner = new_runner(max_workers=2)
    gate = Gate()
    runner.spawn("test", gate, debounce_scope={}, debounce_on="queued")
    gate.wait_entered()
    runner.spawn("test", lambda progress: None, debounce_scope={}, debounce_on="queued")

    others = [runner.spawn("other", lambda progress: None) for _ in range(5)]

    assert {other.wait(20).status for other in others} == {JobStatus.SUCCEEDED}
    gate.open()


def test_forgets_a_follow_up_that_somebody_cancelled(runner, committed):
    gate, never = Gate(), Gate()
    runner.spawn("test", gate, debounce_scope={}, debounce_on="queued")
    gate.wait_entered()
    follow_up = runner.spawn("test", never, debounce_scope={}, debounce_on="queued")

    sql.cancel_job(committed.conn, follow_up.uuid)

    assert follow_up.wait(20).status is JobStatus.CANCELLED
    wait_until(lambda: runner._bodies.find(follow_up.uuid) is None)
    gate.open()
    assert not never.entered.is_set()


def test_starts_a_job_when_its_time_has_come(runner, committed):
    soon = sql.db_now(committed.conn) + timedelta(seconds=0.7)

    job = runner.spawn("test", lambda progress: None, run_at=soon).wait(20)

    assert job.started_at >= soon
    assert job.started_at - soon < timedelta(seconds=60)


def test_waits_with_a_limit(runner):
    gate = Gate()
    handle = runner.spawn("test", gate)

    with pytest.raises(TimeoutError):
        handle.wait(0.05)

    gate.open()
    assert handle.wait().status is JobStatus.SUCCEEDED


def test_waits_for_a_job_that_ended_long_ago(runner):
    handle = runner.spawn("test", lambda progress: 1)
    handle.wait(20)

    assert handle.wait(0).result == 1


def test_says_when_the_job_it_waits_for_is_gone(runner, committed):
    handle = runner.spawn("test", lambda progress: 1)
    handle.wait(20)
    sql.purge_jobs(committed.conn, older_than="0")

    with pytest.raises(pycortex.JobNotFound):
        handle.wait(5)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"kind": ""}, psycopg.DataError),
        ({"kind": "x" * 201}, psycopg.DataError),
        ({"kind": "a\x00"}, psycopg.DataError),
        ({"actor": "x" * 201}, psycopg.DataError),
        ({"params": {"x": float("nan")}}, ValueError),
        ({"params": {1: 2}}, TypeError),
        ({"params": []}, TypeError),
        ({"debounce_scope": []}, TypeError),
        ({"debounce_scope": {"x": "y" * 2000}}, psycopg.DataError),
        ({"debounce_on": "sometimes"}, psycopg.DataError),
        ({"body": "not callable"}, TypeError),
    ],
)
def test_refuses_what_cannot_become_a_job_and_keeps_its_places(
    new_runner, committed, arguments, error
):
    runner = new_runner(max_workers=1)

    for _ in range(3):
        with pytest.raises(error):
            runner.spawn(**({"kind": "test", "body": lambda progress: None} | arguments))

    assert count_jobs(committed.conn) == 0
    assert runner.spawn("test", lambda progress: 1).wait(20).result == 1


def test_refuses_a_body_that_a_thread_cannot_run(runner, committed):
    async def later(progress):
        return None

    def piecemeal(progress):
        yield 1

    for body in (later, piecemeal):
        with pytest.raises(TypeError):
            runner.spawn("test", body)
    assert count_jobs(committed.conn) == 0


def test_raises_at_once_where_the_database_is_out_of_reach():
    with pytest.raises(psycopg.OperationalError):
        Runner("host=127.0.0.1 port=1 dbname=none").start()


@pytest.mark.parametrize(
    "options",
    [{"max_workers": 0}, {"grace": -1}, {"step_interval": float("nan")}, {"poll_interval": 0}],
)
def test_refuses_numbers_that_make_no_sense(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Runner("", **options)


def test_starts_with_the_first_spawn(database):
    runner = Runner(database)
    with pytest.raises(RuntimeError):
        _ = runner.uuid

    try:
        assert runner.spawn("test", lambda progress: 1).wait(20).result == 1
    finally:
        runner.shutdown(0)


def test_two_runners_of_one_process_know_their_own_jobs(new_runner):
    one, other = new_runner(name="one"), new_runner(name="other")

    jobs = [runner.spawn("test", lambda progress: 1).wait(20) for runner in (one, other)]

    assert [job.runner for job in jobs] == [one.uuid, other.uuid]
    assert one.uuid != other.uuid


def test_is_listed_as_alive_until_it_retires(new_runner, committed):
    runner = new_runner(name="app")
    [before] = sql.list_runners(committed.conn)

    runner.shutdown(0)

    [after] = sql.list_runners(committed.conn)
    assert (before.name, before.alive, before.retired_at) == ("app", True, None)
    assert not after.alive
    assert after.retired_at is not None


def test_spawns_from_many_threads(runner):
    handles = []

    def spawn_some():
        handles.extend(
            runner.spawn("test", lambda progress: progress.params, params={"n": n})
            for n in range(10)
        )

    threads = [threading.Thread(target=spawn_some) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    jobs = [handle.wait(30) for handle in handles]
    assert len({job.uuid for job in jobs}) == 80
    assert all(job.result == job.params for job in jobs)


def test_holds_no_transaction_open(runner, committed):
    """G05."""
    gate = Gate()
    runner.spawn("test", gate)
    gate.wait_entered().step(1)

    rows = committed.conn.execute(
        "select state, backend_xmin from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
        " and backend_type = 'client backend'"
    )

    assert {state for state, _ in rows} <= {"idle", "active"}
    gate.open()
