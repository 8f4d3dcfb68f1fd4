"""A network that falls silent at one statement of the runner, one way or the other."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

import pycortex
from pycortex import JobStatus, Runner, Worker, registry, sql
from tests.faults.proxy import ANSWERS, REQUESTS, Proxy
from tests.runners import Gate
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("network cut or silent")

LIMIT = 1.0


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    """The runner's own limits, so that a test can wait for them."""
    names = ("_pool.CALL_LIMIT", "_pool.OPEN_LIMIT", "_pool.UNHEARD", "_steps.LIMIT",
             "_lease.LIMIT", "worker.LIMIT")  # fmt: skip
    for name in names:
        monkeypatch.setattr(f"pycortex.{name}", LIMIT)
    monkeypatch.setattr("pycortex._watch.GLANCE", 0.05)
    # What is prepared isn't seen on the wire any more.
    monkeypatch.setattr("pycortex._pool.PREPARE_AFTER", 2**30)


@pytest.fixture
def proxy(database):
    proxy = Proxy(database)
    yield proxy
    proxy.close()


@pytest.fixture
def runner(proxy):
    runner = Runner(proxy.url(connect_timeout=2), grace=5, poll_interval=0.05)
    yield runner.start()
    proxy.speak()
    runner.shutdown(0)
    assert runner._lease._over.wait(30)
    wait_until(lambda: not runner._bodies.busy)  # what ends only now is written too


@pytest.fixture(params=[(REQUESTS,), (ANSWERS,)], ids=["requests", "answers"])
def ways(request):
    return request.param


def speak_again(proxy):
    """New connections get through; those that were there stay silent for ever."""
    assert proxy.silenced.wait(20)
    proxy.listen()


def test_at_a_spawn(proxy, runner, ways):
    runner.spawn("test", lambda progress: 1).wait(20)
    proxy.fall_silent_at(b"spawn_job", ways)
    with ThreadPoolExecutor(1) as pool:
        spawned = pool.submit(runner.spawn, "test", lambda progress: 2)
        speak_again(proxy)

        assert spawned.result(30).wait(20).result == 2


def test_at_the_commit_of_a_spawn(proxy, runner, ways, committed):
    """It raises and there is no job, or returns and there is one; no transaction stays open."""
    runner.spawn("test", lambda progress: 1, debounce_scope={}).wait(20)
    proxy.fall_silent_at(b"COMMIT", ways)
    with ThreadPoolExecutor(1) as pool:
        spawned = pool.submit(runner.spawn, "test", lambda progress: 2, debounce_scope={})
        speak_again(proxy)
        try:
            assert spawned.result(30).wait(20).result == 2
        except psycopg.OperationalError:
            assert ways != (ANSWERS,)

    assert runner.spawn("test", lambda progress: 3, debounce_scope={}).wait(30).result == 3
    [count] = committed.conn.execute("select count(*) from cortex.jobs").fetchone()
    assert count == 2 + (spawned.exception() is None)


def test_at_the_start_of_a_job(proxy, runner, ways):
    proxy.fall_silent_at(b"set_running", ways)
    handle = runner.spawn("test", lambda progress: progress.attempt)
    speak_again(proxy)

    assert handle.wait(30).result == 1


def test_at_a_step(proxy, runner, ways):
    gate = Gate()
    handle = runner.spawn("test", gate)
    progress = gate.wait_entered()
    proxy.fall_silent_at(b"cortex.step", ways)

    progress.step(1, 2)
    progress.step(2, 2)
    speak_again(proxy)

    wait_until(lambda: handle.job().progress_current == 2)
    gate.open()
    assert handle.wait(30).result == "passed"


def test_at_the_end_of_a_job(proxy, runner, ways, committed):
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    proxy.fall_silent_at(b"finish_job", ways)
    gate.open()
    speak_again(proxy)

    assert handle.wait(30).result == "passed"
    wait_until(lambda: runner._bodies.busy == 0)
    ends = [e for e in sql.list_events(committed.conn, handle.uuid) if e.to_status.terminal]
    assert [event.to_status for event in ends] == [JobStatus.SUCCEEDED]


def test_at_a_beat(proxy, ways, committed):
    """The old session may hold the lease for long; the beats of the new one count."""
    sql.configure(committed.conn, runner_beat="50 ms", runner_grace="5 s")
    with Runner(proxy.url(connect_timeout=2), grace=5, poll_interval=0.05) as runner:
        gate = Gate()
        handle = runner.spawn("test", gate)
        gate.wait_entered()
        proxy.fall_silent_at(b"keep_runner", ways)
        speak_again(proxy)

        before = sql.list_runners(committed.conn)[0].seen_at
        wait_until(lambda: sql.list_runners(committed.conn)[0].seen_at > before)
        assert sql.maintain(committed.conn).orphaned == 0
        gate.open()
        assert handle.wait(30).result == "passed"
        assert [row.alive for row in sql.list_runners(committed.conn)] == [True]


@pytest.mark.parametrize("statement", [b"claim_jobs", b"COMMIT"], ids=["claim", "commit"])
def test_at_a_claim(proxy, runner, ways, committed, ledger, monkeypatch, statement):
    """A transaction that the server can't hear the end of holds its jobs for a moment only."""
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("test")(lambda progress: progress.attempt)
    stop = threading.Event()
    thread = threading.Thread(target=Worker(runner, poll_interval=0.05).run, args=[stop])
    thread.start()
    first = ledger.enqueue(committed.conn, "test")
    wait_until(lambda: sql.find_job(committed.conn, first.uuid).status.terminal)

    proxy.fall_silent_at(statement, ways)
    jobs = [ledger.enqueue(committed.conn, "test").uuid for _ in range(3)]
    speak_again(proxy)

    for job in jobs:
        wait_until(lambda job=job: sql.find_job(committed.conn, job).result == 1)
    stop.set()
    thread.join(20)


def test_a_start_gives_up_in_time(proxy, database, ways):
    """The database accepts the connection and says nothing."""
    proxy.fall_silent(ways)
    with pytest.raises(psycopg.OperationalError):
        Runner(proxy.url(connect_timeout=2)).start()

    proxy.listen()
    with Runner(proxy.url(connect_timeout=2)) as runner:
        assert runner.spawn("test", lambda progress: 1).wait(20).result == 1


def test_a_body_that_outlasts_the_silence_loses_nothing(proxy, runner, committed):
    """Silence in the middle, longer than every limit of the runner, and speech again."""
    gates = [Gate() for _ in range(3)]
    handles = [runner.spawn("test", gate) for gate in gates]
    for gate in gates:
        gate.wait_entered().step(1, 3)

    proxy.fall_silent()
    for gate in gates:
        gate.progress.step(2, 3)
    gates[0].open()
    wait_until(lambda: {"finish", "progress"} & runner._outage._parts)
    for gate in gates[1:]:
        gate.progress.step(3, 3)
    until = time.monotonic() + 2 * LIMIT
    wait_until(lambda: time.monotonic() > until)
    proxy.listen()
    for gate in gates[1:]:
        gate.open()

    jobs = [handle.wait(30) for handle in handles]
    assert [(job.result, job.progress_current) for job in jobs] == [
        ("passed", 2), ("passed", 3), ("passed", 3),
    ]  # fmt: skip
