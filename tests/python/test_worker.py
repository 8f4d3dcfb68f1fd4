"""The worker: takes from the queue what it has bodies for, and nothing else."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest

import pycortex
from pycortex import JobStatus, Worker, registry, sql
from tests.runners import Gate
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def bodies(monkeypatch):
    """Registrations of a test go with it."""
    monkeypatch.setattr(registry, "_bodies", {})


@pytest.fixture
def work(new_runner):
    """Starts workers: work(kinds=None, max_workers=4, …); stopped after the test."""
    stop = threading.Event()
    threads = []

    def start(kinds=None, *, poll_interval=5.0, **options):
        worker = Worker(new_runner(**options), kinds, poll_interval=poll_interval)
        threads.append(threading.Thread(target=worker.run, args=[stop]))
        threads[-1].start()
        return worker

    yield start
    stop.set()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def ended(conn, *jobs):
    return wait_until(
        lambda: (
            all(found := [sql.find_job(conn, job) for job in jobs])
            and all(job.status.terminal for job in found)
            and found
        )
    )


def listening(conn):
    return wait_until(
        lambda: conn.execute(
            "select pid from pg_stat_activity where query like 'listen %%'"
            " and datname = current_database()"
        ).fetchall()
    )


def test_runs_what_anybody_spawned(work, committed):
    @pycortex.job("test")
    def body(progress):
        progress.step(1, 1)
        return {"got": progress.params, "by": progress.actor}

    worker = work()
    uuid = committed.conn.execute(
        "select uuid from cortex.spawn_job('test', 'ada', '{\"n\": 1}')"
    ).fetchone()[0]

    [job] = ended(committed.conn, uuid)

    assert (job.status, job.result) == (JobStatus.SUCCEEDED, {"got": {"n": 1}, "by": "ada"})
    assert (job.runner, job.attempt, job.progress_current) == (worker._runner.uuid, 1, 1)


def test_takes_what_was_there_before_it(work, committed):
    pycortex.job("test")(lambda progress: 1)
    jobs = [committed.make_job() for _ in range(20)]

    work(max_workers=2)

    assert {job.status for job in ended(committed.conn, *jobs)} == {JobStatus.SUCCEEDED}


def test_wakes_when_there_is_something_to_do(work, committed):
    pycortex.job("test")(lambda progress: 1)
    work(poll_interval=3600)
    listening(committed.conn)

    spawned = sql.spawn_job(committed.conn, "test")
    [job] = ended(committed.conn, spawned.uuid)

    assert job.status is JobStatus.SUCCEEDED


def test_looks_by_itself_when_it_hears_nothing(work, committed, monkeypatch):
    monkeypatch.setattr("pycortex._call.listen", lambda conn, channel: None)
    pycortex.job("test")(lambda progress: 1)
    work(poll_interval=0.05)

    spawned = sql.spawn_job(committed.conn, "test")

    ended(committed.conn, spawned.uuid)


def test_takes_a_job_when_its_time_has_come(work, committed):
    pycortex.job("test")(lambda progress: 1)
    work(poll_interval=0.1)
    soon = sql.db_now(committed.conn) + timedelta(seconds=0.5)

    spawned = sql.spawn_job(committed.conn, "test", run_at=soon)

    [job] = ended(committed.conn, spawned.uuid)
    assert job.started_at >= soon


def test_ends_by_itself_when_it_has_drained_the_queue(new_runner, committed):
    """Also of what its bodies spawn; what waits for a later time stays."""

    @pycortex.job("test")
    def body(progress):
        if progress.params.get("more"):
            with progress.connection() as conn:
                conn.execute("select cortex.spawn_job('test')")

    for more in range(10):
        sql.spawn_job(committed.conn, "test", params={"more": more})
    later = sql.spawn_job(
        committed.conn, "test", run_at=sql.db_now(committed.conn) + timedelta(hours=1)
    )
    strange = sql.spawn_job(committed.conn, "strange")

    Worker(new_runner(max_workers=2), drain=True).run(threading.Event())

    jobs = {job.uuid: job.status for job in sql.list_recent(committed.conn)}
    assert jobs.pop(later.uuid) is JobStatus.QUEUED
    assert jobs.pop(strange.uuid) is JobStatus.QUEUED
    assert list(jobs.values()) == [JobStatus.SUCCEEDED] * 19


def test_leaves_kinds_without_a_body_in_the_queue(work, committed):
    pycortex.job("test")(lambda progress: 1)
    strange = sql.spawn_job(committed.conn, "strange")
    known = sql.spawn_job(committed.conn, "test")

    work()

    ended(committed.conn, known.uuid)
    assert sql.find_job(committed.conn, strange.uuid).status is JobStatus.QUEUED


def test_takes_only_the_kinds_it_is_told(work, committed):
    pycortex.job("one")(lambda progress: 1)
    pycortex.job("two")(lambda progress: 2)
    two = sql.spawn_job(committed.conn, "two")
    one = sql.spawn_job(committed.conn, "one")

    work(["one"])

    ended(committed.conn, one.uuid)
    assert sql.find_job(committed.conn, two.uuid).status is JobStatus.QUEUED


def test_refuses_a_kind_without_a_body(runner):
    pycortex.job("test")(lambda progress: 1)

    with pytest.raises(LookupError, match=r"strange.*registered: test"):
        Worker(runner, ["strange"])


def test_claims_no_more_than_it_has_places_for(work, committed):
    gate = Gate()
    pycortex.job("test")(gate)
    jobs = [committed.make_job() for _ in range(5)]

    work(max_workers=2)
    gate.wait_entered()

    def running():
        rows = sql.list_recent(committed.conn, active_only=True)
        return sum(row.status is JobStatus.RUNNING for row in rows)

    wait_until(lambda: running() == 2)
    time.sleep(0.2)
    assert running() == 2
    gate.open()
    ended(committed.conn, *jobs)


def test_claims_for_half_of_its_places_at_once_where_more_waits(work, committed, monkeypatch):
    """It would wait for the second place for ever here."""
    monkeypatch.setattr(pycortex.worker, "LINGER", 60.0)
    claims = []
    claim = Worker._claim

    def claim_and_note(worker, free):
        found = claim(worker, free)
        claims.append(len(found))
        return found

    monkeypatch.setattr(Worker, "_claim", claim_and_note)
    gates = {place: threading.Event() for place in range(8)}
    pycortex.job("test")(lambda progress: gates[progress.params["place"]].wait(60))
    jobs = [committed.make_job(params={"place": place}) for place in gates]

    work(max_workers=4)
    wait_until(lambda: claims == [4])
    gates[0].set()
    ended(committed.conn, jobs[0])
    gates[1].set()
    wait_until(lambda: len(claims) > 1)
    assert claims == [4, 2]

    for gate in gates.values():
        gate.set()
    ended(committed.conn, *jobs)


def test_two_workers_never_run_the_same_job(work, committed):
    """B06."""
    ran = []
    pycortex.job("test")(lambda progress: ran.append(progress.uuid))
    for _ in range(3):
        work(poll_interval=0.05)

    uuids = sql.spawn_jobs(committed.conn, "test", [{}] * 200)

    ended(committed.conn, *uuids)
    assert sorted(ran) == sorted(uuids)


def test_runs_follow_ups_one_after_the_other(work, committed):
    gate = Gate()
    pycortex.job("test")(gate)
    work(poll_interval=0.05)
    first = sql.spawn_job(committed.conn, "test", debounce_scope={}, debounce_on="queued")
    gate.wait_entered()

    second = sql.spawn_job(committed.conn, "test", debounce_scope={}, debounce_on="queued")

    time.sleep(0.3)
    assert sql.find_job(committed.conn, second.uuid).status is JobStatus.QUEUED
    gate.open()
    one, two = ended(committed.conn, first.uuid, second.uuid)
    assert two.started_at >= one.finished_at


def test_tries_a_failed_job_again(work, committed):
    sql.configure_kind(committed.conn, "test", max_attempts=2, backoff="10 ms")

    @pycortex.job("test")
    def body(progress):
        if progress.attempt == 1:
            raise OSError("not yet")
        return "at last"

    work(poll_interval=0.05)
    spawned = sql.spawn_job(committed.conn, "test")

    job = wait_until(
        lambda: (
            (found := sql.find_job(committed.conn, spawned.uuid)).attempt == 2
            and found.status.terminal
            and found
        )
    )
    assert (job.status, job.result) == (JobStatus.SUCCEEDED, "at last")


def test_stops_taking_jobs_and_lets_the_running_ones_end(work, committed, new_runner):
    gate = Gate()
    pycortex.job("test")(gate)
    running = sql.spawn_job(committed.conn, "test")
    runner = new_runner()
    stop = threading.Event()
    thread = threading.Thread(target=Worker(runner).run, args=[stop])
    thread.start()
    gate.wait_entered()

    stop.set()
    thread.join(10)
    late = sql.spawn_job(committed.conn, "test")

    assert not thread.is_alive()
    gate.open()
    assert ended(committed.conn, running.uuid)[0].status is JobStatus.SUCCEEDED
    assert sql.find_job(committed.conn, late.uuid).status is JobStatus.QUEUED


def test_ends_with_its_runner(new_runner):
    runner = new_runner()
    thread = threading.Thread(target=Worker(runner, []).run, args=[threading.Event()])
    thread.start()

    runner.shutdown(0)

    thread.join(10)
    assert not thread.is_alive()


def test_an_idle_worker_asks_rarely(work, committed):
    """H09: no busy loop."""
    pycortex.job("test")(lambda progress: 1)
    work(poll_interval=30)
    listening(committed.conn)
    time.sleep(0.5)

    def commits():
        return committed.conn.execute(
            "select xact_commit from pg_stat_database where datname = current_database()"
        ).fetchone()[0]

    before = commits()
    time.sleep(1.5)
    assert commits() - before < 15


def test_says_once_which_kinds_wait_that_nobody_takes(work, committed, caplog, monkeypatch):
    """I13."""
    monkeypatch.setattr("pycortex.worker.LOOK_EVERY", 0.01)
    caplog.set_level("WARNING", "pycortex")
    pycortex.job("known")(lambda progress: 1)
    other = committed.make_runner()
    sql.claim_jobs(committed.conn, other, ["elsewhere"])
    committed.conn.execute("create procedure public.body(job uuid) language sql as 'select 1'")
    committed.conn.execute("select cortex.register_sql_kind('inside', 'public.body')")
    for kind in ("strange", "strange", "elsewhere", "inside"):
        sql.spawn_job(committed.conn, kind)

    work(poll_interval=0.05)
    known = sql.spawn_job(committed.conn, "known")
    ended(committed.conn, known.uuid)
    time.sleep(0.3)

    lines = [record for record in caplog.records if "no live worker takes" in record.message]
    assert [record.kind for record in lines] == ["strange"]
    assert "'strange': 2 waiting" in lines[0].message


def test_works_on_where_it_may_not_look_what_waits(work, committed, monkeypatch):
    def refuse(conn):
        raise RuntimeError("no")

    monkeypatch.setattr(sql, "list_waiting", refuse)
    pycortex.job("test")(lambda progress: 1)

    work()

    ended(committed.conn, sql.spawn_job(committed.conn, "test").uuid)
