"""watch and wait: following jobs to their end."""

from __future__ import annotations

import io
import os
import re
import signal

import pytest

from pycortex.cli._live import Bars
from pycortex.sql import find_job
from tests.cli.conftest import ended
from tests.waiting import wait_until


def finish(committed, uuid, status="succeeded", message="") -> None:
    committed.conn.execute(
        "select cortex.finish_job(job => %s, status => %s, message => %s)", [uuid, status, message]
    )


def test_wait_ends_with_0_when_every_job_succeeded(cli, committed):
    jobs = [committed.make_job("succeeded"), committed.make_job("succeeded")]

    result = cli("wait", *map(str, jobs))

    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        [str(job), "succeeded"] for job in jobs
    ]


@pytest.mark.parametrize("status", ["failed", "interrupted", "cancelled"])
def test_wait_ends_with_1_when_a_job_did_not_succeed(cli, committed, status):
    jobs = [committed.make_job("succeeded"), committed.make_job(status, message="a\nb")]

    result = cli("wait", *map(str, jobs))

    assert result.exit_code == 1
    assert f"{jobs[1]} {status} a\\nb" in result.stdout


def test_wait_gives_up_after_its_timeout(cli, committed):
    result = cli("wait", str(committed.make_job("running")), "--timeout", "0.2")

    assert result.exit_code == 1
    assert "not over within 0.2 s" in result.stderr


def test_wait_refuses_a_timeout_that_never_comes(cli, committed):
    result = cli("wait", str(committed.make_job("running")), "--timeout", "nan")

    assert result.exit_code == 2


def test_wait_waits(pycortex, committed):
    job = committed.make_job("running")
    process = pycortex.start("wait", str(job))

    wait_until(
        lambda: committed.conn.execute(
            "select from pg_stat_activity where application_name = 'pycortex wait'"
        ).fetchall(),
        what="the command is connected",
    )
    assert process.poll() is None
    finish(committed, job)

    assert ended(process) == 0
    assert str(job) in process.communicate()[0]


def test_watch_writes_lines_without_a_terminal_and_ends_with_the_job(pycortex, committed):
    """N05"""
    job = committed.make_job("running", progress_current=3, progress_total=9, message="at it")
    process = pycortex.start("watch", str(job))

    first = process.stdout.readline()
    finish(committed, job)

    assert f"{job} running test 3/9 at it" in first
    assert ended(process) == 0
    rest = process.communicate()[0]
    assert f"{job} succeeded" in rest
    assert "\x1b" not in first + rest


def test_watch_of_a_kind_leaves_the_others_out(pycortex, committed):
    job = committed.make_job("running", kind="mine")
    other = committed.make_job("running", kind="other")
    process = pycortex.start("watch", "--kind", "mine")

    process.stdout.readline()
    finish(committed, job)

    assert ended(process) == 0
    assert str(other) not in process.communicate()[0]


def test_watch_says_that_nothing_is_active(cli):
    result = cli("watch")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "no active jobs" in result.stderr


def test_watch_can_stay_when_nothing_is_active_until_it_is_interrupted(pycortex, committed):
    process = pycortex.start("watch", "--forever")
    wait_until(
        lambda: committed.conn.execute(
            "select from pg_stat_activity where application_name = 'pycortex watch'"
        ).fetchall(),
        what="the command is connected",
    )
    job = committed.make_job("running")
    assert str(job) in process.stdout.readline()

    process.send_signal(signal.SIGINT)

    assert ended(process) == 130
    assert process.communicate()[1] == ""


def test_watch_draws_bars_on_a_terminal(pycortex, committed):
    job = committed.make_job("running", progress_current=3, progress_total=9, message="at it")

    screen = pycortex.on_terminal("watch", str(job), typed=[("at it", "\x03")])

    assert "━━━━━━" in screen.text
    assert "33%" in screen.text
    assert "\x1b[" in screen.raw
    assert screen.returncode == 130
    assert "\x1b[?25h" in screen.raw, "the cursor is shown again"


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_watch_sends_no_control_sequence_where_none_is_wanted(pycortex, committed, environment):
    """N06, N05"""
    job = committed.make_job("failed", message="no luck")

    screen = pycortex.on_terminal("watch", str(job), env=environment)

    assert "\x1b" not in screen.raw
    assert "no luck" in screen.text


def test_watch_fits_forty_columns(pycortex, committed):
    job = committed.make_job("running", progress_current=3, progress_total=9, message="x" * 200)

    screen = pycortex.on_terminal("watch", str(job), size=(40, 10), typed=[("33%", "\x03")])

    assert [line for line in screen.lines if len(line) > 40] == []


def test_watch_draws_to_the_end_what_ctrl_c_would_have_cut(committed):
    """N05"""

    class Terminal(io.StringIO):
        interrupted = False

        def flush(self) -> None:
            if "33%" in self.getvalue() and not self.interrupted:
                self.interrupted = True
                os.kill(os.getpid(), signal.SIGINT)

    uuid = committed.make_job("running", progress_current=3, progress_total=9, message="x" * 200)
    job = find_job(committed.conn, uuid)
    terminal = Terminal()

    with pytest.raises(KeyboardInterrupt), Bars(terminal) as bars:
        bars.show([job])

    frames = re.split(r"[\r\n]+", terminal.getvalue())
    assert [frame.count("33%") for frame in frames if "33%" in frame] == [1, 1]


def test_watch_refuses_uuids_together_with_a_kind(cli, committed):
    assert cli("watch", str(committed.make_job()), "--kind", "test").exit_code == 2


def test_watch_outlives_a_restart_of_the_database(pycortex, own_server, own_database):
    import psycopg

    from tests.factories import make_job

    with psycopg.connect(own_database, autocommit=True) as conn:
        job = make_job(conn, "running")
    process = pycortex.start("watch", str(job), env={"PYCORTEX_DATABASE_URL": own_database})
    assert str(job) in process.stdout.readline()

    own_server.restart("fast")
    with psycopg.connect(own_database, autocommit=True) as conn:
        conn.execute("select cortex.finish_job(job => %s, status => 'succeeded')", [job])

    assert ended(process) == 0
    assert f"{job} succeeded" in process.communicate()[0]
