"""worker --check: whether a worker of this host lives, for health probes."""

from __future__ import annotations

import json
import os
import signal
import socket

import pytest
from psycopg.conninfo import conninfo_to_dict

from pycortex import health
from tests.cli.conftest import ended
from tests.faults.proxy import Proxy
from tests.servers import free_port
from tests.sql.logins import login
from tests.waiting import wait_until


def check(cli, *arguments, code):
    result = cli("worker", "--check", *arguments)
    assert result.exit_code == code, result.output
    return result.stdout


def check_json(cli, *arguments, code):
    return json.loads(check(cli, "--json", *arguments, code=code))


@pytest.fixture
def here(committed):
    """Registers a runner of this host: here("worker", silent_for="1 minute")."""
    return lambda name="worker", **columns: committed.make_runner(
        name=name, host=socket.gethostname(), **columns
    )


def test_finds_a_running_worker_by_the_default_name(cli, worker):
    process = worker()

    said = check(cli, code=0)

    assert len(said.splitlines()) == 1
    assert f"pid {process.pid} on {socket.gethostname()}" in said


def test_no_longer_finds_a_worker_that_said_goodbye(cli, worker):
    process = worker()
    process.send_signal(signal.SIGTERM)
    assert ended(process) == 0

    assert "goodbye" in check(cli, code=1)


def test_no_longer_finds_a_worker_that_is_frozen_though_it_holds_its_lease(cli, worker, committed):
    process = worker()
    process.send_signal(signal.SIGSTOP)
    try:
        committed.conn.execute("update cortex.runner set seen_at = seen_at - interval '1 minute'")
        [alive] = committed.conn.execute("select alive from cortex.runners").fetchone()

        said = check(cli, code=1)
    finally:
        process.send_signal(signal.SIGCONT)

    assert alive
    assert "its grace is 30 s" in said


def test_says_that_nobody_was_ever_there(cli):
    assert "no runner worker" in check(cli, code=1)


def test_says_how_long_a_runner_has_been_silent(cli, here):
    here(silent_for="2 minutes")

    assert "heard of 120 s ago" in check(cli, code=1)


def test_asks_for_a_runner_by_the_name_that_it_was_given(cli, here):
    here("one")

    assert check(cli, "--name", "one", code=0)
    assert check(cli, "--name", "two", code=1)
    assert check(cli, code=1)


def test_takes_the_name_from_the_environment_as_the_worker_does(cli, worker, monkeypatch):
    worker(env={"PYCORTEX_WORKER_NAME": "blue"})
    assert check(cli, code=1)

    monkeypatch.setenv("PYCORTEX_WORKER_NAME", "blue")

    assert "runner blue" in check(cli, code=0)


def test_takes_no_runner_of_another_host_for_its_own(cli, committed):
    committed.make_runner(name="worker", host="elsewhere.invalid")

    assert check(cli, code=1)


def test_is_content_when_one_of_several_lives(cli, here):
    here(silent_for="2 minutes")
    here()
    here(retired_at="2020-01-01 00:00:00+00")

    assert check(cli, code=0)


def test_prints_what_it_found_as_json(cli, here, committed):
    runner = here(pid=7)
    committed.conn.execute("select cortex.claim_jobs(%s, '{a,b}')", [runner])

    found = check_json(cli, code=0)

    [beat] = found["runners"]
    assert (found["healthy"], found["host"], found["name"]) == (
        True,
        socket.gethostname(),
        "worker",
    )
    assert (beat["uuid"], beat["pid"], beat["kinds"]) == (str(runner), 7, ["a", "b"])
    assert 0 <= beat["seconds_since_beat"] < 30


def test_prints_the_reason_as_json(cli):
    found = check_json(cli, code=1)

    assert (found["healthy"], found["runners"]) == (False, [])
    assert "no runner worker" in found["reason"]


def test_leaves_with_3_when_the_database_is_out_of_reach(cli, here):
    here()

    result = cli("--database-url", f"postgresql://127.0.0.1:{free_port()}/x", "worker", "--check")

    assert result.exit_code == 3
    assert "out of reach" in result.stderr


def test_leaves_with_3_when_the_database_says_nothing(database, pycortex):
    """H03: within its limit, whatever the time limits of the connection are."""
    proxy = Proxy(database)
    proxy.fall_silent()
    try:
        result = pycortex("--database-url", proxy.url(connect_timeout=600), "worker", "--check")
    finally:
        proxy.close()

    assert result.returncode == 3
    assert "no answer within" in result.stderr


def test_starts_no_worker_and_imports_no_app(cli, here, committed):
    here()

    check(cli, "--app", "nosuch", "--kinds", "nosuch", code=0)

    assert committed.conn.execute("select count(*) from cortex.runner").fetchone() == (1,)


def test_needs_only_the_right_to_read(server, database, cli, here):
    here()

    with login(server, conninfo_to_dict(database)["dbname"], "cortex_reader") as url:
        result = cli("--database-url", url, "worker", "--check")

    assert result.exit_code == 0


def test_refuses_json_without_check(cli):
    assert cli("worker", "--json").exit_code == 2


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\udcff"])
def test_refuses_a_name_that_no_runner_can_have(cli, name):
    assert cli("worker", "--check", "--name", name).exit_code == 2


def test_asks_by_the_host_name_that_the_runner_registered(database, committed, new_host):
    committed.make_runner(name="worker", host=new_host)

    assert health.probe(database, "worker").healthy
    assert not health.probe(database, "worker", host="elsewhere.invalid").healthy


@pytest.fixture
def new_host(monkeypatch):
    """A host name, as of a container."""
    monkeypatch.setattr(socket, "gethostname", lambda: "3f2a9c1d7e55")
    return "3f2a9c1d7e55"


def test_sees_a_worker_die_without_a_word(cli, worker, committed):
    process = worker()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    committed.conn.execute("update cortex.runner set seen_at = seen_at - interval '31 seconds'")

    wait_until(lambda: cli("worker", "--check").exit_code == 1, what="the lease is free")
