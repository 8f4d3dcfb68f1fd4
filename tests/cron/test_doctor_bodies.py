"""What the doctor says of bodies in SQL that wait, and of schedules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pycortex.doctor import Check, Level, examine
from tests.cron.test_schedule_job import ENTRIES
from tests.sql.bodies import make_bodies, spawn
from tests.sql.test_list_schedules import INSERT

AGE = "update cortex.job set run_at = run_at - interval '1 hour'"
ELSEWHERE = (
    "select cron.schedule_in_database('cortex.work in ' || %(db)s::text, '0 0 1 1 *',"
    " 'call cortex.work(100)', %(db)s::text)"
)


def said(conninfo: str, name: str) -> list[Check]:
    return [check for check in examine(conninfo) if check.name == name]


@pytest.fixture
def bodies(apart: str) -> Iterator[psycopg.Connection[Any]]:
    """A session in a database with bodies, on a server whose pg_cron lives in another one."""
    with psycopg.connect(apart, autocommit=True) as conn:
        make_bodies(conn)
        yield conn


def test_says_nothing_of_bodies_in_sql_while_none_is_wanted(apart, bodies):
    assert said(apart, "SQL bodies") == []


def test_warns_where_jobs_wait_for_a_body_in_sql_and_nobody_works_them(apart, bodies):
    spawn(bodies, "note")

    [found] = said(apart, "SQL bodies")

    assert found.level is Level.WARNING
    assert "'note' (1)" in found.message
    assert "cortex.schedule_work()" in found.hint
    assert [check.level for check in said(apart, "kinds")] == [Level.OK]


def test_is_content_where_pg_cron_will_work_them(apart, bodies, cron_home):
    spawn(bodies, "note")
    with psycopg.connect(cron_home) as cron:
        cron.execute(ELSEWHERE, {"db": conninfo_to_dict(apart)["dbname"]})

    [found] = said(apart, "SQL bodies")

    assert found.level is Level.OK


def test_warns_where_they_wait_for_long_all_the_same(apart, bodies, cron_home):
    spawn(bodies, "note")
    bodies.execute(AGE)
    with psycopg.connect(cron_home) as cron:
        cron.execute(ELSEWHERE, {"db": conninfo_to_dict(apart)["dbname"]})

    [found] = said(apart, "SQL bodies")

    assert found.level is Level.WARNING
    assert "over 5 minutes" in found.message


def test_names_the_role_that_has_to_work_them(apart, bodies, cron_home):
    bodies.execute("update cortex.sql_kind set run_as = 'somebody else' where kind = 'note'")
    spawn(bodies, "note")
    with psycopg.connect(cron_home) as cron:
        cron.execute(ELSEWHERE, {"db": conninfo_to_dict(apart)["dbname"]})

    [found] = said(apart, "SQL bodies")

    assert found.level is Level.WARNING
    assert "somebody else" in found.hint


def test_warns_of_schedules_that_a_restore_brought_without_their_entries(apart, bodies):
    """C11, P17."""
    assert said(apart, "schedules") == []
    bodies.execute(INSERT)

    [found] = said(apart, "schedules")

    assert found.level is Level.WARNING
    assert "'restored'" in found.message


def test_finds_schedules_that_are_on_pg_cron(cron_home):
    with psycopg.connect(cron_home, autocommit=True) as conn:
        conn.execute("select cortex.schedule_job('n', '0 3 * * *', 'k')")
        try:
            [found] = said(cron_home, "schedules")
        finally:
            conn.execute("select cortex.unschedule_job('n')")

        assert (found.level, found.message) == (Level.OK, "1, all on pg_cron")
        assert ("cortex.job n in cronhome",) not in [row[:1] for row in conn.execute(ENTRIES)]
