"""worker: claims and runs what anybody spawned, until a signal ends it."""

from __future__ import annotations

import signal

import pytest

from tests.cli.conftest import ended
from tests.faults.proxy import Proxy
from tests.servers import free_port
from tests.waiting import wait_until

APP = """
import time
import pycortex
from pathlib import Path

@pycortex.job("greet")
def greet(progress):
    progress.step(1, 1, f"hello {progress.params['name']}")
    return {"greeted": progress.params["name"]}

@pycortex.job("quick")
def quick(progress):
    while not Path("enough").exists():
        progress.step(1)
        time.sleep(0.02)

@pycortex.job("deaf")
def deaf(progress):
    progress.step(1)
    time.sleep(600)
"""


@pytest.fixture
def app(tmp_path):
    """A module with bodies in the folder in which the command runs."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("")
    (tmp_path / "shop" / "jobs.py").write_text(APP)
    return "shop.jobs"


def spawn(committed, kind, params="{}"):
    [uuid] = committed.conn.execute(
        "select uuid from cortex.spawn_job(kind => %s, params => %s)", [kind, params]
    ).fetchone()
    return uuid


def job_of(committed, uuid):
    return committed.conn.execute(
        "select status::text, message, result from cortex.jobs where uuid = %s", [uuid]
    ).fetchone()


def until(committed, uuid, *statuses):
    wait_until(lambda: job_of(committed, uuid)[0] in statuses, what=f"{uuid} is {statuses}")


def said_until(process, words):
    """What a process says up to the line with these words."""
    said = ""
    while words not in said:
        said += (line := process.stderr.readline())
        assert line, f"it ended and had said: {said}"
    return said


def test_runs_jobs_of_an_application_that_were_spawned_in_sql(worker, committed, app):
    worker("--app", app)
    uuid = spawn(committed, "greet", '{"name": "ada"}')

    until(committed, uuid, "succeeded")

    assert job_of(committed, uuid)[2] == {"greeted": "ada"}


def test_runs_the_built_in_kinds_without_being_told(worker, committed):
    worker()
    [uuid] = committed.conn.execute("select uuid from cortex.spawn_analyze()").fetchone()

    until(committed, uuid, "succeeded")


def test_leaves_kinds_that_it_was_not_told_to_take(worker, committed, app):
    """I13"""
    worker("--app", app, "--kinds", "greet")
    other = spawn(committed, "quick")
    mine = spawn(committed, "greet", '{"name": "ada"}')

    until(committed, mine, "succeeded")

    assert job_of(committed, other)[0] == "queued"


def test_lets_a_body_finish_at_sigterm_and_leaves_with_0(worker, committed, app, tmp_path):
    process = worker("--app", app)
    uuid = spawn(committed, "quick")
    until(committed, uuid, "running")

    process.send_signal(signal.SIGTERM)
    (tmp_path / "enough").touch()

    assert ended(process) == 0
    assert job_of(committed, uuid)[0] == "succeeded"


def test_marks_what_outlasts_the_grace_interrupted(worker, committed, app):
    process = worker("--app", app, "--grace", "0.3")
    uuid = spawn(committed, "deaf")
    until(committed, uuid, "running")

    process.send_signal(signal.SIGTERM)

    assert ended(process) == 0
    assert job_of(committed, uuid)[0] == "interrupted"
    assert "shutdown" in job_of(committed, uuid)[1]


@pytest.mark.parametrize("busy", [True, False], ids=["with a job", "idle"])
def test_leaves_within_its_grace_though_the_database_says_nothing(
    worker, committed, app, database, busy
):
    """C10."""
    proxy = Proxy(database)
    try:
        process = worker("--app", app, "--grace", "0.5", env={"PYCORTEX_DATABASE_URL": proxy.url()})
        if busy:
            until(committed, spawn(committed, "deaf"), "running")
        proxy.fall_silent()

        process.send_signal(signal.SIGTERM)

        assert ended(process, 30) == 0
    finally:
        proxy.close()


def test_waits_for_a_database_that_is_away_and_goes_on(worker, committed, app, database):
    """H02, H09: the same process; it says so once, and takes what came meanwhile."""
    proxy = Proxy(database)
    try:
        process = worker("--app", app, env={"PYCORTEX_DATABASE_URL": proxy.url(connect_timeout=2)})
        proxy.fall_silent()
        proxy.cut()
        uuid = spawn(committed, "greet", '{"name": "ada"}')
        said = [said_until(process, "can't reach the database")]

        proxy.speak()

        until(committed, uuid, "succeeded")
        said.append(said_until(process, "the database answers again"))
        process.send_signal(signal.SIGTERM)
        assert ended(process) == 0
    finally:
        proxy.close()
    assert "".join(said).count("can't reach the database") == 1


def test_leaves_with_130_at_ctrl_c(worker):
    process = worker()

    process.send_signal(signal.SIGINT)

    assert ended(process) == 130


def test_leaves_at_once_at_a_second_signal(worker, committed, app):
    process = worker("--app", app, "--grace", "60")
    uuid = spawn(committed, "deaf")
    until(committed, uuid, "running")
    process.send_signal(signal.SIGTERM)
    said_until(process, "once more")

    process.send_signal(signal.SIGTERM)

    assert ended(process, 10) == 128 + signal.SIGTERM


def test_takes_the_kinds_of_several_apps(worker, committed, app, tmp_path):
    (tmp_path / "other.py").write_text(
        'import pycortex\n\n@pycortex.job("shout")\ndef shout(progress):\n    return "HO"\n'
    )
    worker("--app", app, "--app", "other")
    one = spawn(committed, "greet", '{"name": "ada"}')
    two = spawn(committed, "shout")

    until(committed, one, "succeeded")
    until(committed, two, "succeeded")


@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_writes_a_line_for_each_event_whatever_a_body_raises(
    worker, committed, tmp_path, isolation
):
    """E03, E07, E13: a forged line stays part of the event that it belongs to."""
    (tmp_path / "forger.py").write_text(
        "import pycortex\n\n@pycortex.job('forge')\ndef forge(progress):\n"
        "    raise ValueError('x\\n2026-01-01T00:00:00+0000 info job succeeded\\x1b[2J\\udcff'\n"
        "                     + 'x' * 10_000_000)\n"
    )
    process = worker("--app", "forger", "--isolation", isolation)
    uuid = spawn(committed, "forge")
    until(committed, uuid, "failed")
    process.send_signal(signal.SIGTERM)

    _, log = process.communicate(timeout=60)

    events = [line for line in log.splitlines() if not line.startswith("    ")]
    assert [line.split()[1:4] for line in events if str(uuid) in line] == [
        ["info", "job", "claimed:"],
        ["info", "job", "started:"],
        ["error", "job", "failed:"],
    ]
    assert not [line for line in events if line.startswith("2026-01-01")]
    assert "\\x1b" in log
    assert "\x1b" not in log
    assert "    Traceback (most recent call last):" in log.splitlines()
    assert len(log) < 40_000


def test_drains_the_queue_and_leaves_with_0(pycortex, committed, app):
    jobs = [spawn(committed, "greet", '{"name": "Bob"}') for _ in range(5)]

    done = pycortex("worker", "--app", app, "--drain")

    assert done.returncode == 0
    assert {job_of(committed, job)[0] for job in jobs} == {"succeeded"}


def test_leaves_with_3_when_the_database_is_out_of_reach_at_the_start(cli):
    result = cli("--database-url", f"postgresql://127.0.0.1:{free_port()}/x", "worker")

    assert result.exit_code == 3
    assert "out of reach" in result.stderr


@pytest.mark.parametrize("name", ["nosuch", "shop.nosuch"])
def test_refuses_a_module_that_is_not_there(pycortex, app, name):
    result = pycortex("worker", "--app", name)

    assert result.returncode == 2
    assert "no module named" in result.stderr


def test_says_in_a_sentence_what_is_wrong_in_a_module(pycortex, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")

    result = pycortex("worker", "--app", "broken")

    assert result.returncode == 1
    assert "ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr


def test_refuses_a_kind_that_nothing_registers(pycortex):
    result = pycortex("worker", "--kinds", "nosuch")

    assert result.returncode == 2
    assert "'nosuch'" in result.stderr


def test_refuses_a_kind_registered_twice(pycortex, app, tmp_path):
    """I13"""
    (tmp_path / "again.py").write_text(APP)

    result = pycortex("worker", "--app", app, "--app", "again")

    assert result.returncode == 1
    assert "'greet'" in result.stderr


@pytest.mark.parametrize("number", ["0", "-1", "x"])
def test_refuses_a_concurrency_that_is_none(cli, number):
    assert cli("worker", "--concurrency", number).exit_code == 2


def test_puts_the_signal_handlers_back(cli, monkeypatch):
    """N12"""
    from pycortex.cli import worker as module

    monkeypatch.setattr(module.Worker, "run", lambda self, stop: None)
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    assert cli("worker").exit_code == 0

    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
