"""Runners in odd places start processes all the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pycortex import JobStatus, sql
from tests.runners import ROOT


@pytest.fixture
def run_program(database, tmp_path):
    """Runs a program to its end; its first argument is the database. Gives what it wrote."""

    def run_program(program, *command, **options):
        if not command:
            path = tmp_path / "program.py"
            path.write_text(program)
            command = [path]
        done = subprocess.run(
            [sys.executable, "-W", "error", *command, database],
            **{
                "cwd": ROOT,
                "capture_output": True,
                "text": True,
                "timeout": 120,
                "check": False,
                "env": {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
                **options,
            },
        )
        return done.returncode, done.stdout, done.stderr

    return run_program


SCRIPT = """
import sys
from pycortex import Runner

def body(progress):
    progress.step(1, 1, __name__)
    return sys.argv[1:] == [progress.params["dsn"]]

class Shop:
    def open(self, progress):
        return "open"

if __name__ == "__main__":
    with Runner(sys.argv[1], isolation="process", name="script") as runner:
        print(runner.spawn("test", body, params={"dsn": sys.argv[1]}).wait(60).result)
        print(runner.spawn("test", Shop().open).wait(60).result)
"""


def test_a_body_may_be_defined_in_the_main_module(run_program):
    assert run_program(SCRIPT) == (0, "True\nopen\n", "")


def test_in_a_module_that_is_run_by_its_name(run_program, tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "jobs.py").write_text(SCRIPT)
    env = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}

    assert run_program("", "-m", "shop.jobs", env=env) == (0, "True\nopen\n", "")


UNGUARDED = SCRIPT.replace('if __name__ == "__main__":', "if True:")


def test_a_main_module_that_does_its_work_on_import_starts_no_runners_in_turn(
    run_program, committed
):
    code, output, errors = run_program(UNGUARDED)

    assert (code, output, errors) == (0, "None\nNone\n", "")
    jobs = sql.list_recent(committed.conn)
    assert [job.status for job in jobs] == [JobStatus.FAILED] * 2
    for job in jobs:
        assert job.message.startswith("its body can't be had in a process of its own: RuntimeError")
        assert 'if __name__ == "__main__"' in job.message
    assert len(sql.list_runners(committed.conn)) == 1


ELSEWHERE = """
import sys
from pycortex import Runner
from tests.isolation import bodies
with Runner(sys.argv[1], isolation="process") as runner:
    print(runner.spawn("test", bodies.count, params={"to": 3}).wait(60).result)
"""


def test_a_main_module_that_no_body_needs_is_not_imported(run_program):
    assert run_program(ELSEWHERE) == (0, "3\n", "")


def test_in_a_program_on_the_command_line(run_program):
    assert run_program("", "-c", ELSEWHERE) == (0, "3\n", "")


def test_in_a_program_from_stdin(run_program):
    assert run_program("", "-", input=ELSEWHERE) == (0, "3\n", "")


def test_a_body_of_a_program_on_the_command_line_is_refused_before_there_is_a_row(
    run_program, committed
):
    code, _, errors = run_program("", "-c", SCRIPT)

    assert code == 1
    assert "TypeError: a process of its own can't have this body: nothing can import" in errors
    assert sql.list_recent(committed.conn) == []


BROKEN = SCRIPT.replace("from pycortex", "sys.argv[2:] and sys.exit('broken')\nfrom pycortex")


def test_a_main_module_that_exits_on_import_fails_the_job(run_program, committed):
    broken = 'if __name__ != "__main__":\n    raise SystemExit("not twice")\n' + SCRIPT

    assert run_program(broken) == (0, "None\nNone\n", "")

    [job, _] = sql.list_recent(committed.conn)
    assert job.message == "its body can't be had in a process of its own: SystemExit: not twice"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_with_standard_streams_closed(database, committed, tmp_path, closed):
    path = tmp_path / "program.py"
    path.write_text(ELSEWHERE.replace("print(", "str("))

    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" "$1" "$2" {closed}', sys.executable, path, database],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        check=False,
        timeout=120,
    )

    assert done.returncode == 0
    [job] = sql.list_recent(committed.conn)
    assert (job.status, job.result) == (JobStatus.SUCCEEDED, 3)


DELETED = "import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n" + ELSEWHERE


def test_in_a_folder_that_was_deleted(run_program, tmp_path):
    code, output, _ = run_program(DELETED, cwd=tmp_path)  # Python 3.13.0 has its own troubles there

    assert (code, output) == (0, "3\n")


MASKED = """
import signal, sys, threading
from pycortex import Runner, sql
from tests.isolation import bodies
import psycopg
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
with Runner(sys.argv[1], isolation="process", kill_after=60) as runner:
    print(runner.spawn("test", bodies.look_around).wait(60).result["blocked"])
    handle = runner.spawn("test", bodies.nap)
    while handle.job().progress_current != 1:
        pass
    with psycopg.connect(sys.argv[1], autocommit=True) as conn:
        sql.cancel_job(conn, handle.uuid, hard=True)
    print(handle.wait(60).message.partition("; last")[0])
"""


def test_in_a_program_that_blocks_signals(run_program):
    """Threads that wait for signals want them blocked in all others; processes inherit that."""
    code, output, errors = run_program(MASKED)

    assert (code, errors) == (0, "")
    assert output == (
        "[10]\ncancelled on request; its process was ended by SIGTERM (exit code -15)\n"
    )


IGNORING = """
import signal, sys
from pycortex import Runner
from tests.isolation import bodies
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
with Runner(sys.argv[1], isolation="process") as runner:
    print(runner.spawn("test", bodies.count, params={"to": 3}).wait(60).result)
    print(runner.spawn("test", bodies.leave_at_once).wait(60).message)
"""

REAPING = IGNORING.replace(
    "signal.SIG_IGN",
    """lambda *_: reap()
""",
).replace(
    "signal.signal(",
    """import os
def reap():
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass
signal.signal(""",
)


@pytest.mark.parametrize("program", [IGNORING, REAPING], ids=["ignores", "waits"])
def test_in_a_program_that_takes_the_exit_codes_of_all_its_children(run_program, program):
    code, output, errors = run_program(program)

    first, second = output.splitlines()
    assert (code, first, errors) == (0, "3", "")
    assert second.startswith("its process ended")  # with its code, where that was seen in time
    assert second.endswith("last step: 2 of 5, two of five")


ORPHANS = """
import ctypes, os, subprocess, sys
from pycortex import Runner
from tests.isolation import bodies
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
with Runner(sys.argv[1], isolation="process") as runner:
    for _ in range(3):
        assert runner.spawn("test", bodies.leave_fork).wait(60).result
    shown = subprocess.check_output(["ps", "-A", "-o", "ppid=", "-o", "stat="], text=True)
    mine = [line.split() for line in shown.splitlines() if int(line.split()[0]) == os.getpid()]
    print([line for line in mine if "Z" in line[1]])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to a subreaper")
def test_the_first_process_of_a_container_keeps_no_zombies(run_program):
    assert run_program(ORPHANS) == (0, "[]\n", "")


FORKED = """
import os, sys, warnings
from pycortex import Runner
from tests.isolation import bodies
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of what is tried here
with Runner(sys.argv[1], isolation="process") as runner:
    handle = runner.spawn("test", bodies.nap)
    while handle.job().progress_current != 1:
        pass
    child = os.fork()
    if not child:
        with Runner(sys.argv[1], isolation="process") as own:
            job = own.spawn("test", bodies.where).wait(60)
            print("child", job.result["parent"] == os.getpid(), flush=True)
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print("parent", handle.job().status, flush=True)
    runner.grace = 0.2
"""


def test_a_fork_has_runners_and_bodies_of_its_own_and_ends_no_others(run_program):
    assert run_program(FORKED) == (0, "child True\nparent running\n", "")


DAEMON = """
import multiprocessing, sys
from pycortex import Runner
from tests.isolation import bodies
def work(dsn):
    with Runner(dsn, isolation="process") as runner:
        print(runner.spawn("test", bodies.count, params={"to": 3}).wait(60).result, flush=True)
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(
        target=work, args=sys.argv[1:], daemon=True
    )
    process.start()
    process.join()
"""


def test_in_a_process_that_multiprocessing_lets_have_no_children(run_program):
    assert run_program(DAEMON) == (0, "3\n", "")
