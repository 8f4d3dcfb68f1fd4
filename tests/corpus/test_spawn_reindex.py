"""cortex.spawn_reindex asks for indexes to be rebuilt, of tables that are there."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

import pycortex.sql

SPAWN = "select * from cortex.spawn_reindex(tables => %s)"

USUAL = [
    "corpus.tasks",
    "corpus.log_infos",
    "corpus.log_warnings",
    "corpus.log_errors",
    "corpus.log_fatals",
    "corpus.log_invalids",
    "corpus.historical_tasks",
]


def tables_of(conn, spawned):
    return pycortex.sql.find_job(conn, spawned.uuid).params["tables"]


def test_takes_the_seven_busy_tables_when_none_are_named(conn):
    spawned = pycortex.sql.spawn_reindex(conn, actor="ada")

    job = pycortex.sql.find_job(conn, spawned.uuid)
    assert spawned.created
    assert (job.kind, job.actor, job.status) == ("reindex", "ada", "queued")
    assert (job.params, job.debounce_scope) == ({"tables": USUAL}, {})


def test_returns_the_one_that_is_queued_or_running_whatever_the_tables(conn, make_job):
    running = make_job("running", kind="reindex", debounce_scope={})

    second = pycortex.sql.spawn_reindex(conn, tables=["corpus.tasks"])

    assert (second.uuid, second.created) == (running, False)


def test_stores_names_as_the_database_quotes_them_and_each_once(conn):
    conn.execute('create schema "S p"')
    conn.execute('create table "S p"."T""; x" (a int)')
    conn.execute("create table public.plain (a int)")
    names = ['"S p"."T""; x"', "PLAIN", "public.plain", "Corpus.Tasks", "plain"]

    spawned = pycortex.sql.spawn_reindex(conn, tables=names)

    assert tables_of(conn, spawned) == ['"S p"."T""; x"', "public.plain", "corpus.tasks"]


@pytest.mark.parametrize("path", ["", "corpus, public", "pg_temp, other"])
def test_reads_a_bare_name_the_same_whatever_the_search_path(conn, path):
    conn.execute("create temp table tasks (a int)")
    conn.execute("select set_config('search_path', %s, true)", [path])

    spawned = pycortex.sql.spawn_reindex(conn, tables=["tasks"])

    assert tables_of(conn, spawned) == ["corpus.tasks"]


def test_refuses_a_bare_name_that_two_schemas_have(conn):
    conn.execute("create table public.tasks (a int)")

    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        pycortex.sql.spawn_reindex(conn, tables=["tasks"])

    assert "schema.table" in caught.value.diag.message_hint


def test_takes_partitioned_tables_and_materialized_views(conn):
    conn.execute("create table public.parts (a int) partition by range (a)")
    conn.execute("create materialized view public.mat as select 1 as a")

    spawned = pycortex.sql.spawn_reindex(conn, tables=["public.parts", "public.mat"])

    assert tables_of(conn, spawned) == ["public.parts", "public.mat"]


@pytest.mark.parametrize(
    "name",
    [
        "corpus.nothing",
        "nothing.tasks",
        "corpus.tasks.id",
        "x; drop table corpus.tasks",
        "corpus.tasks; --",
        "corpus.'tasks'",
        '"corpus.tasks"',
        '"unclosed',
        '""',
        "",
        " ",
        ".",
        "corpus.",
        "%s",
        "a" * 100_000,
        "corpus.tasks\n; x",
        "1",
    ],
)
def test_refuses_a_name_that_is_no_table_and_says_which(conn, name):
    with pytest.raises(psycopg.errors.UndefinedTable) as caught:
        conn.execute(SPAWN, [["corpus.tasks", name]])

    assert name[:100] in caught.value.diag.message_primary
    assert caught.value.diag.message_hint


def test_takes_a_name_of_63_bytes_and_never_cuts_a_longer_one(conn):
    conn.execute(f"create table public.{'t' * 63} (a int)")

    spawned = pycortex.sql.spawn_reindex(conn, tables=["t" * 63])

    assert tables_of(conn, spawned) == ["public." + "t" * 63]
    with pytest.raises(psycopg.errors.UndefinedTable):
        pycortex.sql.spawn_reindex(conn, tables=["t" * 64])


@pytest.mark.parametrize(
    "make",
    [
        "create view public.thing as select 1 as a",
        "create sequence public.thing",
        "create index thing on public.base (a)",
        "create type public.thing as (a int)",
    ],
)
def test_refuses_what_is_no_table(conn, make):
    conn.execute("create table public.base (a int)")
    conn.execute(make)

    with pytest.raises(psycopg.errors.WrongObjectType):
        pycortex.sql.spawn_reindex(conn, tables=["public.thing"])


def test_refuses_a_temporary_table_that_no_other_session_can_reach(conn):
    conn.execute("create temp table mine (a int)")
    [schema] = conn.execute(
        "select nspname from pg_namespace where oid = pg_my_temp_schema()"
    ).fetchone()

    with pytest.raises(psycopg.errors.WrongObjectType):
        pycortex.sql.spawn_reindex(conn, tables=[f"{schema}.mine"])


def test_refuses_a_system_catalog_which_nobody_can_rebuild_online(conn):
    with pytest.raises(psycopg.errors.WrongObjectType):
        pycortex.sql.spawn_reindex(conn, tables=["pg_catalog.pg_class"])


def test_stores_limits_as_settings_take_them(conn):
    """J08: configurable per job, 0 is none."""
    spawned = pycortex.sql.spawn_reindex(
        conn, lock_timeout=timedelta(minutes=5), statement_timeout=timedelta(0)
    )

    params = pycortex.sql.find_job(conn, spawned.uuid).params
    assert params == {"tables": USUAL, "lock_timeout": "300s", "statement_timeout": "0s"}


def test_rounds_a_limit_up_and_never_to_none(conn):
    spawned = pycortex.sql.spawn_reindex(conn, lock_timeout=timedelta(microseconds=1))

    assert pycortex.sql.find_job(conn, spawned.uuid).params["lock_timeout"] == "1ms"


@pytest.mark.parametrize("limit", ["-1 second", "25 days", "1000 years"])
@pytest.mark.parametrize("name", ["lock_timeout", "statement_timeout"])
@pytest.mark.parametrize("kind", ["reindex", "analyze"])
def test_refuses_a_limit_that_no_setting_can_say(conn, kind, name, limit):
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=name):
        conn.execute(f"select * from cortex.spawn_{kind}({name} => %s)", [limit])


def test_refuses_no_names_at_all(conn):
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        pycortex.sql.spawn_reindex(conn, tables=[])


def test_refuses_a_null_among_the_names(conn):
    with pytest.raises(psycopg.errors.NullValueNotAllowed):
        conn.execute(SPAWN, [["corpus.tasks", None]])


def test_spawns_nothing_when_it_refuses(connect):
    conn = connect(autocommit=True)

    with pytest.raises(psycopg.errors.UndefinedTable):
        pycortex.sql.spawn_reindex(conn, tables=["corpus.tasks", "nothing"])

    assert conn.execute("select count(*) from cortex.jobs").fetchone() == (0,)


def test_is_rolled_back_with_its_caller(connect):
    conn, other = connect(), connect(autocommit=True)
    pycortex.sql.spawn_reindex(conn)
    conn.rollback()

    assert other.execute("select count(*) from cortex.jobs").fetchone() == (0,)


def test_needs_names_where_schema_corpus_is_not_installed(empty_database):
    from pycortex.install import install

    install(empty_database, corpus=False)

    with psycopg.connect(empty_database) as conn:
        with pytest.raises(psycopg.errors.FeatureNotSupported), conn.transaction():
            conn.execute("select * from cortex.spawn_reindex()")
        assert pycortex.sql.spawn_reindex(conn, tables=["cortex.job"]).created


def notices(conn):
    heard = []
    conn.add_notice_handler(lambda said: heard.append((said.message_primary, said.message_hint)))
    return heard


def test_says_that_a_runner_is_needed_where_none_takes_it(conn):
    """J03"""
    heard = notices(conn)

    spawned = pycortex.sql.spawn_reindex(conn)

    [(message, hint)] = heard
    assert str(spawned.uuid) in message
    assert "pycortex worker" in hint


def test_says_nothing_where_a_worker_takes_it(conn, make_runner):
    runner = make_runner()
    conn.execute("select * from cortex.claim_jobs(%s, '{reindex}')", [runner])
    heard = notices(conn)

    pycortex.sql.spawn_reindex(conn)

    assert heard == []


def test_is_left_to_a_runner_by_what_runs_bodies_in_sql(connect):
    """J03: it stays queued, and the database says that nobody takes it."""
    conn = connect(autocommit=True)
    spawned = pycortex.sql.spawn_reindex(conn)

    conn.execute("call cortex.work(max_jobs => 10)")

    job = pycortex.sql.find_job(conn, spawned.uuid)
    assert (job.status, job.attempt) == ("queued", 0)
    assert [(row.kind, row.workers) for row in pycortex.sql.list_waiting(conn)] == [("reindex", 0)]
