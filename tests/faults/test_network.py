"""A network that swallows packets, cuts connections, and loses answers."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

import pycortex
from pycortex import JobStatus, Runner, Worker, registry, sql
from tests.faults.proxy import Proxy
from tests.runners import Gate
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("network cut or silent")


def wait_for_success(conn, job):
    wait_until(lambda: sql.find_job(conn, job).status is JobStatus.SUCCEEDED)


@pytest.fixture
def proxy(database):
    proxy = Proxy(database)
    yield proxy
    proxy.close()


@pytest.fixture
def runner(proxy):
    # Limits that a test can wait for; the defaults are tested with the connection strings.
    runner = Runner(
        proxy.url(tcp_user_timeout=1000, connect_timeout=2, keepalives_idle=1,
                  keepalives_interval=1, keepalives_count=2),
        grace=0.2, poll_interval=0.05,
    )  # fmt: skip
    yield runner.start()
    proxy.speak()
    runner.shutdown(0)
    assert runner._lease._over.wait(30)
    wait_until(lambda: not runner._bodies.busy)  # what ends only now is written too


def test_a_silent_network_holds_no_body_and_a_shutdown_only_for_its_limit(proxy, runner):
    """C10, H03."""
    gate = Gate()
    runner.spawn("test", gate)
    progress = gate.wait_entered()
    progress.step(1)
    proxy.fall_silent()
    began = time.monotonic()

    for n in range(2, 20):
        progress.step(n, flush=n == 2)
    stepped = time.monotonic()
    runner.shutdown()
    ended = time.monotonic()

    assert stepped - began < 2
    assert ended - stepped < 0.2 + 5 + 1
    gate.open()


def test_connections_that_fell_silent_are_given_up_and_replaced(
    proxy, committed, monkeypatch, caplog
):
    """H03: the other side acknowledges and says nothing, for ever."""
    for place in ("_pool.CALL_LIMIT", "_pool.OPEN_LIMIT", "_steps.LIMIT", "_lease.LIMIT"):
        monkeypatch.setattr(f"pycortex.{place}", 1.0)
    sql.configure(committed.conn, runner_beat="100 ms", runner_grace="30 s")
    with Runner(proxy.url(connect_timeout=2), grace=0, poll_interval=0.05) as runner:
        gate = Gate()
        handle = runner.spawn("test", gate)
        progress = gate.wait_entered()
        progress.step(1)

        proxy.fall_silent()
        progress.step(2, flush=True)
        wait_until(lambda: "can't reach the database" in caplog.text)
        proxy.listen()  # to new connections; the old ones never speak again

        wait_until(lambda: sql.find_job(committed.conn, handle.uuid).progress_current == 2)
        before = sql.list_runners(committed.conn)[0].seen_at
        wait_until(lambda: sql.list_runners(committed.conn)[0].seen_at > before)
        gate.open()
        assert handle.wait(20).result == "passed"


def test_an_answer_that_is_lost_at_the_end_does_not_end_the_job_twice(proxy, runner, committed):
    """B08."""
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    proxy.lose_answer_to(b"finish_job")

    gate.open()

    assert proxy.lost.wait(20)
    assert handle.wait(20).result == "passed"
    wait_until(lambda: runner._bodies.busy == 0)
    ends = [e for e in sql.list_events(committed.conn, handle.uuid) if e.to_status.terminal]
    assert [event.to_status for event in ends] == [JobStatus.SUCCEEDED]


def test_an_answer_that_is_lost_at_the_start_does_not_strand_the_job(proxy, runner):
    """B09."""
    proxy.lose_answer_to(b"set_running")

    job = runner.spawn("test", lambda progress: 1).wait(20)

    assert proxy.lost.is_set()
    assert (job.status, job.attempt) == (JobStatus.SUCCEEDED, 1)


def test_a_commit_whose_answer_is_lost_is_looked_up(proxy, runner, committed):
    """A spawn either raises and there is no job, or returns and there is one."""
    runner.spawn("test", lambda progress: 1).wait(20)
    proxy.lose_answer_to(b"COMMIT")

    handle = runner.spawn("test", lambda progress: 2)

    assert proxy.lost.is_set()
    assert handle.wait(20).result == 2
    assert committed.conn.execute("select count(*) from cortex.jobs").fetchone() == (2,)


def test_a_commit_that_stays_uncertain_raises_and_its_job_is_cancelled(
    proxy, runner, committed, monkeypatch
):
    monkeypatch.setattr("pycortex._spawn.SETTLE_LIMIT", 0)
    runner.spawn("test", lambda progress: 1).wait(20)
    proxy.lose_answer_to(b"COMMIT")

    with pytest.raises(psycopg.OperationalError):
        runner.spawn("uncertain", lambda progress: 2)

    row = "select status from cortex.jobs where kind = 'uncertain'"
    wait_until(lambda: committed.conn.execute(row).fetchall() == [("cancelled",)])


def test_a_connection_that_is_cut_before_the_commit_costs_one_more_try(proxy, runner, committed):
    runner.spawn("test", lambda progress: 1).wait(20)
    proxy.lose_answer_to(b"spawn_job")

    handle = runner.spawn("test", lambda progress: 2)

    assert proxy.lost.is_set()
    assert handle.wait(20).result == 2
    assert committed.conn.execute("select count(*) from cortex.jobs").fetchone() == (2,)


def test_a_claim_whose_answer_is_lost_strands_no_job(proxy, runner, committed, monkeypatch, ledger):
    """B09."""
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("test")(lambda progress: 1)
    stop = threading.Event()
    thread = threading.Thread(target=Worker(runner, poll_interval=0.1).run, args=[stop])
    thread.start()
    uuids = []
    for _ in range(5):
        proxy.lost.clear()
        proxy.lose_answer_to(b"COMMIT")
        uuids.append(ledger.enqueue(committed.conn, "test").uuid)
        assert proxy.lost.wait(20)

    for uuid in uuids:
        wait_for_success(committed.conn, uuid)
    stop.set()
    thread.join(20)
    assert {sql.find_job(committed.conn, uuid).attempt for uuid in uuids} == {1}


def test_all_connections_cut_at_once_cost_nothing(proxy, runner):
    gate = Gate()
    handle = runner.spawn("test", gate)
    progress = gate.wait_entered()
    progress.step(1)

    for n in range(2, 6):
        proxy.cut()
        progress.step(n)
    gate.open()

    job = handle.wait(20)
    assert (job.status, job.progress_current) == (JobStatus.SUCCEEDED, 5)


@pytest.mark.fault("failover")
def test_a_primary_that_is_one_no_more_is_left_for_the_new_one(runner, proxy, committed):
    """H12."""
    [name] = committed.conn.execute("select current_database()").fetchone()
    read_only = f"alter database {name} set default_transaction_read_only = "
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    committed.conn.execute(read_only + "on")
    proxy.cut()
    gate.open()
    wait_until(lambda: "finish" in runner._outage._parts)

    committed.conn.execute(read_only + "off")

    assert handle.wait(20).result == "passed"
