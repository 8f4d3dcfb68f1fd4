"""pycortex uninstall."""

from __future__ import annotations

import json

import psycopg

from tests.factories import make_job

THERE = "select to_regclass('cortex.job') is not null"


def is_there(database: str) -> bool:
    with psycopg.connect(database) as conn:
        [there] = conn.execute(THERE).fetchone() or [None]
    return bool(there)


def test_needs_yes_where_nobody_can_be_asked(cli, database):
    result = cli("uninstall")

    assert result.exit_code == 2
    assert "--yes" in result.stderr
    assert is_there(database)


def test_removes_and_lists_what_it_removed(cli, database):
    result = cli("uninstall", "--yes")

    assert result.exit_code == 0
    assert "removed  table cortex.job\n" in result.stdout
    assert not is_there(database)


def test_only_says_what_would_go(cli, database):
    result = cli("uninstall", "--dry-run")

    assert result.exit_code == 0
    assert "would remove  table cortex.job\n" in result.stdout
    assert is_there(database)


def test_speaks_json(cli_json):
    done = cli_json("uninstall", "--dry-run")

    assert "schema cortex" in done["removed"]
    assert (done["jobs"], done["active"], done["unscheduled"]) == (0, 0, False)


def test_refuses_while_a_job_is_active_unless_forced(cli, committed, database):
    make_job(committed.conn, "running")

    refused = cli("uninstall", "--yes")
    still_there = is_there(database)
    forced = cli("uninstall", "--yes", "--force")

    assert refused.exit_code == 1
    assert "1 job is queued or running" in refused.stderr
    assert still_there
    assert forced.exit_code == 0
    assert not is_there(database)


def test_says_that_nothing_is_installed(cli, database):
    cli("uninstall", "--yes")

    again = cli("uninstall", "--yes", "--json")

    assert again.exit_code == 0
    assert json.loads(again.stdout)["removed"] == []


def test_asks_on_a_terminal_and_does_nothing_without_a_yes(pycortex, database):
    screen = pycortex.on_terminal("uninstall", typed=[("[y/N]", "\n")])

    assert "Remove pycortex and its 0 jobs from database" in screen.text
    assert screen.returncode == 1
    assert is_there(database)


def test_asks_on_a_terminal_and_goes_on_with_a_yes(pycortex, committed, database):
    make_job(committed.conn, "failed")

    screen = pycortex.on_terminal("uninstall", typed=[("its one job", "y\n")])

    assert screen.returncode == 0
    assert not is_there(database)
