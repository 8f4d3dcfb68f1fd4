"""Bodies on a Dask cluster of two worker processes, one of which is lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from pycortex import JobStatus, sql
from tests.executors import bodies
from tests.executors.test_executors import hasten, sessions
from tests.waiting import wait_until

MISSING = "Dask isn't there: pip install 'pycortex-jobs[dask]'"
dask = pytest.importorskip("dask", reason=MISSING)
distributed = pytest.importorskip("distributed", reason=MISSING)


ROOT = Path(__file__).parents[2]


@contextmanager
def started(workers):
    """A cluster of processes with a thread each; one that dies is replaced, be it slowly."""
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "120s"}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def cluster():
    """Two processes with a thread each."""
    with started(2) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client of a cluster whose workers are all there, their sessions known by their pids."""
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        client.run(bodies.name_sessions)
        yield client


@pytest.fixture
def pids(client):
    """The workers' processes."""
    return set(client.run(os.getpid).values())


@pytest.fixture
def runner(client, new_runner):
    """A runner whose bodies run on the cluster."""
    return new_runner(executor=client.get_executor(), max_workers=2)


def held(signs, times=1):
    """In which process each attempt was held."""
    return [(int(pid), int(n)) for pid, n in map(str.split, signs.wait("held", times))]


def test_bodies_run_on_the_nodes(runner, pids):
    handles = [runner.spawn("test", bodies.tell_where) for _ in range(8)]

    jobs = [handle.wait(60) for handle in handles]

    assert {job.status for job in jobs} == {JobStatus.SUCCEEDED}
    assert {(job.progress_current, job.progress_total, job.message) for job in jobs} == {(2, 2, "")}
    assert {job.result["pid"] for job in jobs} == pids
    assert os.getpid() not in pids
    assert len({job.result["backend"] for job in jobs}) == 8


def test_each_body_steps_from_its_node(runner, pids, signs, committed):
    handles = [runner.spawn("test", bodies.hold, params=signs.params) for _ in range(2)]
    assert {pid for pid, _ in held(signs, 2)} == pids

    writers = committed.conn.execute(
        "select application_name from pg_stat_activity"
        " where query like '%cortex.step%' and pid <> pg_backend_pid()"
        " and datname = current_database()"
    ).fetchall()

    assert sorted(writers) == sorted((f"place {pid}",) for pid in pids)
    before = [handle.job().progress_current for handle in handles]
    for handle, count in zip(handles, before, strict=True):
        wait_until(lambda handle=handle, count=count: handle.job().progress_current > count)
    signs.give("end")
    assert {handle.wait(30).status for handle in handles} == {JobStatus.SUCCEEDED}
    wait_until(lambda: not sessions(committed.conn), 20)


def test_a_body_may_be_what_only_dask_can_carry(runner):
    base = 40

    job = runner.spawn("test", lambda progress: base + 2).wait(60)

    assert (job.status, job.result) == (JobStatus.SUCCEEDED, 42)


def test_a_body_that_dask_can_not_carry_says_why(runner, caplog):
    lock = bodies.threading.Lock()

    job = runner.spawn("test", lambda progress: lock).wait(60)

    assert job.status is JobStatus.FAILED
    assert "can't carry its body: TypeError: cannot pickle '_thread.lock'" in job.message


def test_what_a_body_raises_on_a_node_is_told_here(runner, caplog):
    job = runner.spawn("test", bodies.raise_odd).wait(60)

    assert (job.status, job.message) == (JobStatus.FAILED, "Unpicklable: odd")
    wait_until(lambda: "in raise_odd" in caplog.text)


def test_a_body_on_a_node_hears_of_its_cancellation(runner, signs, committed):
    handle = runner.spawn("test", bodies.hold, params=signs.params)
    held(signs)

    sql.cancel_job(committed.conn, handle.uuid)

    assert handle.wait(30).status is JobStatus.CANCELLED
    assert signs.see("heard") == ["JobCancelled"]


def test_a_body_that_waits_for_a_node_is_withdrawn(client, new_runner, signs, committed):
    hasten(committed.conn)
    runner = new_runner(executor=client.get_executor(), max_workers=3)
    running = [runner.spawn("test", bodies.hold, params=signs.params) for _ in range(2)]
    held(signs, 2)
    waiting = runner.spawn("test", bodies.count_once, params=signs.params)
    wait_until(lambda: waiting.job().status is JobStatus.RUNNING)

    sql.cancel_job(committed.conn, waiting.uuid)

    assert waiting.wait(30).status is JobStatus.CANCELLED
    signs.give("end")
    assert {handle.wait(30).status for handle in running} == {JobStatus.SUCCEEDED}
    assert signs.see("ran") == []


def lose_one(signs):
    """Kill the process that runs the first body; returns its number."""
    [pid, _] = held(signs)[0]
    assert pid != os.getpid()
    os.kill(pid, signal.SIGKILL)
    return pid


def test_a_lost_node_fails_the_job_whose_body_it_ran(client, runner, signs, committed):
    lost = runner.spawn("test", bodies.hold, params=signs.params)
    held(signs)
    kept = runner.spawn("test", bodies.hold, params=signs.params)
    held(signs, 2)

    lose_one(signs)

    before = kept.job().progress_current
    wait_until(lambda: kept.job().progress_current > before)
    signs.give("end")  # its node is free then to be brought what was lost
    assert kept.wait(60).status is JobStatus.SUCCEEDED
    job = lost.wait(60)
    assert job.status is JobStatus.FAILED
    assert "the executor lost its body" in job.message
    assert job.progress_current >= 1
    assert [n for _, n in held(signs)] == [1, 1]
    later = [runner.spawn("test", bodies.tell_where) for _ in range(4)]
    assert {handle.wait(120).status for handle in later} == {JobStatus.SUCCEEDED}
    wait_until(lambda: not sessions(committed.conn), 20)


def test_a_lost_body_begins_anew_elsewhere_where_its_kind_allows(runner, signs, committed):
    sql.configure_kind(committed.conn, "test", max_attempts=2, backoff="0")
    handle = runner.spawn("test", bodies.hold, params=signs.params)

    pid = lose_one(signs)

    [_, (other, attempt)] = held(signs, 2)
    assert (other != pid, attempt) == (True, 2)
    signs.give("end")
    job = handle.wait(60)
    assert (job.status, job.attempt, job.result) == (JobStatus.SUCCEEDED, 2, "held")
    assert len(held(signs)) == 2


def test_a_cluster_that_is_gone_ends_the_runner(new_runner, signs):
    with started(1) as cluster:
        client = distributed.Client(cluster)
        pids = set(client.run(os.getpid).values())
        runner = new_runner(executor=client.get_executor())
        handle = runner.spawn("test", bodies.hold, params=signs.params)
        held(signs)
    client.close()

    job = handle.wait(60)
    wait_until(lambda: runner.closing)

    assert job.status in (JobStatus.FAILED, JobStatus.INTERRUPTED)
    assert "executor" in job.message
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_the_example_in_the_docs_runs(database):
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    # What Dask says when it leaves is its own.
    done = subprocess.run(
        [sys.executable, "-c", example],
        env={"PYCORTEX_DATABASE_URL": database, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_an_import_on_a_node_parses_in_processes_of_its_own(runner, pids, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(600):
        (logs / f"{number}.log").write_text("Error:a:b c\nConversion complete: 1 error\n")
    params = {"path": str(logs), "corpus": "sample"}

    job = runner.spawn("corpus_import", bodies.import_and_count_parsers, params=params).wait(120)

    assert job.status is JobStatus.SUCCEEDED, job.message
    assert job.result["documents"] == job.result["messages"] == 600
    assert job.result["pid"] in pids
    assert job.result["parsers"] >= 1
