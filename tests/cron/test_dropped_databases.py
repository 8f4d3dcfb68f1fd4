"""P18: databases that pg_cron works in can be dropped, once their entry is off."""

from __future__ import annotations

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pycortex.schedule import schedule, unschedule
from tests.conftest import fresh_name


def test_a_database_goes_after_its_entry_and_leaves_nothing_behind(
    cron_server, cron_home, cron_template
):
    name = fresh_name("dropped")
    url = cron_server.create(name, cron_template)
    schedule(url)

    assert unschedule(url) is True
    with psycopg.connect(cron_home, autocommit=True) as conn:
        conn.execute(sql.SQL("drop database {}").format(sql.Identifier(name)))  # nobody is in it

        assert conn.execute("select from cron.job where database = %s", [name]).fetchall() == []


def test_no_test_leaves_an_entry_or_an_invalid_database(cron_home, apart):
    """Pg_cron lives in a database apart from those of single tests, whose entries go first."""
    with psycopg.connect(cron_home) as conn:
        orphans = conn.execute(
            "select jobname from cron.job as j"
            " where not exists (select from pg_database as d where d.datname = j.database)"
        ).fetchall()
        invalid = conn.execute("select datname from pg_database where datconnlimit = -2").fetchall()

    assert conninfo_to_dict(cron_home)["dbname"] != conninfo_to_dict(apart)["dbname"]
    assert (orphans, invalid) == ([], [])
