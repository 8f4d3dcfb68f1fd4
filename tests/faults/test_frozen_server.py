"""A server that is there, acknowledges everything, and does nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from pycortex import JobStatus, Runner, sql
from tests.runners import Gate
from tests.servers import to_url
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.fault("server frozen"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc"),
]


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    """The runner's own limits, so that a test can wait for them."""
    for name in ("_pool.CALL_LIMIT", "_pool.OPEN_LIMIT", "_steps.LIMIT", "_lease.LIMIT"):
        monkeypatch.setattr(f"pycortex.{name}", 1.0)
    monkeypatch.setattr("pycortex._watch.GLANCE", 0.05)


class Ice:
    """Stops every process of a server, and lets them go on."""

    def __init__(self, server, ledger):
        self.server, self.ledger = server, ledger

    def pids(self):
        main = int((self.server.data / "postmaster.pid").read_text().split()[0])
        return [main, *(pid for pid, parent in _parents() if parent == main)]

    def freeze(self):
        self.ledger.fault()
        self._signal(signal.SIGSTOP)

    def thaw(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _parents():
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                yield int(folder.name), int(fields[1])


@pytest.fixture
def ice(own_server, ledger):
    ice = Ice(own_server, ledger)
    yield ice
    ice.thaw()


@pytest.fixture
def conninfo(own_database):
    return to_url(psycopg.conninfo.conninfo_to_dict(own_database) | {"connect_timeout": 2})


@pytest.fixture
def runner(conninfo, ice):
    runner = Runner(conninfo, grace=0.2, poll_interval=0.05).start()
    yield runner
    ice.thaw()
    runner.shutdown(0)


@pytest.fixture
def gate(runner):
    gate = Gate()
    gate.handle = runner.spawn("test", gate)
    gate.wait_entered().step(1, 3)
    yield gate
    gate.open()


def test_bodies_go_on_and_ends_are_written_when_it_thaws(ice, runner, gate):
    """H03."""
    ice.freeze()
    gate.progress.step(2, 3)
    gate.progress.step(3, 3)
    gate.open()
    wait_until(lambda: "finish" in runner._outage._parts)
    ice.thaw()

    job = gate.handle.wait(30)
    assert (job.status, job.result, job.progress_current) == (JobStatus.SUCCEEDED, "passed", 3)


def test_a_spawn_raises_or_there_is_a_job(ice, runner):
    runner.spawn("test", lambda progress: 1).wait(20)
    ice.freeze()
    outcome = []

    def spawn():
        try:
            outcome.append(runner.spawn("test", lambda progress: 2).wait(60).result)
        except psycopg.OperationalError as error:
            outcome.append(type(error))

    thread = threading.Thread(target=spawn)
    thread.start()
    thread.join(30)  # by its own limits, while nothing answers
    assert not thread.is_alive()

    assert issubclass(outcome[0], psycopg.OperationalError)
    ice.thaw()
    assert runner.spawn("test", lambda progress: 3).wait(20).result == 3


def test_a_shutdown_ends_within_its_grace(ice, runner, gate, conninfo):
    """C10."""
    ice.freeze()
    left = threading.Thread(target=runner.shutdown)
    left.start()
    left.join(60)  # of its own accord, with nobody answering
    assert not left.is_alive()
    assert runner._gone

    ice.thaw()
    gate.open()
    wait_until(lambda: gate.handle.job().result == "passed")


def test_a_worker_process_that_is_told_to_end_ends(
    ice, own_server, conninfo, make_runner_process, ledger, tmp_path
):
    """C10."""
    process = make_runner_process(
        [sys.executable, "-m", "pycortex", "--database-url", conninfo, "worker"],
        "--app", "tests.faults.app", "--kinds", "hold", "--grace", "0.2",
    )  # fmt: skip
    with psycopg.connect(conninfo, autocommit=True) as conn:
        job = ledger.enqueue(conn, "hold", params={"until": str(tmp_path / "until")}).uuid
        wait_until(lambda: sql.find_job(conn, job).message == "holding")

    ice.freeze()
    ledger.signal(process, signal.SIGTERM)

    assert process.wait(60) == 0
    ice.thaw()
    with psycopg.connect(conninfo, autocommit=True) as conn:
        sql.configure(conn, runner_beat="100 ms", runner_grace="300 ms")
        wait_until(lambda: sql.maintain(conn) and sql.find_job(conn, job).status.terminal)
        assert sql.find_job(conn, job).status is JobStatus.INTERRUPTED
