"""What a job in a process of its own leaves behind: nothing."""

from __future__ import annotations

import os
import threading

from pycortex import JobStatus, sql
from tests.isolation import bodies
from tests.isolation.processes import children, wait_at_it
from tests.waiting import wait_until

JOBS = 50
SESSIONS = 1 + 4 + 4
"""A runner's with four places, at most: its lease, and its pool."""


def test_fifty_jobs_leave_no_file_no_session_no_thread_and_no_process(new_runner, committed):
    runner = new_runner(max_workers=4)
    spawn = [bodies.where, bodies.leave_at_once, bodies.give_up, bodies.session_name, bodies.leave]
    for handle in [runner.spawn("test", body) for body in spawn]:
        handle.wait(60)
    before = measure()

    handles = [runner.spawn("test", spawn[number % len(spawn)]) for number in range(JOBS)]
    for handle in handles:
        handle.wait(120)

    files, threads, processes = before
    wait_until(
        lambda: (
            (now := measure())[0] <= files + SESSIONS
            and now[1] <= threads + 1
            and now[2] <= processes
        ),
        what=f"no more than {before}",
    )
    wait_until(lambda: sessions(committed) <= SESSIONS)


def sessions(committed):
    query = (
        "select count(*) from pg_stat_activity"
        " where datname = current_database() and application_name like 'pycortex %'"
    )
    return committed.conn.execute(query).fetchone()[0]


def measure():
    return (len(os.listdir("/dev/fd")), threading.active_count(), len(children(os.getpid())))


def test_a_child_has_no_file_of_its_runner(new_runner):
    runner = new_runner()
    few = runner.spawn("test", bodies.look_around).wait(60).result["fds"]
    kept = [open(os.devnull) for _ in range(50)]  # noqa: SIM115 - kept open on purpose

    many = runner.spawn("test", bodies.look_around).wait(60).result["fds"]

    assert many == few
    for file in kept:
        file.close()


def test_an_idle_runner_keeps_no_process_of_a_body(run):
    run(bodies.where)

    assert not [command for command in children(os.getpid()).values() if "pycortex job" in command]


def test_a_runner_that_only_has_threads_starts_no_process(make_runner_process, database):
    program = make_runner_process(
        "import sys, pycortex, subprocess, os\n"
        "with pycortex.Runner(sys.argv[1]) as runner:\n"
        "    runner.spawn('test', lambda progress: 1).wait(60)\n"
        "    print(subprocess.run(['ps', '--ppid', str(os.getpid()), '-o', 'comm='],"
        " capture_output=True, text=True).stdout.split())\n",
        database,
    )
    out, err = program.communicate(timeout=60)

    assert (out, err) == ("['ps']\n", "")


def test_sessions_of_a_killed_process_end(impatient, committed):
    handle = impatient.spawn("test", bodies.nap_deaf_with_session)
    [_, backend] = wait_at_it(handle)
    query = "select count(*) from pg_stat_activity where pid = %s"
    assert committed.conn.execute(query, [backend]).fetchone() == (1,)

    sql.cancel_job(committed.conn, handle.uuid, hard=True)

    assert handle.wait(60).status is JobStatus.CANCELLED
    wait_until(lambda: committed.conn.execute(query, [backend]).fetchone() == (0,))
