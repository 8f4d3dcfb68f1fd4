"""What the doctor says of a database that somebody meddled with; each finding provoked for real."""

from __future__ import annotations

import time

import psycopg
import pytest

from pycortex.doctor import Check, Level, examine
from tests.conftest import fresh_name
from tests.faults.test_pgbouncer import Bouncer


def found(conninfo: str, name: str) -> list[Check]:
    return [check for check in examine(conninfo) if check.name == name]


def the(conninfo: str, name: str) -> Check:
    [check] = found(conninfo, name)
    return check


def test_finds_nothing_in_what_nobody_touched(database):
    wanted = {"clock", "connection", "roles", "indexes", "triggers"}
    levels = {check.name: check.level for check in examine(database) if check.name in wanted}

    assert levels == dict.fromkeys(wanted, Level.OK)


@pytest.mark.parametrize(("ahead", "word"), [(3600, "behind"), (-3600, "ahead of")])
def test_compares_the_clocks(database, monkeypatch, ahead, word):
    clock = time.time
    monkeypatch.setattr("pycortex.doctor._server.time.time", lambda: clock() + ahead)

    check = the(database, "clock")

    assert check.level is Level.WARNING
    assert word in check.message
    assert "NTP" in check.hint


def test_suspects_a_pooler(database, tmp_path):
    bouncer = Bouncer(database, tmp_path)
    try:
        url = bouncer.url
        check = the(url, "connection")
    finally:
        bouncer.process.kill()
        bouncer.process.wait()

    assert check.level is Level.WARNING
    assert "pooler" in check.message


@pytest.mark.parametrize("where", ["alter database {}", "alter role all"])
def test_notices_sessions_that_only_read(own_server, own_database, where):
    name = psycopg.conninfo.conninfo_to_dict(own_database)["dbname"]
    statement = where.format(name)
    own_server.execute(f"{statement} set default_transaction_read_only = on")
    try:
        check = the(own_database, "server")
    finally:
        with own_server.connect(options="-c default_transaction_read_only=off") as conn:
            conn.execute(f"{statement} reset default_transaction_read_only")

    assert check.level is Level.WARNING
    assert "only read" in check.message


def test_misses_a_role_that_was_dropped_and_the_rights_of_one_that_came_back(
    own_server, own_database
):
    with psycopg.connect(own_database, autocommit=True) as conn:
        databases = conn.execute(
            "select datname from pg_database where datallowconn and not datistemplate"
        ).fetchall()
    for (name,) in databases:
        own_server.execute("drop owned by cortex_reader", name)
    own_server.execute("drop role cortex_reader")

    check = the(own_database, "roles")
    assert check.level is Level.WARNING
    assert "cortex_reader" in check.message

    own_server.execute("create role cortex_reader")
    check = the(own_database, "roles")
    assert check.level is Level.ERROR
    assert "pycortex install" in check.hint


def test_names_an_invalid_index(database):
    """As a rebuild leaves it that was cut off: here by a duplicate, there by a crash."""
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create table corpus.mine (n integer)")
        conn.execute("insert into corpus.mine values (1), (1)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            conn.execute("create unique index concurrently broken on corpus.mine (n)")

    check = the(database, "indexes")

    assert check.level is Level.WARNING
    assert "corpus.broken" in check.message
    assert "reindex" in check.hint


def test_takes_an_invalid_guarantee_for_an_error(database):
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(
            "update pg_index set indisvalid = false"
            " where indexrelid = 'cortex.job_debounce_queued_key'::regclass"
        )

    check = the(database, "indexes")

    assert check.level is Level.ERROR
    assert "job_debounce_queued_key" in check.message


def test_misses_an_index_that_was_dropped(database):
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("drop index cortex.job_debounce_running_key")

    check = the(database, "indexes")

    assert check.level is Level.ERROR
    assert "job_debounce_running_key" in check.message


def test_warns_of_row_security_and_takes_it_for_an_error_where_it_is_forced(database):
    """I12"""
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("alter table cortex.job enable row level security")
        assert the(database, "row security").level is Level.WARNING

        conn.execute("alter table cortex.job force row level security")
        check = the(database, "row security")

    assert check.level is Level.ERROR
    assert "cortex.job" in check.message


def test_names_the_trigger_and_the_rule_of_somebody_else(database):
    """I12"""
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(
            "create function public.refuse() returns trigger language plpgsql"
            " as $$ begin raise 'no'; end $$"
        )
        conn.execute(
            "create trigger audit before update on cortex.job"
            " for each row execute function public.refuse()"
        )
        conn.execute("create rule nothing as on delete to cortex.event do instead nothing")

    check = the(database, "triggers")

    assert check.level is Level.WARNING
    assert "audit on cortex.job" in check.message
    assert "rule nothing on cortex.event" in check.message


def test_misses_the_work_of_a_trigger_of_ours_that_is_switched_off(database):
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("alter table cortex.job disable trigger user")

    check = the(database, "triggers")

    assert check.level is Level.ERROR
    assert "cortex.job" in check.message


def test_has_a_line_and_a_level_for_everything(database):
    names = [check.name for check in examine(database)]

    assert names == [
        "server", "encoding", "clock", "connection", "schema", "roles", "indexes", "triggers",
        "pg_cron", "upkeep", "runners", "kinds", "orphans", "stale jobs",
    ]  # fmt: skip
    assert all(len(check.name) <= 12 for check in examine(database))


def test_knows_a_database_that_keeps_text_in_another_way(server):
    name = fresh_name("latin")
    server.execute(f"create database {name} encoding 'LATIN1' locale 'C' template template0")
    try:
        check = the(server.url(name), "encoding")
    finally:
        server.drop(name)

    assert check.level is Level.ERROR
