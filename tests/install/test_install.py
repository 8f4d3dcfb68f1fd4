"""Installing and installing again, in databases with habits of their own."""

from __future__ import annotations

import hashlib
from typing import Any

import psycopg
import pytest
from psycopg import Connection, sql

from pycortex import install as module
from pycortex._data import data_path
from pycortex.install import install, pending, script
from tests.conftest import fresh_name
from tests.install.catalogue import books, catalogue
from tests.schema import run_tool

MIGRATIONS = sorted(path.stem for path in data_path("migrations").glob("*.sql"))
BODY = "select p.prosrc from pg_catalog.pg_proc as p where p.oid = %s::regprocedure"


@pytest.fixture
def empty(empty_database):
    """A session in a database in which nothing is installed."""
    with psycopg.connect(empty_database, autocommit=True) as conn:
        yield conn


def scalar(conn: Connection[Any], statement: str, params: Any = None) -> Any:
    [[value]] = conn.execute(statement, params).fetchall()
    return value


def test_brings_everything_into_an_empty_database(empty_database, empty):
    done = install(empty_database)

    assert list(done.applied) == MIGRATIONS
    assert done.loaded == len(list(data_path("sql").rglob("*.sql"))) - 1  # all but bootstrap.sql
    assert books(empty) == MIGRATIONS
    assert pending(empty) == []
    assert scalar(empty, "select created from cortex.spawn_job('test')") is True


def test_changes_nothing_the_second_time(empty):
    install(empty)
    before = catalogue(empty)

    done = install(empty)

    assert done.applied == ()
    assert catalogue(empty) == before
    assert books(empty) == MIGRATIONS


def test_keeps_the_jobs(empty):
    install(empty)
    empty.execute("select cortex.spawn_job('test', params => '{\"n\": 1}')")
    empty.execute("select cortex.configure(stale_after => '5 minutes')")
    before = empty.execute("select * from cortex.job").fetchall()

    install(empty)

    assert empty.execute("select * from cortex.job").fetchall() == before
    assert scalar(empty, "select stale_after::text from cortex.configuration") == "00:05:00"


def test_puts_back_routines_and_views_that_somebody_changed(empty):
    install(empty)
    before = catalogue(empty)
    empty.execute(
        "create or replace function cortex.db_now() returns timestamptz language sql volatile"
        " as $$ select '2000-01-01'::timestamptz $$"
    )
    empty.execute("grant execute on function cortex.db_now() to public")
    empty.execute("drop function cortex.count_recent_with_status")
    empty.execute("alter view cortex.configuration set (security_barrier)")
    empty.execute("drop trigger job_records_its_changes on cortex.job")

    install(empty)

    assert catalogue(empty) == before


def test_uses_the_callers_session_and_leaves_it_as_it_was(empty):
    """Also a session that is not in autocommit, and speaks another encoding."""
    empty.autocommit = False
    empty.execute("set client_encoding = 'LATIN1'")
    empty.execute("set search_path = public")
    empty.execute("set lock_timeout = '7s'")
    empty.commit()

    install(empty)

    assert empty.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    names = ["client_encoding", "search_path", "lock_timeout", "check_function_bodies"]
    values = [scalar(empty, "select current_setting(%s)", [name]) for name in names]
    assert values == ["LATIN1", "public", "7s", "on"]
    assert books(empty) == MIGRATIONS


@pytest.mark.parametrize(
    "setting",
    [
        "search_path = ''",
        "search_path = '\"$user\", other, public'",
        "default_transaction_isolation = 'serializable'",
        "check_function_bodies = off",
        "standard_conforming_strings = off",
        "client_encoding = 'LATIN1'",
        "DateStyle = 'SQL, DMY'",
        "statement_timeout = '1min'",
        "row_security = off",
        "quote_all_identifiers = on",
        "client_min_messages = error",
    ],
)
def test_is_the_same_whatever_the_database_prefers(empty_database, empty, database, setting):
    """Cases M11 and I06: what the database sets, with a schema named after the user."""
    with psycopg.connect(database, autocommit=True) as usual:
        expected = catalogue(usual)
    for schema in ("other", empty.info.user):
        empty.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
    empty.execute(
        sql.SQL("alter database {} set {}").format(
            sql.Identifier(empty.info.dbname), sql.SQL(setting)
        )
    )

    install(empty_database)
    again = install(empty_database)

    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("reset all")
        extra = [row for row in catalogue(conn) if row not in expected]
    assert again.applied == ()
    assert books(empty) == MIGRATIONS
    assert [row[:2] for row in extra] == sorted(
        ("schema", schema) for schema in ("other", empty.info.user)
    )
    for schema in ("other", empty.info.user, "public"):
        assert (
            empty.execute(
                "select relname from pg_class where relnamespace = %s::regnamespace", [schema]
            ).fetchall()
            == []
        )


def test_does_not_apply_migrations_again_under_another_search_path(empty_database, empty):
    install(empty_database)
    empty.execute("create schema other")
    empty.execute("set search_path = other, public")

    done = install(empty)

    assert done.applied == ()
    assert scalar(empty, "select to_regclass('other._yoyo_migration')") is None


def test_leaves_the_books_of_another_yoyo_project_alone(empty_database, empty, tmp_path):
    from yoyo import get_backend, read_migrations

    (tmp_path / "0001.create-theirs.sql").write_text("create table theirs (id integer)")
    backend = get_backend(empty_database.replace("postgresql://", "postgresql+psycopg://"))
    theirs = read_migrations(str(tmp_path))
    backend.apply_migrations(backend.to_apply(theirs))
    query = "select migration_id from public._yoyo_migration"

    install(empty_database)

    assert empty.execute(query).fetchall() == [("0001.create-theirs",)]
    assert list(backend.to_apply(theirs)) == []
    assert books(empty) == MIGRATIONS
    backend.connection.close()


def test_can_leave_the_corpus_out_and_bring_it_later(empty):
    without = install(empty, corpus=False)
    absent = scalar(empty, "select to_regnamespace('corpus') is null")
    later = install(empty)

    assert absent
    assert without.applied + later.applied == tuple(sorted(without.applied) + sorted(later.applied))
    assert books(empty) == MIGRATIONS
    assert pending(empty) == []


def test_does_not_take_the_corpus_away(empty):
    install(empty)
    before = catalogue(empty)

    install(empty, corpus=False)

    assert catalogue(empty) == before


def test_stores_percent_signs_and_dollar_quotes_as_they_are_written(empty, monkeypatch, tmp_path):
    """Cases M06 and M07: nothing between the file and the database reads the text."""
    body = "begin return format('%I %s %% :name {0}', 'it''s; x', $q$a;b$q$); end; -- ends; here\n"
    replaced = copy_of_data(monkeypatch, tmp_path)
    (replaced / "sql" / "internal" / "odd.sql").write_text(
        "create or replace function cortex.odd() returns text language plpgsql as $outer$\n"
        f"{body}$outer$;\n"
        "comment on function cortex.odd() is 'odd';\n"
    )
    (replaced / "migrations" / "9000.odd.sql").write_text(
        "create table cortex.odd (pattern text not null default '100%; it''s :a');\n"
        "create function cortex.odder() returns text language plpgsql as $$\n"
        f"declare v text := 'x;y'; {body}$$;\n"
        "comment on table cortex.odd is 'like ''x%'' ; and %s';\n"
        "comment on function cortex.odder() is 'odder';\n"
    )

    install(empty)

    assert scalar(empty, BODY, ["cortex.odd()"]) == f"\n{body}"
    assert scalar(empty, BODY, ["cortex.odder()"]) == f"\ndeclare v text := 'x;y'; {body}"
    assert (
        scalar(empty, "insert into cortex.odd default values returning pattern") == "100%; it's :a"
    )
    assert scalar(empty, "select obj_description('cortex.odd'::regclass)") == "like 'x%' ; and %s"


def copy_of_data(monkeypatch: pytest.MonkeyPatch, folder: Any) -> Any:
    """Let the installer read a copy of our files, to be changed."""
    import shutil

    for name in ("sql", "migrations"):
        shutil.copytree(data_path(name), folder / name)
    monkeypatch.setattr(module, "data_path", lambda name: folder / name)
    return folder


def test_has_nothing_left_to_apply_after_psql(own_server):
    """Twice through psql, whose session speaks another encoding, then once from here."""
    url = own_server.create(fresh_name("psql"))
    for _ in range(2):
        text = "set client_encoding = 'LATIN1';\n" + script()
        run_tool(own_server, "psql", "--no-psqlrc", "--quiet", "--dbname", url, stdin=text)
    with psycopg.connect(url, autocommit=True) as conn:
        before = catalogue(conn)

        done = install(conn)

        assert done.applied == ()
        assert books(conn) == MIGRATIONS
        assert catalogue(conn) == before


def test_migrations_are_plain_ascii():
    """Case N07's kind: yoyo reads them in the encoding of the locale."""
    for name in MIGRATIONS:
        (data_path("migrations") / f"{name}.sql").read_text(encoding="ascii")


def test_the_script_keeps_the_same_books():
    """yoyo hashes a migration's name; if the script didn't, the next install would repeat it."""
    text = script()

    for name in MIGRATIONS:
        assert hashlib.sha256(name.encode()).hexdigest() in text
