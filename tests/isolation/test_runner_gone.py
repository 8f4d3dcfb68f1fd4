"""No process of a body outlives its runner, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from pycortex import JobStatus, _watchman, sql
from tests.isolation.processes import children, ended
from tests.runners import ROOT
from tests.waiting import wait_until


@pytest.fixture
def start(database):
    """Starts a program of tests.isolation.programs; gives it, and its bodies' processes."""
    programs = []

    def start(name, body="nap"):
        program = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.isolation.programs", name, database, body],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        programs.append(program)
        line = program.stdout.readline()
        assert line, program.stderr.read()
        return program, [int(word) for word in line.split()]

    yield start
    for program in programs:
        program.kill()
        program.communicate()


@pytest.mark.parametrize(
    "body", ["nap_deaf", "spin", "hold_the_gil", "wait_for_deaf_program", "fork_and_nap"]
)
def test_sigkill_ends_bodies_and_what_they_have_started(start, body):
    program, pids = start("wait", body)
    helpers = children(program.pid)
    assert len(helpers) >= 3  # and who looks after them

    program.kill()

    wait_until(lambda: ended(*pids, *helpers))


def test_sigkill_ends_bodies_while_a_fork_holds_their_line_open(start):
    program, pids = start("fork_and_wait", "hold_the_gil")
    fork = int(program.stdout.readline())

    try:
        program.kill()

        wait_until(lambda: ended(*pids))
        assert not ended(fork)
    finally:
        os.kill(fork, signal.SIGKILL)


def test_leaves_what_else_the_program_has_started_alone(start):
    program, pids = start("spawn_beside")
    other = int(program.stdout.readline())

    try:
        program.kill()

        wait_until(lambda: ended(*pids))
        assert not ended(other)
    finally:
        os.kill(other, signal.SIGKILL)


def test_os_exit_ends_bodies(start):
    program, pids = start("exit_at_once", "hold_the_gil")

    program.stdin.write("\n")
    program.stdin.flush()

    assert program.wait(60) == 5
    wait_until(lambda: ended(*pids))


def watchman(program):
    [found] = [pid for pid, command in children(program.pid).items() if "_watchman" in command]
    return found


def test_bodies_end_although_somebody_killed_their_watchman_first(start):
    program, pids = start("wait", "hold_the_gil")
    first = watchman(program)

    os.kill(first, signal.SIGKILL)
    wait_until(lambda: "_watchman" in str(children(program.pid)) and watchman(program) != first)
    program.kill()

    wait_until(lambda: ended(*pids))


def test_a_watchman_hears_the_last_words_of_a_runner_that_is_gone_already():
    """The runner may die before the watchman has begun to read."""
    body = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        subprocess.run(
            [sys.executable, "-I", "-S", _watchman.__file__, str(body.pid)],  # not its parent
            input=f"+{body.pid} {_watchman.began(body.pid)}\n".encode(),
            check=True,
        )

        assert body.wait(10) == -signal.SIGKILL
    finally:
        body.kill()
        body.wait()


def test_ctrl_c_and_hangups_reach_no_body_and_no_watchman(start):
    program, pids = start("wait")

    sessions = {os.getsid(pid) for pid in [*pids, watchman(program)]}

    assert len(sessions) == 3
    assert os.getsid(program.pid) not in sessions


@pytest.mark.parametrize("name", ["forget", "end_in_thread"])
@pytest.mark.parametrize("body", ["nap", "hold_the_gil"])
def test_a_forgotten_shutdown_ends_bodies_and_says_so(start, committed, name, body):
    program, pids = start(name, body)
    helpers = children(program.pid)

    program.stdin.write("\n")
    _, err = program.communicate(timeout=120)

    assert (program.returncode, err) == (0, "")
    wait_until(lambda: ended(*pids, *helpers))
    jobs = sql.list_recent(committed.conn)
    assert {job.status for job in jobs} == {JobStatus.INTERRUPTED}
    assert sum("its process was ended by SIG" in job.message for job in jobs) >= 2


APP = """
import pycortex
from tests.isolation import bodies
pycortex.job("deaf", isolation="process")(bodies.hold_the_gil)
pycortex.job("nap", isolation="process")(bodies.nap)
"""


@pytest.fixture
def worker(database, tmp_path):
    """A worker of the command, with bodies in processes."""
    (tmp_path / "app_of_test.py").write_text(APP)
    program = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pycortex",
            "--database-url",
            database,
            "worker",
            "--app",
            "app_of_test",
        ],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        stderr=subprocess.PIPE,
        text=True,
    )
    yield program
    program.kill()
    program.communicate()


def wait_running(conn, job):
    found = wait_until(lambda: (j := sql.find_job(conn, job)).progress_current == 1 and j)
    return int(found.message)


def test_a_worker_told_to_end_twice_leaves_nothing_behind(worker, committed):
    job = sql.spawn_job(committed.conn, "deaf").uuid
    pid = wait_running(committed.conn, job)

    worker.send_signal(signal.SIGTERM)
    for line in worker.stderr:
        if "stopping" in line:
            break
    worker.send_signal(signal.SIGTERM)

    worker.wait(60)
    wait_until(lambda: ended(pid))


def test_a_signal_to_all_processes_at_once_interrupts_jobs(worker, committed):
    """As a service manager does; its bodies have not failed."""
    job = sql.spawn_job(committed.conn, "nap").uuid
    pid = wait_running(committed.conn, job)

    os.kill(pid, signal.SIGTERM)
    worker.send_signal(signal.SIGTERM)

    assert worker.wait(60) == 0
    found = sql.find_job(committed.conn, job)
    assert found.status is JobStatus.INTERRUPTED
    assert "SIGTERM (exit code -15), which this runner did not send" in found.message
