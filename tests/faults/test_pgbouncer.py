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
from pycortex import JobStatus, Runner, Worker, registry, sql
from tests.runners import Gate
from tests.servers import free_port, to_url
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("behind pgbouncer")


@pytest.fixture
def bouncer(database, tmp_path):
    """The URL of the database through a pgbouncer with two sessions."""
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    if not os.path.exists(program):
        pytest.skip("pgbouncer isn't installed: apt-get install pgbouncer")
    params = conninfo_to_dict(database)
    port = free_port()
    users = tmp_path / "users"
    users.write_text(f'"{params["user"]}" "{params.get("password", "")}"\n')
    config = tmp_path / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n* = host={params['host']} port={params['port']}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {users}\npool_mode = transaction\n"
        "default_pool_size = 2\nmax_client_conn = 100\nserver_lifetime = 1\n"
    )
    options = {}
    if os.geteuid() == 0:  # pgbouncer refuses root
        options = {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}
        tmp_path.chmod(0o755)
        for folder in tmp_path.parents:
            if folder.stat().st_uid == 0 and folder.is_relative_to("/tmp/pytest-of-root"):
                folder.chmod(0o755)
    process = subprocess.Popen(
        [program, "-q", str(config)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )
    url = to_url(params | {"host": "127.0.0.1", "port": port})

    def answers():
        assert process.poll() is None, "pgbouncer ended"
        try:
            psycopg.connect(url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    wait_until(answers)
    yield url
    process.kill()
    process.wait()


def test_jobs_run_and_the_runner_lives_by_its_beats(bouncer, committed, monkeypatch, ledger):
    """H06, H07."""
    ledger.fault()
    sql.configure(committed.conn, runner_beat="100 ms", runner_grace="3 s")
    monkeypatch.setattr(registry, "_bodies", {})
    gate = Gate()
    pycortex.job("slow")(gate)
    stop = threading.Event()
    with Runner(bouncer, poll_interval=0.05) as runner:
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
        gate.open()
        wait_until(lambda: sql.find_job(committed.conn, slow.uuid).status is JobStatus.SUCCEEDED)
        stop.set()
        thread.join(20)
    [row] = sql.list_runners(committed.conn)
    assert not row.alive
