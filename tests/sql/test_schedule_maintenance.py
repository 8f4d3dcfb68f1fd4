"""
cortex.schedule_maintenance and whatever else puts something on pg_cron, where that is not.

What they do with a real pg_cron is in tests/cron.
"""

import pytest

from tests.sql.asking import refused, value

CALLS = [
    "select cortex.schedule_maintenance()",
    "select cortex.schedule_maintenance(schedule => '*/5 * * * *')",
    "select cortex.schedule_maintenance(null)",
    "select cortex.unschedule_maintenance()",
    "select cortex.schedule_work()",
    "select cortex.schedule_work('*/5 * * * *', max_jobs => 3)",
    "select cortex.unschedule_work()",
    "select cortex.schedule_job('nightly', '0 3 * * *', 'export')",
]


@pytest.mark.parametrize("call", CALLS)
def test_says_that_pg_cron_is_missing_and_what_to_do(conn, call):
    """I10."""
    with refused(conn, "0A000") as caught:
        conn.execute(call)

    database = value(conn, "select current_database()")
    assert database in caught.value.diag.message_primary
    assert caught.value.diag.message_hint


@pytest.mark.parametrize("call", CALLS)
def test_names_the_database_in_which_pg_cron_lives(conn, call):
    """The detail is that name alone, so that a program can connect there."""
    conn.execute("set local cron.database_name = 'cronhome'")

    with refused(conn, "0A000") as caught:
        conn.execute(call)

    assert caught.value.diag.message_detail == "cronhome"
    advice = "cron.unschedule(" if "unschedule" in call else "cron.schedule_in_database("
    assert advice in caught.value.diag.message_hint


def test_gives_no_advice_to_schedule_to_whoever_takes_off(conn):
    for home in ("cronhome", value(conn, "select current_database()"), None):
        if home:
            conn.execute("select set_config('cron.database_name', %s, true)", [home])
        with refused(conn, "0A000") as caught:
            conn.execute("select cortex.unschedule_maintenance()")

        hint = caught.value.diag.message_hint or ""
        assert hint
        assert "cron.schedule" not in hint
        assert "create extension" not in hint


@pytest.mark.parametrize("call", CALLS)
def test_is_not_fooled_by_a_schema_that_is_called_cron(conn, call):
    conn.execute("create schema cron")
    conn.execute("create table cron.job (jobid bigint, jobname text, database text, username text)")
    conn.execute(
        "create function cron.schedule(text, text, text) returns bigint language sql as 'select 1'"
    )

    with refused(conn, "0A000"):
        conn.execute(call)
