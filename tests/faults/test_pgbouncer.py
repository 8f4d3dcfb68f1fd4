"""Behind pgbouncer in transaction mode, where every transaction may get another session."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import threading

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import pycortex
from pycortex import JobStatus, Runner, Worker, health, registry, sql
from pycortex.install import install
from tests.runners import Gate
from tests.servers import free_port, to_url
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("behind pgbouncer")


class Bouncer:
    """A pgbouncer with two sessions, that can be killed and started again."""

    def __init__(self, conninfo, folder):
        self.program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
        if not os.path.exists(self.program):
            pytest.skip("pgbouncer isn't installed: apt-get install pgbouncer")
        params = conninfo_to_dict(conninfo)
        port = free_port()
        users = folder / "users"
        users.write_text(f'"{params["user"]}" "{params.get("password", "")}"\n')
        self.config = folder / "pgbouncer.ini"
        self.config.write_text(
            f"[databases]\n* = host={params['host']} port={params['port']}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {users}\npool_mode = transaction\n"
            "default_pool_size = 2\nmax_client_conn = 100\nserver_lifetime = 1\n"
            "server_login_retry = 1\n"
        )
        self.options = {}
        if os.geteuid() == 0:  # pgbouncer refuses root
            group = pwd.getpwnam("nobody").pw_gid
            self.options = {"user": "nobody", "group": group, "extra_groups": []}
            folder.chmod(0o755)
            for parent in folder.parents:
                if parent.stat().st_uid == 0 and parent.is_relative_to("/tmp/pytest-of-root"):
                    parent.chmod(0o755)
        self.url = to_url(params | {"host": "127.0.0.1", "port": port})
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "-q", str(self.config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self.options,
        )
        wait_until(self._answers)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def _answers(self):
        assert self.process.poll() is None, "pgbouncer ended"
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


@pytest.fixture
def bouncer(database, tmp_path):
    bouncer = Bouncer(database, tmp_path)
    yield bouncer
    bouncer.kill()


@pytest.fixture
def own_bouncer(own_database, tmp_path):
    bouncer = Bouncer(own_database, tmp_path)
    yield bouncer
    bouncer.kill()


def test_jobs_run_and_the_runner_lives_by_its_beats(bouncer, committed, monkeypatch, ledger):
    """H06, H07."""
    ledger.fault()
    sql.configure(committed.conn, runner_beat="100 ms", runner_grace="3 s")
    monkeypatch.setattr(registry, "_bodies", {})
    gate = Gate()
    pycortex.job("slow")(gate)
    stop = threading.Event()
    with Runner(bouncer.url, poll_interval=0.05) as runner:
        thread = threading.Thread(target=Worker(runner, poll_interval=0.05).run, args=[stop])
        thread.start()
        slow = ledger.enqueue(committed.conn, "slow")
        gate.wait_entered().step(1, 2)
        handles = [
            runner.spawn(
                "test", lambda progress: progress.connection().execute("select 1").fetchone()
            )
            for _ in range(30)
        ]

        assert {handle.wait(30).status for handle in handles} == {JobStatus.SUCCEEDED}
        assert sql.maintain(committed.conn).orphaned == 0
        assert [row.alive for row in sql.list_runners(committed.conn)] == [True]
        assert health.probe(bouncer.url, runner.name).healthy
        gate.open()
        wait_until(lambda: sql.find_job(committed.conn, slow.uuid).status is JobStatus.SUCCEEDED)
        stop.set()
        thread.join(20)
    [row] = sql.list_runners(committed.conn)
    assert not row.alive


def test_a_pooler_that_is_killed_and_comes_back_costs_nothing(bouncer, ledger):
    gate = Gate()
    with Runner(bouncer.url, poll_interval=0.05) as runner:
        handle = runner.spawn("test", gate)
        gate.wait_entered().step(1, 3)
        ledger.fault()
        bouncer.kill()
        with pytest.raises(psycopg.OperationalError):
            runner.spawn("lost", lambda progress: 1)
        gate.progress.step(2, 3)
        gate.open()
        wait_until(lambda: "finish" in runner._outage._parts)
        bouncer.start()

        job = handle.wait(30)
        assert (job.result, job.progress_current) == ("passed", 2)
        assert runner.spawn("test", lambda progress: 1).wait(30).result == 1


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_database_that_restarts_behind_it_costs_nothing(own_bouncer, own_server, mode):
    gate = Gate()
    with Runner(own_bouncer.url, poll_interval=0.05) as runner:
        handle = runner.spawn("test", gate)
        gate.wait_entered().step(1, 3)
        own_server.restart(mode)
        gate.progress.step(2, 3)
        gate.open()

        job = handle.wait(30)
        assert (job.result, job.progress_current) == ("passed", 2)


def test_sessions_that_bodies_have_used_up_are_waited_for(bouncer, committed, ledger):
    """Two sessions for everybody, and two bodies that keep a transaction open in each."""
    sql.configure(committed.conn, runner_beat="100 ms", runner_grace="20 s")
    opened = threading.Event()
    holding = threading.Barrier(3)

    def hog(progress):
        with progress.connection().transaction():
            progress.connection().execute("select 1")
            holding.wait(20)
            progress.step(1, 2)
            assert opened.wait(20)
        progress.step(2, 2)
        return "let go"

    with Runner(bouncer.url, poll_interval=0.05) as runner:
        hogs = [runner.spawn("test", hog) for _ in range(2)]
        ledger.fault()
        holding.wait(20)
        waiting = threading.Thread(target=lambda: found.append(hogs[0].wait(60)))
        found = []
        waiting.start()
        opened.set()

        assert {(hog.wait(30).result, hog.job().progress_current) for hog in hogs} == {
            ("let go", 2)
        }
        waiting.join(20)
        assert found[0].result == "let go"


def test_installing_and_sweeping_go_through_it_and_leave_no_lock(bouncer, committed, ledger):
    """H07: locks end with their transactions, so no session of the pool keeps one."""
    ledger.fault()
    stale = committed.make_job("running", silent_for="3 hours")
    orphan = committed.make_job("running", runner=committed.make_runner(alive=False))

    for _ in range(3):
        install(bouncer.url)
        with psycopg.connect(bouncer.url, autocommit=True, prepare_threshold=None) as conn:
            sql.maintain(conn)
            sql.reap_stale(conn)
            sql.interrupt_orphans(conn)

    for job in (stale, orphan):
        assert sql.find_job(committed.conn, job).status is JobStatus.INTERRUPTED
    assert committed.conn.execute(
        "select count(*) from pg_locks where locktype = 'advisory'"
        " and database = (select oid from pg_database where datname = current_database())"
    ).fetchone() == (0,)
