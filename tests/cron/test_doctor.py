"""What the doctor says of pg_cron, wherever it lives."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pycortex.cli import main
from pycortex.doctor import Check, Level, examine
from pycortex.schedule import schedule


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


def test_the_command_schedules_where_pg_cron_lives_and_takes_it_off_again(
    apart, entries, monkeypatch
):
    monkeypatch.setenv("PYCORTEX_DATABASE_URL", apart)
    name = apart.rpartition("/")[2].partition("?")[0]

    done = CliRunner().invoke(main, ["schedule", "*/5 * * * *"])
    assert done.exit_code == 0
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
