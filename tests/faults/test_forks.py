"""Applications that fork with a runner in them, and spawns while the interpreter ends."""

from __future__ import annotations

import os
import signal

import pytest

from pycortex import JobStatus, sql
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("forks, interpreter's end")

HEAD = """
import atexit, multiprocessing, os, sys, threading, time, warnings, weakref
import psycopg, pycortex
from tests.faults.ledger import main_journal
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of what is tried here
journal = main_journal()
URL = sys.argv[1]
entered, opened = threading.Event(), threading.Event()
def gate(progress):
    progress.step(1, 3)
    entered.set()
    assert opened.wait(60)
    progress.step(2, 3)
    return "passed"
def spawn(runner, kind, body):
    handle = runner.spawn(kind, journal.body(body))
    journal.acknowledged(handle.uuid)
    return handle
def run_child(work):
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0, "the child failed"
"""


@pytest.fixture
def run(make_runner_process, database, ledger):
    """Runs a program to its end; gives what it printed."""

    def run(program):
        ledger.fault()
        process = make_runner_process(HEAD + program, database)
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
        return output.splitlines()

    return run


@pytest.fixture
def jobs(committed):
    return lambda: {job.kind: (job.status, job.result) for job in sql.list_recent(committed.conn)}


PASSED = (JobStatus.SUCCEEDED, "passed")


def test_a_child_that_comes_and_goes_costs_the_parent_nothing(run, jobs):
    run("""
with pycortex.Runner(URL) as runner:
    handle = spawn(runner, "gate", gate)
    entered.wait()
    for _ in range(5):
        run_child(lambda: None)
    opened.set()
    assert handle.wait(30).progress_current == 2
""")

    assert jobs() == {"gate": PASSED}


def test_a_child_that_leaves_by_the_front_door_says_no_goodbye_for_the_parent(run, jobs):
    """It runs exit handlers, and leaves the block of the runner."""
    run("""
with pycortex.Runner(URL) as runner:
    handle = spawn(runner, "gate", gate)
    entered.wait()
    child = os.fork()
    if not child:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert handle.job().status == "running"
    opened.set()
    assert handle.wait(30).result == "passed"
""")

    assert jobs() == {"gate": PASSED}


def test_a_child_that_spawns_with_the_parents_runner_is_refused(run, jobs):
    output = run("""
def spawn_there():
    try:
        runner.spawn("child", lambda progress: 1)
    except RuntimeError as error:
        print(error, flush=True)
with pycortex.Runner(URL) as runner:
    handle = spawn(runner, "gate", gate)
    entered.wait()
    run_child(spawn_there)
    opened.set()
    handle.wait(30)
""")

    assert len(output) == 1
    assert "belongs to process" in output[0]
    assert jobs() == {"gate": PASSED}


def test_a_child_may_ask_and_wait_for_the_parents_job(run, jobs):
    """The connections of the parent are none of its own."""
    output = run("""
def ask():
    for _ in range(200):
        assert handle.job().status == "running"
    os.write(writer, b".")
    print(handle.wait(30).status, flush=True)
reader, writer = os.pipe()
def open_later():
    os.set_blocking(reader, False)
    while True:
        assert handle.job().status == "running"  # at the same time as the child
        try:
            os.read(reader, 1)
        except BlockingIOError:
            continue
        break
    opened.set()
with pycortex.Runner(URL) as runner:
    handle = spawn(runner, "gate", gate)
    entered.wait()
    for _ in range(5):
        assert handle.job().status == "running"  # so that there are connections to inherit
    threading.Thread(target=open_later).start()
    run_child(ask)
    for _ in range(5):
        assert handle.job().status == "succeeded"
""")

    assert output == ["succeeded"]
    assert jobs() == {"gate": PASSED}


def test_a_child_may_step_for_the_parents_job(run, jobs):
    """As a body does that shares its work among processes."""
    run("""
def body(progress):
    progress.step(0, 4)
    for n in (1, 2, 3):
        run_child(lambda: progress.step(n, 4, "child", flush=True))
        assert handle.job().progress_current == n, handle.job()
    progress.step(4, 4)
    return "passed"
with pycortex.Runner(URL) as runner:
    ready = threading.Event()
    handle = spawn(runner, "gate", lambda progress: ready.wait() and body(progress))
    ready.set()
    job = handle.wait(30)
    assert (job.status, job.progress_current) == ("succeeded", 4), job
""")

    assert jobs() == {"gate": PASSED}


def test_a_child_has_a_runner_of_its_own(run, jobs):
    run("""
def work():
    with pycortex.Runner(URL) as own:
        assert spawn(own, "child", lambda progress: 1).wait(30).result == 1
with pycortex.Runner(URL) as runner:
    handle = spawn(runner, "gate", gate)
    entered.wait()
    run_child(work)
    opened.set()
    assert handle.wait(30).result == "passed"
""")

    assert jobs() == {"gate": PASSED, "child": (JobStatus.SUCCEEDED, 1)}


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_body_may_share_its_work_among_processes(run, jobs, method):
    """With multiprocessing, whose children end otherwise than an application's own."""
    run(f"""
def body(progress):
    context = multiprocessing.get_context({method!r})
    with context.Pool(2) as pool:
        for done, _ in enumerate(pool.imap_unordered(abs, range(-20, 0)), 1):
            progress.step(done, 20)
    return "passed"
with pycortex.Runner(URL) as runner:
    job = spawn(runner, "gate", body).wait(50)
    assert (job.status, job.progress_current) == ("succeeded", 20), job
""")

    assert jobs() == {"gate": PASSED}


def test_a_child_that_outlives_its_killed_parent_does_not_keep_the_lease(
    make_runner_process, database, committed, ledger
):
    """A01: as the children of a pool of multiprocessing do, when nobody is left to end them."""
    sql.configure(committed.conn, runner_beat="100 ms", runner_grace="300 ms")
    process = make_runner_process(
        HEAD
        + """
def body(progress):
    progress.step(0, 1)
    child = os.fork()
    if not child:
        signal.pause()
    print(child, flush=True)
    return gate(progress)
import signal
with pycortex.Runner(URL) as runner:
    spawn(runner, "gate", body).wait(60)
""",
        database,
    )
    child = int(process.stdout.readline())
    try:
        ledger.signal(process, signal.SIGKILL)
        process.wait()

        wait_until(lambda: sql.maintain(committed.conn).orphaned == 1, 10)
        os.kill(child, 0)  # it lives
    finally:
        os.kill(child, signal.SIGKILL)


LATE = {
    "in an exit handler": "atexit.register(late)",
    "in an exit handler before the runner's": """
del runner
atexit.unregister(late)
runner = pycortex.Runner(URL)
atexit.register(late)
runner.start()
""",
    "in a thread that lives on": """
def linger():
    threading.main_thread().join()
    late()
threading.Thread(target=linger).start()
""",
    "in a finalizer": "class Thing: pass\nthing = Thing()\nweakref.finalize(thing, late)",
    "in a destructor": """
class Thing:
    def __del__(self, late=late):
        late()
thing = Thing()
""",
}


@pytest.mark.parametrize("place", LATE.values(), ids=LATE)
def test_a_spawn_at_the_interpreters_end_runs_or_raises(run, committed, place):
    """C08."""
    output = run(f"""
runner = pycortex.Runner(URL).start()
def late(print=print, journal=journal):
    try:
        handle = runner.spawn("late", journal.body(lambda progress: "passed"))
    except RuntimeError as error:
        print("refused", flush=True)
    else:
        journal.acknowledged(handle.uuid)
        print("accepted", flush=True)
{place}
""")

    rows = [(job.kind, job.status) for job in sql.list_recent(committed.conn)]
    expected = {"accepted": [("late", JobStatus.SUCCEEDED)], "refused": []}
    assert rows == expected[output[0]]
