"""Scheduling the upkeep of a database in which pg_cron doesn't live."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from pycortex.schedule import CronNotCreated, schedule, unschedule


def test_says_where_pg_cron_lives_and_how_to_schedule_there(apart):
    with psycopg.connect(apart) as conn, pytest.raises(errors.FeatureNotSupported) as caught:
        conn.execute("select cortex.schedule_maintenance()")

    assert caught.value.diag.message_detail == "cronhome"
    assert "schedule_in_database" in caught.value.diag.message_hint


def test_gives_a_hint_that_works_as_it_stands(apart, cron_home, entries):
    with psycopg.connect(apart) as conn, pytest.raises(errors.FeatureNotSupported) as caught:
        conn.execute("select cortex.schedule_maintenance()")
    hint = caught.value.diag.message_hint

    with psycopg.connect(cron_home) as conn:
        conn.execute(hint[hint.index("select cron.") : hint.index(";")])

    name = conninfo_to_dict(apart)["dbname"]
    assert [row[1:] for row in entries(name)] == [(f"cortex.maintain in {name}", "* * * * *")]


def test_gives_the_schedule_that_was_asked_for_in_its_hint(apart):
    with psycopg.connect(apart) as conn, pytest.raises(errors.FeatureNotSupported) as caught:
        conn.execute("select cortex.schedule_maintenance('*/7 * * * *')")

    assert "'*/7 * * * *'" in caught.value.diag.message_hint


def test_says_how_to_take_off_there_when_taking_off(apart, cron_home, entries):
    """And nothing of scheduling; the hint works as it stands."""
    schedule(apart)

    with psycopg.connect(apart) as conn, pytest.raises(errors.FeatureNotSupported) as caught:
        conn.execute("select cortex.unschedule_maintenance()")
    hint = caught.value.diag.message_hint

    assert caught.value.diag.message_detail == "cronhome"
    assert "schedule_in_database" not in hint
    with psycopg.connect(cron_home) as conn:
        conn.execute(hint[hint.index("select cron.") : hint.index(";")])
    assert entries(conninfo_to_dict(apart)["dbname"]) == []


def test_switches_an_entry_on_that_was_switched_off(apart, cron_home):
    number = schedule(apart)
    with psycopg.connect(cron_home) as conn:
        conn.execute("select cron.alter_job(%s, active => false)", [number])

    schedule(apart)

    with psycopg.connect(cron_home) as conn:
        assert conn.execute(
            "select active from cron.job where database = %s", [conninfo_to_dict(apart)["dbname"]]
        ).fetchall() == [(True,)]


def test_schedules_where_pg_cron_lives(apart, entries):
    number = schedule(apart)

    name = conninfo_to_dict(apart)["dbname"]
    assert entries(name) == [(number, f"cortex.maintain in {name}", "* * * * *")]


def test_changes_the_entry_when_called_again(apart, entries):
    first = schedule(apart)

    second = schedule(apart, schedule="*/5 * * * *")

    name = conninfo_to_dict(apart)["dbname"]
    assert second == first
    assert entries(name) == [(first, f"cortex.maintain in {name}", "*/5 * * * *")]


def test_refuses_a_schedule_that_pg_cron_refuses_and_keeps_the_entry(apart, entries):
    schedule(apart)

    with pytest.raises(psycopg.Error):
        schedule(apart, schedule="90 seconds")

    assert [row[2] for row in entries(conninfo_to_dict(apart)["dbname"])] == ["* * * * *"]


def test_takes_off_only_the_entry_of_this_database(apart, cron_home, entries):
    other = schedule(cron_home)
    schedule(apart)

    there_was_one = unschedule(apart)

    assert there_was_one is True
    assert entries(conninfo_to_dict(apart)["dbname"]) == []
    assert [row[0] for row in entries("cronhome")] == [other]
    assert unschedule(cron_home) is True


def test_says_that_there_was_no_entry_to_take_off(apart):
    assert unschedule(apart) is False


def test_raises_where_the_server_has_no_pg_cron(conn):
    with pytest.raises(errors.FeatureNotSupported) as caught:
        conn.execute("select cortex.schedule_maintenance()")

    assert caught.value.diag.message_hint
    assert caught.value.diag.message_detail is None


@pytest.mark.parametrize("call", [schedule, unschedule])
def test_says_when_pg_cron_is_not_created_where_it_should_live(apart, call):
    """The setting names a database; it does not say that anybody created the extension there."""
    with pytest.raises(CronNotCreated):
        call(apart, cron_database="postgres")
