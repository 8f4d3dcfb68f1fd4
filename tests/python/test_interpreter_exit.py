"""Runners that nobody shut down, spawns at the last moment, and forks."""

from __future__ import annotations

import subprocess
import sys
import time

from pycortex import JobStatus, sql
from tests.runners import ROOT


def run(program, *args, timeout=60):
    """Run a program to its end; gives exit code, output and errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *args],
        cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


FORGETFUL = """
import sys, threading, time, pycortex
runner = pycortex.Runner(sys.argv[1], grace=float(sys.argv[2])).start()
started = threading.Event()
def body(progress):
    started.set()
    time.sleep(float(sys.argv[3]))
    return "done"
runner.spawn("test", body)
assert started.wait(20)
"""


def test_a_forgotten_shutdown_lets_bodies_end(database, committed):
    ended = run(FORGETFUL, database, "20", "0.5")

    [job] = sql.list_recent(committed.conn)
    assert ended == (0, "", "")
    assert (job.status, job.result) == (JobStatus.SUCCEEDED, "done")


def test_a_forgotten_shutdown_with_a_hung_body_tells_the_truth_and_ends(database, committed):
    began = time.monotonic()

    ended = run(FORGETFUL, database, "0.2", "600")

    [job] = sql.list_recent(committed.conn)
    assert ended == (0, "", "")
    assert time.monotonic() - began < 200  # the body would take 600
    assert job.status is JobStatus.INTERRUPTED
    assert "shutdown" in job.message


LATE = """
import atexit, sys, threading, time, pycortex
def late():
    try:
        runner.spawn("after", lambda progress: "done")
    except RuntimeError as error:
        print(error)
atexit.register(late)  # runs after the runner's own, which is registered later
runner = pycortex.Runner(sys.argv[1]).start()
atexit.register(lambda: runner.spawn("before", lambda progress: "done"))
def linger():
    time.sleep(0.5)  # the main thread is over by now
    runner.spawn("thread", lambda progress: "done")
threading.Thread(target=linger).start()
"""


def test_a_spawn_at_interpreter_exit_runs_or_raises(database, committed):
    """C08."""
    ended = run(LATE, database)

    jobs = {job.kind: job.status for job in sql.list_recent(committed.conn)}
    assert ended == (0, "this runner is shut down\n", "")
    assert jobs == {"before": JobStatus.SUCCEEDED, "thread": JobStatus.SUCCEEDED}


FORK = """
import os, sys, warnings, pycortex
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of what is tried here
runner = pycortex.Runner(sys.argv[1]).start()
child = os.fork()
if not child:
    try:
        runner.spawn("child", lambda progress: 1)
    except RuntimeError as error:
        print("child:", error, flush=True)
    runner.shutdown()
    with pycortex.Runner(sys.argv[1]) as own:
        print("own:", own.spawn("own", lambda progress: 1).wait(20).status, flush=True)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent:", runner.spawn("parent", lambda progress: 1).wait(20).status)
"""


def test_a_forked_child_makes_a_runner_of_its_own(database, committed):
    code, output, errors = run(FORK, database)

    lines = output.splitlines()
    assert (code, errors) == (0, "")
    assert lines[0].startswith("child: this runner belongs to process ")
    assert lines[1:] == ["own: succeeded", "parent: succeeded"]
    assert {job.kind for job in sql.list_recent(committed.conn)} == {"own", "parent"}


ENDING = """
import sys, threading, time, pycortex
def refuse(self):
    raise RuntimeError("can't create new thread at interpreter shutdown")
runner = pycortex.Runner(sys.argv[1]).start()
threading.Thread.start = refuse  # as Python 3.12 and newer do
def body(progress):
    for n in range(1, 4):
        progress.step(n, 3)
handle = runner.spawn("test", body)
print(handle.wait(20).progress_current)
"""


def test_a_job_at_interpreter_exit_needs_no_new_thread(database):
    """C08."""
    assert run(ENDING, database) == (0, "3\n", "")
