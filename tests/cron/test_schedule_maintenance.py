"""schedule_maintenance in the database in which pg_cron lives."""

from __future__ import annotations

import re

import psycopg
import pytest
from psycopg import errors

from tests.cron.ownership import hand_over

OURS = (
    "select jobid, jobname, schedule, command, database from cron.job where database = 'cronhome'"
)


def test_puts_the_upkeep_of_this_database_on_pg_cron(home):
    """P16: one statement, fully qualified."""
    (number,) = home.execute("select cortex.schedule_maintenance()").fetchone()

    assert home.execute(OURS).fetchall() == [
        (number, "cortex.maintain in cronhome", "* * * * *", "select cortex.maintain()", "cronhome")
    ]


def test_changes_the_schedule_of_the_entry_when_called_again(home):
    (first,) = home.execute("select cortex.schedule_maintenance()").fetchone()

    (second,) = home.execute("select cortex.schedule_maintenance('*/5 * * * *')").fetchone()

    assert second == first
    assert [row[2] for row in home.execute(OURS)] == ["*/5 * * * *"]


def test_takes_null_for_the_default_schedule(home):
    home.execute("select cortex.schedule_maintenance(schedule => null)")

    assert [row[2] for row in home.execute(OURS)] == ["* * * * *"]


@pytest.mark.parametrize(
    "schedule", ["90 seconds", "60 seconds", "0 seconds", "*/30 * * * * *", "every minute", ""]
)
def test_refuses_a_schedule_that_pg_cron_refuses_and_keeps_the_entry(home, schedule):
    home.execute("select cortex.schedule_maintenance('*/7 * * * *')")

    with pytest.raises(psycopg.Error) as caught, home.transaction():
        home.execute("select cortex.schedule_maintenance(%s)", [schedule])

    assert caught.value.sqlstate == "22023"
    assert caught.value.diag.message_hint
    assert [row[2] for row in home.execute(OURS)] == ["*/7 * * * *"]


def test_refuses_seconds_where_pg_cron_is_too_old_for_them(home):
    (knows_seconds,) = home.execute(
        r"select string_to_array(substring(extversion from '^\d+[.]\d+'), '.')::integer[]"
        " >= '{1,5}' from pg_extension where extname = 'pg_cron'"
    ).fetchone()
    home.execute("select cortex.schedule_maintenance()")

    if knows_seconds:
        home.execute("select cortex.schedule_maintenance('30 seconds')")
    else:
        with pytest.raises(psycopg.Error), home.transaction():
            home.execute("select cortex.schedule_maintenance('30 seconds')")

    assert [row[2] for row in home.execute(OURS)] == [
        "30 seconds" if knows_seconds else "* * * * *"
    ]


def test_says_that_an_owner_who_cannot_log_in_is_of_no_use(home):
    hand_over(home, "cron_nologin", "nologin")

    with pytest.raises(errors.InvalidAuthorizationSpecification) as caught, home.transaction():
        home.execute("select cortex.schedule_maintenance()")

    assert "cron_nologin" in caught.value.diag.message_hint
    assert home.execute(OURS).fetchall() == []


def test_switches_an_entry_on_that_was_switched_off(home):
    (number,) = home.execute("select cortex.schedule_maintenance()").fetchone()
    home.execute("select cron.alter_job(%s, active => false)", [number])

    home.execute("select cortex.schedule_maintenance()")

    assert home.execute("select active from cron.job where database = 'cronhome'").fetchall() == [
        (True,)
    ]


@pytest.mark.parametrize("schedule", [" * * * * * ", "\t*/5 * * * *\n", "* * * * MON\r\n"])
def test_minds_no_blanks_around_a_schedule(home, schedule):
    home.execute("select cortex.schedule_maintenance(%s)", [schedule])

    assert [row[2] for row in home.execute(OURS)] == [schedule.strip()]


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("* * * * *", None),
        ("*/30 * * * *", None),
        ("0 3 * * *", "24:00:00|1 day"),
        ("0 */2 * * *", "02:00:00"),
        ("* * 31 2 *", "never"),
    ],
)
def test_warns_of_a_schedule_that_comes_too_seldom_for_what_may_be_silent(home, schedule, words):
    """P05: the limit of silence against the real period."""
    said: list[str] = []
    home.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))

    home.execute("select cortex.schedule_maintenance(%s)", [schedule])

    assert len(said) == (words is not None)
    assert all(re.search(words, line) for line in said if words)


def test_measures_a_schedule_by_the_least_patient_kind(home):
    """P05"""
    said: list[str] = []
    home.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
    home.execute("select cortex.configure_kind('hasty', stale_after => '5 minutes')")

    home.execute("select cortex.schedule_maintenance('*/10 * * * *')")

    assert len(said) == 1


@pytest.mark.parametrize("call", ["schedule_maintenance", "unschedule_maintenance"])
def test_says_which_right_its_owner_lacks(home, call):
    hand_over(home, "cron_closed", "login")

    with pytest.raises(errors.InsufficientPrivilege) as caught, home.transaction():
        home.execute(f"select cortex.{call}()")

    assert "grant usage on schema cron to cron_closed" in caught.value.diag.message_hint


def test_works_for_an_ordinary_owner_who_may_only_use_the_schema_cron(home):
    """P08: by the functions of pg_cron alone, whose table nobody else may write."""
    hand_over(home, "cron_owner", "login")
    home.execute("grant usage on schema cron to cron_owner")

    (number,) = home.execute("select cortex.schedule_maintenance()").fetchone()

    assert home.execute("select jobid, username from cron.job").fetchall() == [
        (number, "cron_owner")
    ]
    assert home.execute("select cortex.unschedule_maintenance()").fetchone() == (True,)
