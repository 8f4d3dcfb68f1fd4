"""reap, interrupt-orphans, schedule and unschedule."""

from __future__ import annotations

from uuid import uuid4

import pytest


def status_of(committed, uuid) -> str:
    row = committed.conn.execute(
        "select status::text from cortex.jobs where uuid = %s", [uuid]
    ).fetchone()
    return row[0]


def test_reap_ends_what_was_silent_for_longer_than_its_limit(cli, committed):
    stale = committed.make_job("running", silent_for="3 hours")
    lively = committed.make_job("running")

    result = cli("reap")

    assert result.stdout == "1 interrupted\n"
    assert (status_of(committed, stale), status_of(committed, lively)) == ("interrupted", "running")


def test_reap_takes_a_limit_of_its_own(cli_json, committed):
    committed.make_job("running", silent_for="10 minutes")

    assert cli_json("reap", "--older-than", "5 minutes") == {"interrupted": 1}


@pytest.mark.parametrize(
    ("limit", "code"),
    [("soon", 2), ("", 2), ("-1 hour", 1), ("0", 1), ("9e99 years", 2), ("99999999 years", 2)],
)
def test_reap_refuses_a_limit_that_is_none(cli, committed, limit, code):
    stale = committed.make_job("running", silent_for="3 hours")

    result = cli("reap", "--older-than", limit)

    assert result.exit_code == code
    assert status_of(committed, stale) == "running"


def test_interrupt_orphans_wants_a_yes_where_nobody_can_be_asked(cli, committed):
    """N05"""
    job = committed.make_job("running")

    result = cli("interrupt-orphans")

    assert result.exit_code == 2
    assert "--yes" in result.stderr
    assert status_of(committed, job) == "running"


def test_interrupt_orphans_ends_every_active_job(cli, committed):
    committed.make_job("running")
    committed.make_job("queued")

    assert cli("interrupt-orphans", "--yes").stdout == "2 interrupted\n"


def test_interrupt_orphans_of_one_runner_leaves_the_others(cli, committed):
    gone, other = committed.make_runner(), committed.make_runner()
    orphan = committed.make_job("running", runner=gone)
    job = committed.make_job("running", runner=other)

    result = cli("interrupt-orphans", "--runner", str(gone).upper())

    assert result.exit_code == 0
    assert (status_of(committed, orphan), status_of(committed, job)) == ("interrupted", "running")


def test_interrupt_orphans_refuses_a_runner_that_never_was(cli):
    result = cli("interrupt-orphans", "--runner", str(uuid4()))

    assert result.exit_code == 1
    assert "no such runner" in result.stderr


def test_interrupt_orphans_asks_on_a_terminal_and_takes_no_for_an_answer(pycortex, committed):
    job = committed.make_job("running")

    refused = pycortex.on_terminal("interrupt-orphans", typed=[("[y/N]", "n\n")])
    assert refused.returncode == 1
    assert status_of(committed, job) == "running"

    done = pycortex.on_terminal("interrupt-orphans", typed=[("[y/N]", "y\n")])
    assert done.returncode == 0
    assert status_of(committed, job) == "interrupted"


@pytest.mark.parametrize("command", ["schedule", "unschedule"])
def test_says_what_is_missing_where_there_is_no_pg_cron(cli, command):
    result = cli(command)

    assert result.exit_code == 1
    assert "pg_cron" in result.stderr
    assert "Hint: " in result.stderr
