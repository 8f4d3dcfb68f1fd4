"""What the doctor says of pg_cron, wherever it lives."""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest
from click.testing import CliRunner

from pycortex.cli import main
from pycortex.doctor import Check, Level, examine
from pycortex.install import install
from pycortex.schedule import schedule
from tests.cron.conftest import HOME, local_server
from tests.cron.ownership import hand_over
from tests.servers import Unavailable
from tests.waiting import wait_until

SCHEDULER = "application_name = 'pg_cron scheduler'"


def cron_check(conninfo: str) -> Check:
    [found] = [check for check in examine(conninfo) if check.name == "pg_cron"]
    return found


def test_warns_where_the_upkeep_is_not_scheduled(apart):
    """P17"""
    found = cron_check(apart)

    assert found.level is Level.WARNING
    assert "not scheduled" in found.message
    assert "pycortex schedule" in found.hint


def test_finds_the_entry_in_the_database_where_pg_cron_lives(apart):
    schedule(apart)

    found = cron_check(apart)

    assert found.level is Level.OK
    assert "* * * * *" in found.message


def test_says_what_the_server_runs_with_not_what_its_files_say(cron_server, apart):
    """P02: the files were changed, one overriding another; the change waits for a restart."""
    schedule(apart)
    try:
        cron_server.execute("alter system set shared_preload_libraries = ''", HOME)
        cron_server.execute("select pg_reload_conf()", HOME)
        wait_until(lambda: "waits for a restart" in cron_check(apart).message)

        found = cron_check(apart)

        assert found.level is Level.OK
        assert "* * * * *" in found.message, "it still runs"
    finally:
        cron_server.execute("alter system reset shared_preload_libraries", HOME)
        cron_server.execute("select pg_reload_conf()", HOME)
    wait_until(lambda: "waits for a restart" not in cron_check(apart).message)


def test_says_what_waits_for_a_restart_where_pg_cron_is_not_loaded_yet(own_server, own_database):
    """P02"""
    own_server.execute("alter system set shared_preload_libraries = 'pg_stat_statements'")
    own_server.execute("select pg_reload_conf()")
    wait_until(lambda: "waits for a restart" in cron_check(own_database).message)

    found = cron_check(own_database)

    assert found.level is Level.WARNING
    assert "not loaded" in found.message


def test_finds_a_scheduler_that_is_not_there():
    """P14: once its process was ended, only a restart of the server brings it back."""
    try:
        own = local_server()
    except Unavailable as reason:
        pytest.skip(str(reason))
    with closing(own):
        url = own.create(HOME)
        install(url)
        own.execute("create extension pg_cron", HOME)
        schedule(url)
        with psycopg.connect(url, autocommit=True) as conn:
            runs = f"select pid from pg_stat_activity where {SCHEDULER}"
            [(pid,)] = wait_until(lambda: conn.execute(runs).fetchall(), 90)
            assert cron_check(url).level is Level.OK

            conn.execute("select pg_terminate_backend(%s)", [pid])
            wait_until(lambda: not conn.execute(runs).fetchall())

        found = cron_check(url)
    assert found.level is Level.ERROR
    assert "scheduler" in found.message
    assert "restart" in found.hint


def test_warns_of_a_scheduler_that_has_stopped(apart, cron_home):
    """P14"""
    number = schedule(apart)
    with psycopg.connect(cron_home, autocommit=True) as conn:
        conn.execute(
            "insert into cron.job_run_details (jobid, runid, status, start_time, end_time)"
            " select %s, coalesce(max(runid), 0) + 1000000, 'succeeded',"
            " clock_timestamp() - interval '20 minutes', clock_timestamp()"
            " from cron.job_run_details",
            [number],
        )
        try:
            found = cron_check(apart)
        finally:
            conn.execute("delete from cron.job_run_details where jobid = %s", [number])

    assert found.level is Level.WARNING
    assert "scheduler" in found.hint


def test_the_command_schedules_where_pg_cron_lives_and_takes_it_off_again(
    apart, entries, monkeypatch
):
    monkeypatch.setenv("PYCORTEX_DATABASE_URL", apart)
    name = apart.rpartition("/")[2].partition("?")[0]

    done = CliRunner().invoke(main, ["schedule", "*/5 * * * *"])
    assert done.exit_code == 0
    assert "GMT" in done.output  # P06
    assert [line for _, _, line in entries(name)] == ["*/5 * * * *"]

    assert CliRunner().invoke(main, ["unschedule"]).exit_code == 0
    assert entries(name) == []


@pytest.mark.parametrize("line", ["every day", "90 seconds", "* * *"])
def test_the_command_refuses_a_schedule_that_is_none(apart, monkeypatch, line):
    """P05"""
    monkeypatch.setenv("PYCORTEX_DATABASE_URL", apart)

    done = CliRunner().invoke(main, ["schedule", line])

    assert done.exit_code == 1
    assert done.stderr.startswith("Error: ")


@pytest.fixture
def owned(cron_server, cron_home, monkeypatch):
    """The URL of an ordinary role that owns what is installed where pg_cron lives."""
    with psycopg.connect(cron_home) as conn:
        hand_over(conn, "cron_doctor", "login password 'secret'")
        conn.execute("grant usage on schema cron to cron_doctor")
    url = cron_server.url(HOME, user="cron_doctor", password="secret")
    monkeypatch.setenv("PYCORTEX_DATABASE_URL", url)
    yield url
    with psycopg.connect(cron_home) as conn:
        conn.execute("select cron.unschedule(jobid) from cron.job where username = 'cron_doctor'")
        conn.execute("reassign owned by cron_doctor to current_user")
        conn.execute("drop owned by cron_doctor")
        conn.execute("drop role cron_doctor")


def test_sees_the_entry_of_an_owner_who_may_not_read_the_settings_of_pg_cron(owned):
    """I10: it lives here, so that its setting need not be asked where."""
    schedule(owned)

    found = cron_check(owned)

    assert found.level is Level.OK
    assert "* * * * *" in found.message


def test_the_command_tells_an_owner_who_can_not_log_in_from_a_lost_database(owned, cron_home):
    """P19"""
    with psycopg.connect(cron_home) as conn:
        conn.execute("alter role cron_doctor nologin")

    result = CliRunner().invoke(main, ["--database-url", cron_home, "schedule"])

    assert result.exit_code == 1
    assert "out of reach" not in result.stderr
    assert "alter role cron_doctor login" in result.stderr
