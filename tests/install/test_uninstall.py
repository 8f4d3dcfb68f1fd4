"""Taking the schema out again: all of ours, nothing of anybody else's, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql

from pycortex.install import (
    InstallationBusy,
    NewerSchema,
    declared_objects,
    exclusively,
    install,
)
from pycortex.uninstall import JobsActive, NotOurs, uninstall
from tests.factories import make_job
from tests.schema import run_tool
from tests.servers import LocalServer, Server, Unavailable, own_server

LADDER = ["cortex_reader", "cortex_producer", "cortex_runner", "cortex_admin"]

# Whatever a database holds beyond what PostgreSQL put there, by its name for people.
EVERYTHING = """
select pg_identify_object(d.classid, d.objid, 0)::text
from (
    select 'pg_namespace'::regclass as classid, oid as objid from pg_namespace
    where nspname !~ '^pg_(toast_)?temp'
    union all select 'pg_class'::regclass, oid from pg_class
    where relnamespace::regnamespace::text !~ '^pg_(toast_)?temp'
    union all select 'pg_proc'::regclass, oid from pg_proc
    union all select 'pg_type'::regclass, oid from pg_type
    union all select 'pg_constraint'::regclass, oid from pg_constraint
    union all select 'pg_trigger'::regclass, oid from pg_trigger
    union all select 'pg_attrdef'::regclass, oid from pg_attrdef
) as d
where d.objid >= 16384
union all
select 'description of ' || objoid from pg_description where objoid >= 16384
union all
select 'default acl ' || oid from pg_default_acl
order by 1
"""


@pytest.fixture
def session(connect: Callable[..., psycopg.Connection[Any]]) -> psycopg.Connection[Any]:
    return connect(autocommit=True)


@pytest.fixture(scope="module")
def lonely() -> Iterator[LocalServer]:
    """A server in which no other database uses the four roles."""
    try:
        opened = own_server()
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield opened
    opened.close()


def everything(conn: psycopg.Connection[Any]) -> list[str]:
    return [name for (name,) in conn.execute(EVERYTHING)]


def test_leaves_a_database_as_it_was_before_the_installation(empty_database):
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create table public.mine (id integer)")
        before = everything(conn)
        install(conn)

        done = uninstall(conn)

        assert everything(conn) == before
    assert {"schema cortex", "schema corpus", "table cortex.job"} <= set(done.removed)


def test_removes_an_installation_without_corpus_and_leaves_somebody_elses_corpus(empty_database):
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create schema corpus")
        conn.execute("create table corpus.tasks (id integer)")
        before = everything(conn)
        install(conn, corpus=False)

        uninstall(conn)

        assert everything(conn) == before


def test_can_be_followed_by_an_installation(database):
    uninstall(database)

    install(database)

    with psycopg.connect(database) as conn:
        assert conn.execute("select count(*) from cortex.jobs").fetchone() == (0,)


def test_does_nothing_where_nothing_is_installed(empty_database):
    done = uninstall(empty_database)

    assert done.removed == ()


def test_does_nothing_to_a_schema_cortex_that_is_somebody_elses(empty_database):
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create schema cortex")
        conn.execute("create table cortex.job (brain integer)")
        before = everything(conn)

        done = uninstall(conn)

        assert done.removed == ()
        assert everything(conn) == before


def test_says_how_many_jobs_went(session):
    make_job(session, "succeeded")
    make_job(session, "failed")

    done = uninstall(session)

    assert (done.jobs, done.active) == (2, 0)


@pytest.mark.parametrize("status", ["queued", "running"])
def test_refuses_while_a_job_is_active(session, status):
    make_job(session, status)
    before = everything(session)

    with pytest.raises(JobsActive) as caught:
        uninstall(session)

    assert caught.value.sqlstate == "55006"
    assert everything(session) == before


def test_removes_active_jobs_by_force(session):
    make_job(session, "running")

    done = uninstall(session, force=True)

    assert (done.jobs, done.active) == (1, 1)
    assert session.execute("select to_regnamespace('cortex')").fetchone() == (None,)


def test_takes_back_a_dry_run(session):
    make_job(session, "succeeded")
    before = everything(session)

    foreseen = uninstall(session, dry_run=True)

    assert everything(session) == before
    assert session.execute("select count(*) from cortex.jobs").fetchone() == (1,)
    assert uninstall(session) == foreseen


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("create view public.mine as select * from cortex.jobs", "view public.mine"),
        (
            "create table public.mine (status cortex.job_status)",
            "column status of table public.mine",
        ),
        (
            "create table public.mine (corpus integer references corpus.corpora)",
            "constraint mine_corpus_fkey on table public.mine",
        ),
        (
            "create function public.mine() returns setof cortex.jobs language sql"
            " as 'select * from cortex.jobs'",
            "function public.mine()",
        ),
        ("create table public.mine () inherits (cortex.event)", "table public.mine"),
        (
            "create materialized view cortex.mine as select 1 as one",
            "materialized view cortex.mine",
        ),
        (
            "create function cortex.step(text) returns text language sql return ''",
            "cortex.step(text)",
        ),
        ("create table corpus.mine (id integer)", "table corpus.mine"),
        ("create type cortex.mine as (id integer)", "type cortex.mine"),
        ('create collation cortex.mine from "C"', "collation cortex.mine"),
    ],
    ids=lambda value: value.split("(")[0] if " " in value else None,
)
def test_refuses_and_names_what_is_somebody_elses(session, statement, name):
    session.execute(statement)
    before = everything(session)

    with pytest.raises(NotOurs) as caught:
        uninstall(session, force=True)

    assert caught.value.sqlstate == "2BP01"
    assert name in str(caught.value)
    assert everything(session) == before


def test_names_only_some_of_very_many_strangers(session):
    for number in range(30):
        session.execute(f"create view public.v{number:02} as select 1 from cortex.jobs")

    with pytest.raises(NotOurs, match=r"view public\.v09 and 20 more"):
        uninstall(session)


def test_takes_along_what_hangs_on_our_tables_and_on_nothing_else(session):
    session.execute("create index mine on corpus.tasks (id)")
    session.execute("create publication mine for table corpus.tasks")

    uninstall(session)

    assert session.execute("select count(*) from pg_publication_rel").fetchone() == (0,)
    assert session.execute("select count(*) from pg_publication").fetchone() == (1,)


def test_waits_for_a_transaction_that_spawns_and_counts_its_job(session, connect, monkeypatch):
    monkeypatch.setattr("pycortex.install.SETTINGS", _impatient())
    spawner = connect()
    spawner.execute("select cortex.spawn_job('test')")

    with pytest.raises(InstallationBusy):
        uninstall(session)
    spawner.commit()

    with pytest.raises(JobsActive):
        uninstall(session)


def test_waits_for_an_installation(session, connect, monkeypatch):
    """M14: who holds the lock is named."""
    monkeypatch.setattr("pycortex.install.SETTINGS", _impatient())
    installer = connect(autocommit=True, application_name="the other one")

    with exclusively(installer), pytest.raises(InstallationBusy, match="the other one"):
        uninstall(session)


def test_refuses_what_a_newer_version_installed(session):
    session.execute(
        "insert into cortex._yoyo_migration values ('f', '9999.from-the-future', now())"
    )

    with pytest.raises(NewerSchema):
        uninstall(session)

    assert session.execute("select to_regclass('cortex.job')").fetchone() != (None,)


def test_removes_a_schema_that_is_older_than_the_package(session, monkeypatch):
    newer = replace(
        declared_objects(),
        relations=(*declared_objects().relations, "cortex.not_yet"),
        types=(*declared_objects().types, "cortex.later"),
        routines=(*declared_objects().routines, "cortex.step(uuid, cortex.later)"),
    )
    monkeypatch.setattr("pycortex.install.declared_objects", lambda *, corpus: newer)

    done = uninstall(session)

    assert "schema cortex" in done.removed


def test_is_refused_to_a_role_that_owns_nothing(session, server):
    role = f"stranger_{uuid4().hex[:8]}"
    session.execute(sql.SQL("create role {} login").format(sql.Identifier(role)))
    try:
        with pytest.raises(errors.InsufficientPrivilege):
            uninstall(server.url(session.info.dbname, user=role), force=True)
    finally:
        session.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))

    assert session.execute("select to_regclass('cortex.job')").fetchone() != (None,)


def test_works_as_the_ordinary_role_that_installed(lonely):
    lonely.execute("create role ordinary login")
    url = lonely.create("ordinary")
    lonely.execute("grant create on database ordinary to ordinary")
    url = lonely.url("ordinary", user="ordinary")
    install(url)

    done = uninstall(url)

    assert "schema cortex" in done.removed
    lonely.drop("ordinary")


def test_drops_the_roles_with_the_last_database_that_uses_them(lonely):
    first, second = lonely.create("first"), lonely.create("second")
    install(first)
    install(second)

    stayed = uninstall(first).left
    gone = uninstall(second).left

    assert [reason.split(":")[0] for reason in stayed] == [
        f"role {role}" for role in sorted(LADDER)
    ]
    assert gone == ()
    assert _roles(lonely) == []


def test_leaves_a_role_that_somebody_was_granted(lonely):
    url = lonely.create("granted")
    install(url)
    lonely.execute("create role app")
    lonely.execute("grant cortex_producer to app")

    done = uninstall(url)

    assert done.left == ("role cortex_producer: granted to app",)
    assert _roles(lonely) == ["cortex_producer"]
    lonely.execute("drop role app")
    lonely.execute("drop role cortex_producer")


def test_leaves_a_role_that_has_rights_on_something_else(lonely):
    url = lonely.create("elsewhere")
    install(url)
    lonely.execute("create table public.mine (id integer)", "elsewhere")
    lonely.execute("grant select on public.mine to cortex_runner", "elsewhere")

    done = uninstall(url)

    assert done.left == ("role cortex_runner: has rights in database elsewhere",)
    assert _roles(lonely) == ["cortex_runner"]
    lonely.drop("elsewhere")
    lonely.execute("drop role cortex_runner")


def test_takes_out_what_psql_installed(lonely):
    from pycortex.install import script

    url = lonely.create("psql")
    with psycopg.connect(url, autocommit=True) as conn:
        before = everything(conn)
        run_tool(lonely, "psql", "--no-psqlrc", "--quiet", "--dbname", url, stdin=script())

        uninstall(conn)

        assert everything(conn) == before


def _roles(server: Server) -> list[str]:
    with server.connect() as conn:
        rows = conn.execute(
            "select rolname from pg_roles where rolname = any(%s) order by 1", [LADDER]
        ).fetchall()
    return [name for (name,) in rows]


def _impatient() -> tuple[str, ...]:
    from pycortex.install import SETTINGS

    return tuple(
        "set local lock_timeout = '50ms'" if "lock_timeout" in statement else statement
        for statement in SETTINGS
    )
