"""No more connections to be had: of the server, of the database, of the role, of the runner."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest
from psycopg import sql as text
from psycopg.conninfo import conninfo_to_dict

import pycortex
from pycortex import JobStatus, Runner, Worker, registry, sql
from tests.runners import Gate
from tests.servers import to_url
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("connection limits")

SLOTS = 20
"""Of the server; three of them for superusers, who can always look."""


@pytest.fixture(autouse=True, scope="module")
def few_slots(own_server):
    own_server.configure(max_connections=str(SLOTS))
    own_server.restart()


@pytest.fixture(params=["server", "database", "role"])
def crowd(request, own_server, own_database, ledger):
    """Takes all connections that there are for the application, and gives them back."""
    params = conninfo_to_dict(own_database)
    name = f"app_{params['dbname']}"
    own_server.execute(f"create role {name} login in role cortex_admin")
    if request.param == "database":
        limited = text.SQL("alter database {} connection limit 12")
        own_server.execute(limited.format(text.Identifier(params["dbname"])))
    if request.param == "role":
        own_server.execute(f"alter role {name} connection limit 12")
    crowd = Crowd(to_url(params | {"user": name}), ledger)
    yield crowd
    crowd.leave()


class Crowd:
    def __init__(self, conninfo, ledger):
        self.conninfo, self.ledger = conninfo, ledger
        self.conns = []

    def come(self):
        self.ledger.fault(not self.conns)
        with suppress(psycopg.OperationalError):
            while True:
                self.conns.append(psycopg.connect(self.conninfo))

    def leave(self):
        while self.conns:
            self.conns.pop().close()


@pytest.fixture
def runner(crowd):
    runner = Runner(crowd.conninfo, max_workers=4, grace=5, poll_interval=0.05).start()
    yield runner
    crowd.leave()
    runner.shutdown(0)


def forget_connections(runner):
    """So that whatever comes next needs a new one."""
    with runner._pool._lock:
        idle, runner._pool._idle = runner._pool._idle, []
    for _, conn in idle:
        conn.close()


def starve(crowd, runner, part):
    """Until this part of the runner has found no connection."""

    def starved():
        forget_connections(runner)
        crowd.come()
        return part in runner._outage._parts

    wait_until(starved)


def test_a_start_says_so_and_works_later(crowd):
    crowd.come()
    runner = Runner(crowd.conninfo)
    with pytest.raises(psycopg.OperationalError, match="connection"):
        runner.start()

    crowd.leave()
    with runner:
        assert runner.spawn("test", lambda progress: 1).wait(20).result == 1


def test_a_spawn_says_so_and_leaves_nothing(crowd, runner):
    def spawn_until_refused():
        while True:  # others of its threads may have one and give it back
            forget_connections(runner)
            crowd.come()
            runner.spawn("kept", lambda progress: 1)

    with pytest.raises(psycopg.OperationalError, match="connection"):
        spawn_until_refused()

    crowd.leave()
    assert runner.spawn("test", lambda progress: 1).wait(20).result == 1


def test_what_runs_ends_when_there_is_one_again(crowd, runner):
    """H14."""
    gates = [Gate() for _ in range(4)]
    handles = [runner.spawn("test", gate) for gate in gates]
    for gate in gates:
        gate.wait_entered().step(1, 2)
    forget_connections(runner)
    crowd.come()

    for gate in gates:
        gate.progress.step(2, 2)
        gate.open()
    wait_until(lambda: runner._outage._parts)
    crowd.leave()

    jobs = [handle.wait(30) for handle in handles]
    assert {(job.result, job.progress_current) for job in jobs} == {("passed", 2)}


def test_a_body_that_gets_none_fails_and_says_so(crowd, runner):
    entered, full, refused = threading.Event(), threading.Event(), threading.Event()

    def body(progress):
        entered.set()
        assert full.wait(20)
        try:
            while True:
                progress.connection(new=True)
        finally:
            refused.set()

    handle = runner.spawn("test", body)
    assert entered.wait(20)
    crowd.come()
    full.set()
    assert refused.wait(20)
    crowd.leave()

    job = handle.wait(30)
    assert job.status is JobStatus.FAILED
    assert "connection" in job.message


def test_a_worker_waits_and_takes_what_is_there(crowd, runner, own_database, ledger, monkeypatch):
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("test")(lambda progress: progress.attempt)
    stop = threading.Event()
    thread = threading.Thread(target=Worker(runner, poll_interval=0.05).run, args=[stop])
    thread.start()
    starve(crowd, runner, "claim")
    crowd.leave()
    with psycopg.connect(own_database, autocommit=True) as conn:
        jobs = [ledger.enqueue(conn, "test").uuid for _ in range(6)]

        for job in jobs:
            wait_until(lambda job=job: sql.find_job(conn, job).result == 1)
    stop.set()
    thread.join(20)


@pytest.fixture
def roomy(own_database, ledger):
    ledger.fault()
    runner = Runner(own_database, max_workers=4, grace=5, poll_interval=0.05).start()
    yield runner
    runner.shutdown(0)


def test_bodies_that_take_every_connection_still_step_and_end(roomy):
    """The pool is none of theirs; and theirs are closed before the end is written."""
    taken = threading.Event()

    def body(progress):
        with suppress(psycopg.OperationalError):
            while True:
                progress.connection(new=True)
        taken.set()
        progress.step(1, 2)
        progress.step(2, 2)
        return "greedy"

    job = roomy.spawn("test", body).wait(30)

    assert taken.is_set()
    assert (job.status, job.result, job.progress_current) == (JobStatus.SUCCEEDED, "greedy", 2)


def test_more_threads_than_connections_spawn_and_wait(roomy):
    """The runner's own connections: all are lent, and whoever comes then waits for one."""
    with ThreadPoolExecutor(40) as pool:
        handles = list(pool.map(lambda n: roomy.spawn("test", lambda progress: n), range(80)))
        jobs = list(pool.map(lambda handle: handle.wait(60), handles))

    assert [job.result for job in jobs] == list(range(80))


def test_bodies_that_spawn_and_wait_for_others_need_places_not_connections(own_database, ledger):
    ledger.fault()
    with Runner(own_database, max_workers=8, poll_interval=0.05) as runner:

        def outer(progress):
            return runner.spawn("inner", lambda inner: "deep").wait(30).result

        handles = [runner.spawn("outer", outer) for _ in range(4)]

        assert [handle.wait(30).result for handle in handles] == ["deep"] * 4
