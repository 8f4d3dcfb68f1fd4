"""Where nothing can or may be installed: a clear error, at once, and nothing is changed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import Connection, errors

from pycortex import install as module
from pycortex._data import data_path
from pycortex.install import InstallationBusy, NewerSchema, install, script
from tests.concurrency.parallel import waiting
from tests.conftest import fresh_name
from tests.install.catalogue import books, catalogue
from tests.schema import run_tool
from tests.waiting import wait_until


@pytest.fixture
def empty(empty_database: str) -> Iterator[Connection[Any]]:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of our files that the installer reads instead."""
    for name in ("sql", "migrations"):
        shutil.copytree(data_path(name), tmp_path / name)
    monkeypatch.setattr(module, "data_path", lambda name: tmp_path / name)
    return tmp_path


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the installer wait for locks for half a second only."""
    settings = [
        "set local lock_timeout = '500ms'" if "lock_timeout" in one else one
        for one in module.SETTINGS
    ]
    monkeypatch.setattr(module, "SETTINGS", tuple(settings))


STRANGERS = {
    "table": "create table cortex.job (x int)",
    "view": "create view cortex.jobs as select 1 as x",
    "routine": "create function cortex.step() returns int language sql as 'select 1'",
    "type": "create type cortex.job_status as enum ('mine')",
    "unrelated": "create table cortex.brain (neurons bigint)",
    "sequence": "create sequence cortex.numbers",
    "domain": "create domain cortex.positive as integer check (value > 0)",
}


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS.keys())
def test_refuses_a_schema_of_somebody_else_and_leaves_it_untouched(empty, stranger):
    """Case I07."""
    empty.execute("create schema cortex")
    empty.execute("comment on schema cortex is 'neurons'")
    empty.execute(stranger)
    before = catalogue(empty)

    with pytest.raises(errors.DuplicateSchema) as caught:
        install(empty)

    assert caught.value.diag.message_hint
    assert "cortex." in str(caught.value)
    assert catalogue(empty) == before
    [comment] = empty.execute("select obj_description('cortex'::regnamespace)").fetchone()
    assert comment == "neurons"


@pytest.mark.parametrize("stranger", ["create table corpus.tasks (x int)", "select 1"])
def test_refuses_a_schema_corpus_of_somebody_else_and_installs_nothing(empty, stranger):
    empty.execute("create schema corpus")
    empty.execute(stranger)
    before = catalogue(empty)

    with pytest.raises(errors.DuplicateSchema) as caught:
        install(empty)

    assert "corpus" in str(caught.value)
    assert catalogue(empty) == before


def test_takes_an_empty_schema_of_that_name(empty):
    empty.execute("create schema cortex")

    install(empty)

    assert books(empty)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_refuses_a_database_that_can_not_hold_any_text(server, encoding):
    """Case E16."""
    name = fresh_name("encoding")
    server.execute(f"create database {name} encoding '{encoding}' locale 'C' template template0")
    try:
        with psycopg.connect(server.url(name), autocommit=True) as conn:
            with pytest.raises(errors.UntranslatableCharacter) as caught:
                install(conn)

            assert encoding in str(caught.value)
            assert name in str(caught.value)
            assert caught.value.diag.message_hint
            [schema] = conn.execute("select to_regnamespace('cortex')::text").fetchone()
            assert schema is None
    finally:
        server.drop(name)


@pytest.mark.parametrize("installed", [False, True])
def test_says_at_once_that_the_session_is_read_only(empty, installed):
    """Case M09."""
    if installed:
        install(empty)
    before = catalogue(empty)
    empty.execute("set default_transaction_read_only = on")
    started = time.monotonic()

    with pytest.raises(errors.ReadOnlySqlTransaction) as caught:
        install(empty)

    assert time.monotonic() - started < 25  # the wait for a lock would take 30
    assert "default_transaction_read_only" in str(caught.value)
    empty.execute("set default_transaction_read_only = off")
    assert catalogue(empty) == before


def test_refuses_a_newer_schema_and_names_both_versions(empty):
    """Case M13."""
    install(empty)
    ours = books(empty)[-1]
    empty.execute(
        "insert into cortex._yoyo_migration (migration_hash, migration_id, applied_at_utc)"
        " values ('f', '9999.from-the-future', clock_timestamp())"
    )
    before = catalogue(empty)

    with pytest.raises(NewerSchema) as caught:
        install(empty)

    assert caught.value.sqlstate == "0A000"
    assert "9999.from-the-future" in str(caught.value)
    assert ours in str(caught.value)
    assert catalogue(empty) == before


@pytest.mark.parametrize("moment", ["first", "last", "again"])
def test_a_migration_that_fails_midway_leaves_nothing_behind(empty, data, moment):
    """Case M08: all of it or nothing, however far it got."""
    if moment == "again":
        install(empty)
    number = "0000" if moment == "first" else "9000"
    migration = data / "migrations" / f"{number}.fails-midway.sql"
    migration.write_text(
        "create table cortex.half (id integer);\ninsert into cortex.half values (1);\n"
        "select 1 / 0;\ncreate table cortex.whole (id integer);\n"
    )
    before = catalogue(empty)

    with pytest.raises(errors.DivisionByZero):
        install(empty)

    assert catalogue(empty) == before
    migration.unlink()
    done = install(empty)
    assert f"{number}.fails-midway" not in books(empty)
    assert (done.applied == ()) == (moment == "again")


def test_a_routine_that_does_not_load_leaves_the_old_ones(empty, data):
    install(empty)
    (data / "sql" / "functions" / "readers" / "db_now.sql").write_text(
        "create or replace function cortex.db_now() returns timestamptz language sql"
        " as $$ oh no $$;\n"
        "create or replace function nowhere.at_all() returns int language sql as 'select 1';"
    )
    before = catalogue(empty)

    with pytest.raises(errors.InvalidSchemaName):
        install(empty)

    assert catalogue(empty) == before


def test_goes_on_where_a_failed_installation_stopped(empty, data):
    broken = data / "migrations" / "9000.broken.sql"
    broken.write_text("create table cortex.later (id integer); select nonsense;")
    with pytest.raises(errors.UndefinedColumn):
        install(empty)
    broken.write_text("create table cortex.later (id integer);")

    done = install(empty)

    assert done.applied[-1] == "9000.broken"
    assert books(empty).count("9000.broken") == 1


def test_names_who_holds_the_lock_of_installations(empty_database, empty, impatient):
    """Case M14: a client that was stopped in the middle of an installation."""
    with psycopg.connect(empty_database, application_name="the stopped one") as other:
        other.execute("select pg_advisory_xact_lock(%s, %s)", [module.LOCK_SPACE, module.LOCK_KEY])

        with pytest.raises(InstallationBusy) as caught:
            install(empty)

        assert caught.value.sqlstate == "55P03"
        assert str(other.info.backend_pid) in str(caught.value)
        assert "the stopped one" in str(caught.value)


def test_waits_anew_when_another_one_has_got_its_turn(empty_database, empty, monkeypatch):
    """Six that install in turn may need longer than the limit for one."""
    limit = ["set local lock_timeout = '3s'" if "lock_t" in s else s for s in module.SETTINGS]
    monkeypatch.setattr(module, "SETTINGS", tuple(limit))
    take = "select pg_advisory_xact_lock(%s, %s)"
    with (
        psycopg.connect(empty_database, autocommit=True) as observer,
        psycopg.connect(empty_database) as first,
        psycopg.connect(empty_database) as second,
    ):
        first.execute(take, [module.LOCK_SPACE, module.LOCK_KEY])
        with (
            waiting(
                observer, second, lambda: second.execute(take, [module.LOCK_SPACE, module.LOCK_KEY])
            ) as turn,
            waiting(observer, empty, lambda: install(empty)) as call,
        ):
            wait_until(lambda: waits_since(observer, empty), what="the installation waits")
            since = waits_since(observer, empty)
            first.commit()
            turn.result(60)
            wait_until(
                lambda: waits_since(observer, empty) not in (None, since),
                what="the installation waits for the second one",
            )
            second.commit()

            assert call.result(60).applied


def waits_since(observer: Connection[Any], conn: Connection[Any]) -> Any:
    """When the session began to wait for its lock; None while it doesn't."""
    row = observer.execute(
        "select waitstart from pg_locks where pid = %s and not granted", [conn.info.backend_pid]
    ).fetchone()
    return row and row[0]


def test_names_who_holds_a_table(empty_database, empty, impatient):
    install(empty)
    before = catalogue(empty)
    with psycopg.connect(empty_database, application_name="a long report") as other:
        other.execute("select count(*) from cortex.jobs")

        with pytest.raises(InstallationBusy) as caught:
            install(empty)

        assert str(other.info.backend_pid) in str(caught.value)
        assert "a long report" in str(caught.value)
    assert catalogue(empty) == before


def test_is_not_kept_waiting_by_whoever_holds_other_advisory_locks(
    empty_database, empty, impatient
):
    """Case H08."""
    with psycopg.connect(empty_database) as other:
        for key in (
            "0",
            "1",
            "42",
            "hashtext('cortex')",
            "hashtext('yoyo')",
            str(module.LOCK_SPACE),
        ):
            other.execute(f"select pg_advisory_lock({key}), pg_advisory_lock(({key})::integer, 0)")

        assert install(empty).applied


def test_the_script_refuses_what_the_installer_refuses(own_server):
    """And stops there: psql must not go on after the first error."""
    url = own_server.create(fresh_name("script"))
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("create schema cortex")
        conn.execute("create table cortex.job (x int)")
        before = catalogue(conn)

        with pytest.raises(RuntimeError) as caught:
            run_tool(own_server, "psql", "--no-psqlrc", "--quiet", "--dbname", url, stdin=script())

        assert "cortex.job" in str(caught.value)
        assert str(caught.value).count("ERROR") == 1
        assert catalogue(conn) == before
