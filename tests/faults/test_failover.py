"""The primary is one no more: for a while, or for ever, with another in its place."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

import pycortex
from pycortex import JobStatus, Runner, Worker, registry, sql
from pycortex.install import install
from tests.runners import Gate
from tests.servers import LocalServer, Unavailable
from tests.servers import own_server as new_server
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("failover")


class ReadOnly:
    """Lets the whole server only read, for sessions that there are and for new ones."""

    def __init__(self, server, ledger):
        self.server, self.ledger = server, ledger

    def begin(self):
        self.ledger.fault()
        self._set("on")

    def end(self):
        self._set("off")

    def _set(self, value):
        self.server.execute(f"alter system set default_transaction_read_only = {value}")
        self.server.execute("select pg_reload_conf()")
        with self.server.connect() as conn:
            shown = "show default_transaction_read_only"
            wait_until(lambda: conn.execute(shown).fetchone() == (value,))


@pytest.fixture
def read_only(own_server, ledger):
    read_only = ReadOnly(own_server, ledger)
    yield read_only
    read_only.end()


@pytest.fixture
def runner(own_database, read_only):
    with psycopg.connect(own_database, autocommit=True) as conn:
        sql.configure(conn, runner_beat="50 ms", runner_grace="1 s")
    runner = Runner(own_database, grace=5, poll_interval=0.05).start()
    yield runner
    read_only.end()
    runner.shutdown(0)


@pytest.fixture
def gate(runner):
    gate = Gate()
    gate.handle = runner.spawn("test", gate)
    gate.wait_entered()
    yield gate
    gate.open()


def test_a_runner_outlasts_a_server_that_only_reads_for_longer_than_its_grace(
    runner, gate, read_only, own_database
):
    """H12. Its session keeps the lease meanwhile, and whoever looks first afterwards sees it."""
    gate.progress.step(1, 3)
    read_only.begin()
    gate.progress.step(2, 3)
    wait_until(lambda: {"lease", "progress"} <= runner._outage._parts)
    until = time.monotonic() + 1.5
    wait_until(lambda: time.monotonic() > until)
    gate.progress.step(3, 3)
    read_only.end()

    with psycopg.connect(own_database, autocommit=True) as conn:
        assert sql.maintain(conn).orphaned == 0
    wait_until(lambda: gate.handle.job().progress_current == 3)
    gate.open()
    assert gate.handle.wait(30).result == "passed"


def test_an_end_is_written_when_the_server_writes_again(runner, gate, read_only):
    read_only.begin()
    gate.open()
    wait_until(lambda: "finish" in runner._outage._parts)
    assert gate.handle.job().status is JobStatus.RUNNING
    read_only.end()

    assert gate.handle.wait(30).result == "passed"


def test_a_spawn_on_a_server_that_only_reads_raises_and_leaves_nothing(
    runner, read_only, own_database
):
    read_only.begin()
    for _ in range(runner.max_workers + 2):
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            runner.spawn("lost", lambda progress: 1)
    read_only.end()

    assert runner.spawn("test", lambda progress: 1).wait(20).result == 1
    with psycopg.connect(own_database) as conn:
        assert [job.kind for job in sql.list_recent(conn)] == ["test"]


def test_a_worker_takes_jobs_again_when_the_server_writes_again(
    runner, read_only, own_database, ledger, monkeypatch
):
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("queued")(lambda progress: progress.attempt)
    with psycopg.connect(own_database, autocommit=True) as conn:
        stop = threading.Event()
        thread = threading.Thread(target=Worker(runner, poll_interval=0.05).run, args=[stop])
        read_only.begin()
        thread.start()
        wait_until(lambda: "claim" in runner._outage._parts)
        read_only.end()

        jobs = [ledger.enqueue(conn, "queued").uuid for _ in range(5)]
        for job in jobs:
            wait_until(lambda job=job: sql.find_job(conn, job).result == 1)
    stop.set()
    thread.join(20)


class Standby(LocalServer):
    """A copy of a server, which follows it until it is promoted."""

    def __init__(self, primary: LocalServer) -> None:
        self.primary = primary
        super().__init__(primary.bindir)

    def _make_cluster(self, settings):
        self._run(
            self.bindir / "pg_basebackup", "--pgdata", str(self.data),
            "--checkpoint=fast", "--no-sync", "--dbname", self.primary.url(),
        )  # fmt: skip
        # By hand: the program writes all options that it knows, and may know more than the server,
        # whose library can be another one.
        params = self.primary.params
        (self.data / "standby.signal").touch()
        self.configure(
            unix_socket_directories=str(self.folder),
            primary_conninfo=f"host={params['host']} port={params['port']} user={params['user']}",
        )

    def promote(self):
        self._ctl("promote")


@pytest.fixture(scope="module")
def pair():
    """A primary with a standby that has everything that anybody was told."""
    try:
        primary = new_server()
    except Unavailable as reason:
        pytest.skip(str(reason))
    if not (primary.bindir / "pg_basebackup").exists():
        primary.close()
        pytest.skip("pg_basebackup isn't installed: it comes with PostgreSQL's client programs")
    primary.configure(wal_level="replica", max_wal_senders="5")
    primary.restart()
    primary.database = primary.create("app")
    install(primary.database)
    standby = Standby(primary)
    primary.execute("alter system set synchronous_standby_names = '*'")
    primary.execute("alter system set synchronous_commit = remote_apply")
    primary.execute("select pg_reload_conf()")
    with primary.connect() as conn:
        synchronous = "select from pg_stat_replication where sync_state = 'sync'"
        wait_until(lambda: conn.execute(synchronous).fetchall())
    yield primary, standby
    standby.close()
    primary.close()


def test_a_failover_loses_nothing_that_anybody_was_told(pair, ledger, monkeypatch):
    """H12: the primary crashes amid the work of many, and its standby takes over."""
    primary, standby = pair
    ports = f"{primary.params['port']},{standby.params['port']}"
    conninfo = (
        f"host=127.0.0.1,127.0.0.1 port={ports} user=postgres dbname=app"
        " target_session_attrs=read-write connect_timeout=5"
    )
    ledger.conninfo = conninfo
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("queued")(lambda progress: "taken")
    told, refused, stop, over = [], [], threading.Event(), threading.Event()
    with Runner(conninfo, max_workers=6, grace=5, poll_interval=0.05) as runner:
        worker = threading.Thread(target=Worker(runner, poll_interval=0.1).run, args=[stop])
        worker.start()
        gate = Gate()
        handle = runner.spawn("gate", gate)
        gate.wait_entered().step(1, 2)

        def spawn_on():
            while not over.is_set():
                try:
                    told.append(runner.spawn("test", lambda progress: progress.step(1, 1)))
                except psycopg.Error as error:
                    refused.append(error)
                    time.sleep(0.05)

        with ThreadPoolExecutor(2) as pool:
            spawning = [pool.submit(spawn_on) for _ in range(2)]
            wait_until(lambda: len(told) > 10)
            primary.stop("immediate")
            gate.progress.step(2, 2)
            standby.promote()
            before = len(told)
            wait_until(lambda: len(told) > before + 10)
            over.set()
            for thread in spawning:
                thread.result(30)
        gate.open()

        assert refused
        assert handle.wait(60).result == "passed"
        assert {job.wait(60).status for job in told} == {JobStatus.SUCCEEDED}
        with psycopg.connect(conninfo, autocommit=True) as conn:
            queued = ledger.enqueue(conn, "queued").uuid
            wait_until(lambda: sql.find_job(conn, queued).result == "taken")
        stop.set()
        worker.join(20)
