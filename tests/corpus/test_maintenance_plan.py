"""cortex.maintenance_plan says what a reindex or analyze would do, and changes nothing."""

from __future__ import annotations

import psycopg
import pytest

import pycortex.sql
from tests.corpus.indexes import invalidate
from tests.corpus.test_spawn_reindex import USUAL
from tests.sql.logins import login


@pytest.fixture
def own(connect):
    return connect(autocommit=True)


def states(plan):
    return {index["index"]: index["state"] for index in plan.indexes}


@pytest.mark.parametrize("kind", ["reindex", "analyze"])
def test_plans_for_the_usual_tables_when_none_are_named(conn, kind):
    plans = pycortex.sql.maintenance_plan(conn, kind)

    assert [plan.table_name for plan in plans] == USUAL
    assert all(plan.index_bytes > 0 for plan in plans)
    assert conn.execute("select count(*) from cortex.jobs").fetchone() == (0,)


@pytest.mark.parametrize("kind", ["vacuum", "", None])
def test_refuses_another_kind(conn, kind):
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        conn.execute("select * from cortex.maintenance_plan(%s)", [kind])


def test_refuses_what_spawn_would_refuse(conn):
    with pytest.raises(psycopg.errors.UndefinedTable):
        pycortex.sql.maintenance_plan(conn, "reindex", tables=["corpus.nothing"])


def test_tells_leftovers_from_invalid_indexes_and_both_from_somebodys_own(conn):
    """J07: only what is invalid, named so, and has its like on the table."""
    conn.execute(
        'create table public."T x" (a int primary key, b int, t text);'
        'create index plain on public."T x" (b);'
        'create index plain_ccnew on public."T x" (b);'
        'create index plain_ccold12 on public."T x" (b);'
        'create index valid_ccnew on public."T x" (b);'
        'create index alone_ccnew on public."T x" ((b + 1));'
        'create index broken on public."T x" (t);'
        'create index half on public."T x" (t);'
    )
    for index in ("plain_ccnew", "plain_ccold12", "alone_ccnew", "broken"):
        invalidate(conn, f"public.{index}")
    invalidate(conn, "public.half", dead=True)

    [plan] = pycortex.sql.maintenance_plan(conn, "reindex", tables=['public."T x"'])

    [toast] = [index for index in states(plan) if index.startswith("pg_toast.")]
    assert states(plan) == {
        'public."T x_pkey"': "valid",
        "public.plain": "valid",
        "public.plain_ccnew": "leftover",
        "public.plain_ccold12": "leftover",
        "public.valid_ccnew": "valid",
        "public.alone_ccnew": "invalid",
        "public.broken": "invalid",
        "public.half": "dead",
        toast: "valid",
    }
    assert plan.plan.startswith("drop 2 left over; rebuild 6 of 9 indexes; 2 of them invalid")


@pytest.mark.parametrize(
    "difference",
    [
        "create unique index x_ccnew on public.t (b)",
        "create index x_ccnew on public.t (b desc)",
        "create index x_ccnew on public.t (b) where b > 0",
        "create index x_ccnew on public.t (b) include (c)",
        "create index x_ccnew on public.t using hash (b)",
        "create index x_ccnew on public.t ((b || ''))",
        'create index x_ccnew on public.t (b collate "C")',
        "create index x_ccnew on public.t (b text_pattern_ops)",
    ],
)
def test_takes_no_index_for_a_leftover_that_differs_from_all_others(conn, difference):
    conn.execute("create table public.t (b text, c text); create index x on public.t (b)")
    conn.execute(difference.replace("b > 0", "b > ''"))
    invalidate(conn, "public.x_ccnew")

    [plan] = pycortex.sql.maintenance_plan(conn, "reindex", tables=["public.t"])

    assert states(plan)["public.x_ccnew"] == "invalid"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("unique index {} on public.t (b)", "unique index {} on public.t (b) nulls not distinct"),
        ("index {} on public.t using gist (v)",
         "index {} on public.t using gist (v tsvector_ops (siglen = 100))"),
    ],
)  # fmt: skip
def test_takes_no_index_for_a_leftover_that_differs_in_an_option_only(conn, ours, theirs):
    if "not distinct" in theirs and conn.info.server_version < 15_00_00:
        theirs = "unique index {} on public.t (b, v)"
    conn.execute("create table public.t (b text, v tsvector)")
    for index in (ours.format("x"), ours.format("x_ccnew"), theirs.format("x_ccold")):
        conn.execute(f"create {index}")
    invalidate(conn, "public.x_ccnew")
    invalidate(conn, "public.x_ccold")

    [plan] = pycortex.sql.maintenance_plan(conn, "reindex", tables=["public.t"])

    assert states(plan)["public.x_ccnew"] == "leftover"
    assert states(plan)["public.x_ccold"] == "invalid"


def test_takes_no_two_invalid_twins_for_each_others_leftovers(conn):
    """Were both dropped, nothing would be left of either."""
    conn.execute("create table public.t (b int); create index x_ccnew on public.t (b)")
    conn.execute("create index x_ccold on public.t (b)")
    invalidate(conn, "public.x_ccnew")
    invalidate(conn, "public.x_ccold")

    [plan] = pycortex.sql.maintenance_plan(conn, "reindex", tables=["public.t"])

    assert set(states(plan).values()) == {"invalid"}


def test_goes_by_partition_for_a_reindex_and_by_tree_for_an_analyze(conn):
    conn.execute(
        "create table public.p (a int primary key) partition by range (a);"
        "create table public.p1 partition of public.p for values from (0) to (10);"
        'create table public."p 2" partition of public.p default partition by range (a);'
        'create table public.p3 partition of public."p 2" default;'
        "insert into public.p select generate_series(1, 100)"
    )

    reindex = pycortex.sql.maintenance_plan(conn, "reindex", tables=["public.p"])
    [analyze] = pycortex.sql.maintenance_plan(conn, "analyze", tables=["public.p"])

    assert [(plan.table_name, plan.partition_of) for plan in reindex] == [
        ("public.p1", "public.p"),
        ("public.p3", "public.p"),
    ]
    assert analyze.table_bytes == sum(plan.table_bytes for plan in reindex) > 0


def test_says_that_a_table_has_no_indexes_or_one_that_must_stay(conn):
    conn.execute("create table public.bare (a int)")
    conn.execute("create table public.e (a int4range, exclude using gist (a with &&))")

    bare, excluded = pycortex.sql.maintenance_plan(
        conn, "reindex", tables=["public.bare", "public.e"]
    )

    assert (bare.plan, bare.indexes, bare.index_bytes) == ("no indexes to rebuild", [], 0)
    assert sorted(states(excluded).values()) == ["exclusion", "valid"]  # of TOAST
    assert "leave 1 of exclusion constraints" in excluded.plan


def test_names_who_is_in_the_way_and_nobody_else(own, connect):
    own.execute("create table public.t (a int primary key)")
    own.execute("create table public.u (a int primary key)")
    idler = connect(application_name="idler")
    idler.execute("select from public.t")
    pid = idler.info.backend_pid

    t, u = pycortex.sql.maintenance_plan(own, "reindex", tables=["public.t", "public.u"])
    [analyze] = pycortex.sql.maintenance_plan(own, "analyze", tables=["public.t"])

    assert [words.split(" since ")[0] for words in t.in_the_way] == [
        f"session {pid} (idler, idle in transaction,"
    ]
    assert u.in_the_way == []
    assert analyze.in_the_way == []  # which waits for no reader


def test_tells_readers_only_the_pid_of_other_peoples_sessions(own, connect, server):
    own.execute("create table public.t (a int primary key)")
    idler = connect(application_name="secret")
    idler.execute("lock table public.t in share row exclusive mode")

    with login(server, own.info.dbname, "cortex_reader") as url:
        other = connect(url, autocommit=True)
        [plan] = pycortex.sql.maintenance_plan(other, "analyze", tables=["public.t"])
        other.close()

    assert plan.in_the_way == [f"session {idler.info.backend_pid}"]


def test_knows_a_leftover_of_an_index_over_an_expression(own, connect):
    """PostgreSQL stores where an expression stood in its statement; the copy lost that."""
    own.execute("create table public.t (b int, c text)")
    own.execute("create index x on public.t (    (b + 1), lower(c)) where b % 2 = 0")
    connect().execute("select from public.t")
    own.execute("set lock_timeout = '50ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        own.execute("reindex index concurrently public.x")

    [plan] = pycortex.sql.maintenance_plan(own, "reindex", tables=["public.t"])

    left = {name: state for name, state in states(plan).items() if ".x_cc" in name}
    assert set(left.values()) == {"leftover"}
