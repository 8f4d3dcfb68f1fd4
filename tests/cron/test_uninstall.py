"""Taking the schema out takes the upkeep off pg_cron, wherever that lives."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pycortex.schedule import schedule, take_off_work
from pycortex.uninstall import JobsActive, _name_entries_of_others, uninstall
from tests.conftest import fresh_name


def test_takes_the_entry_off_where_pg_cron_lives_elsewhere(apart, entries):
    schedule(apart)

    done = uninstall(apart)

    assert done.unscheduled is True
    assert entries(conninfo_to_dict(apart)["dbname"]) == []


def test_says_that_there_was_no_entry(apart):
    assert uninstall(apart).unscheduled is False


@pytest.mark.parametrize("refused", [False, True])
def test_keeps_the_entry_when_nothing_is_removed(apart, entries, refused):
    number = schedule(apart)
    if refused:
        with psycopg.connect(apart) as conn:
            conn.execute("select cortex.spawn_job('test')")

        with pytest.raises(JobsActive):
            uninstall(apart)
    else:
        foreseen = uninstall(apart, dry_run=True)
        assert foreseen.unscheduled is True

    assert [row[0] for row in entries(conninfo_to_dict(apart)["dbname"])] == [number]


def test_takes_the_entry_off_where_pg_cron_lives_here(cron_home):
    with psycopg.connect(cron_home, autocommit=True) as conn:
        conn.execute("select cortex.schedule_maintenance()")
        try:
            # Not for real: the other tests need their pycortex in that database.
            foreseen = uninstall(conn, dry_run=True)

            assert foreseen.unscheduled is True
        finally:
            assert conn.execute("select cortex.unschedule_maintenance()").fetchone() == (True,)


def test_says_what_it_could_not_take_off(apart, cron_server, entries):
    schedule(apart)
    cron_server.execute("alter database cronhome allow_connections false")
    try:
        done = uninstall(apart)
    finally:
        cron_server.execute("alter database cronhome allow_connections true")

    name = conninfo_to_dict(apart)["dbname"]
    assert done.unscheduled is False
    assert f"entry 'cortex.maintain in {name}' of pg_cron in database cronhome" in done.left[0]
    assert len(entries(name)) == 1


def test_takes_off_what_works_and_spawns_jobs_too(cron_home):
    with psycopg.connect(cron_home, autocommit=True) as conn:
        conn.execute("select cortex.schedule_work()")
        conn.execute("select cortex.schedule_job('n', '0 3 1 1 *', 'k')")
        conn.execute("select cron.schedule('cortex.mine', '0 3 1 1 *', 'select 1')")
        try:
            with conn.transaction(force_rollback=True):
                assert take_off_work(conn, database="cronhome") is True
                assert conn.execute("select jobname from cron.job").fetchall() == [("cortex.mine",)]
            assert uninstall(conn, dry_run=True).unscheduled is True
        finally:
            conn.execute("select cron.unschedule('cortex.mine')")
            assert take_off_work(conn, database="cronhome") is True
            conn.execute("delete from cortex.schedule")


def test_takes_off_work_that_was_scheduled_where_pg_cron_lives(apart, cron_home, entries):
    name = conninfo_to_dict(apart)["dbname"]
    with psycopg.connect(cron_home) as conn:
        conn.execute(
            "select cron.schedule_in_database('cortex.work in ' || %(db)s::text, '0 0 1 1 *',"
            " 'call cortex.work(100)', %(db)s::text)",
            {"db": name},
        )

    assert uninstall(apart).unscheduled is True

    assert entries(name) == []


def test_names_the_roles_whose_entries_it_can_not_see(cron_home, cron_server):
    owner, app = fresh_name("owner"), fresh_name("app")
    names = {"owner": sql.Identifier(owner), "app": sql.Identifier(app)}
    with psycopg.connect(cron_home, autocommit=True) as conn, conn.transaction(force_rollback=True):
        conn.execute(
            sql.SQL(
                "create role {owner}; create role {app};"
                " grant usage on schema cron to {owner};"
                " insert into cortex.sql_kind (kind, schema_name, routine_name, run_as)"
                " values ('k', 'app', 'body', {name})"
            ).format(**names, name=sql.Literal(app))
        )
        assert not [line for line in uninstall(conn, dry_run=True).left if app in line]
        left: list[str] = []
        conn.execute(sql.SQL("grant usage on schema cortex to {owner};"
                             " grant select on cortex.sql_kinds to {owner};"
                             " set local role {owner}").format(**names))  # fmt: skip

        _name_entries_of_others(conn, conn, left)

        [line] = left
        assert f"if role {app} has one" in line
        assert "'cortex.work in cronhome'" in line
