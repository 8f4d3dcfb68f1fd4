"""The body of kind reindex, index by index: what it drops, makes anew, leaves, and tells of it."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from pycortex._maintenance import ANALYZE, REINDEX, maintain
from pycortex.errors import JobFailed
from tests.corpus.indexes import files, invalid, invalidate
from tests.corpus.rows import Progress
from tests.sql.logins import login
from tests.waiting import wait_until_blocked

SLOW = """
create function public.slow(a integer) returns integer language plpgsql immutable as $$
begin
    perform pg_sleep(0.05);
    return a;
end $$;
"""


@pytest.fixture
def own(connect) -> psycopg.Connection[Any]:
    conn = connect(autocommit=True)
    conn.execute("create table public.t (a int primary key, b int, c text)")
    conn.execute("insert into public.t select i, i, i from generate_series(1, 1000) as i")
    conn.execute("create index t_b on public.t (b)")
    conn.execute("create table public.u (a int primary key)")
    return conn


def reindex(conn, *tables, **params) -> dict[str, Any]:
    """Reindex, which must succeed, and give the first table's row."""
    done = maintain(Progress(conn, {"tables": list(tables) or ["public.t"], **params}), REINDEX)
    return done["tables"][0]


def fails(conn, *tables, **params) -> tuple[str, dict[str, Any]]:
    """Reindex, which must fail, and give the reason and the result."""
    with pytest.raises(JobFailed) as caught:
        maintain(Progress(conn, {"tables": list(tables) or ["public.t"], **params}), REINDEX)
    return str(caught.value), caught.value.result


def test_tells_what_it_rebuilt_and_how_much_that_gave_back(own):
    own.execute("delete from public.t where a % 50 <> 0")
    own.execute("vacuum public.t")

    row = reindex(own)

    [toast] = [name for name in row["rebuilt"] if name.startswith("pg_toast.")]
    assert set(row["rebuilt"]) == {"public.t_pkey", "public.t_b", toast}
    assert 0 < row["bytes_after"] < row["bytes_before"]
    assert row["seconds"] > 0
    assert (row["outcome"], row["reason"], row["warnings"], row["dropped"]) == (
        "done",
        None,
        [],
        [],
    )


def test_drops_leftovers_with_numbers_and_keeps_what_is_somebodys_own(own):
    """J07"""
    for name in ("t_b_ccnew", "t_b_ccold", "t_b_ccnew3", "valid_ccnew", "own_ccold"):
        column = "((b + 1))" if name == "own_ccold" else "(b)"
        own.execute(f"create index {name} on public.t {column}")
    for name in ("t_b_ccnew", "t_b_ccold", "t_b_ccnew3", "own_ccold"):
        invalidate(own, f"public.{name}")

    row = reindex(own)

    assert set(row["dropped"]) == {"public.t_b_ccnew", "public.t_b_ccold", "public.t_b_ccnew3"}
    assert {"public.valid_ccnew", "public.own_ccold"} < set(row["rebuilt"])
    assert invalid(own) == []


def test_drops_leftovers_of_the_toast_table(own):
    [toast] = own.execute(
        "select indexrelid::regclass::text from pg_index where indrelid ="
        " (select reltoastrelid from pg_class where oid = 'public.t'::regclass)"
    ).fetchone()
    blocker = psycopg.connect(own.info.dsn)
    blocker.execute("select from public.t")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        own.execute("set lock_timeout = '50ms'; ").connection.execute(
            "reindex table concurrently public.t"
        )
    blocker.close()
    left = invalid(own)
    assert any(name.startswith(toast) for name in left)

    row = reindex(own)

    assert {name.removeprefix("public.") for name in row["dropped"]} == set(left)
    assert invalid(own) == []


def test_never_locks_readers_out_while_it_drops_leftovers(own, connect):
    """J07: a long read on the table, and others come after."""
    own.execute("create index t_b_ccnew on public.t (b)")
    invalidate(own, "public.t_b_ccnew")
    reader, worker, other = connect(), connect(autocommit=True), connect(autocommit=True)
    reader.execute("select from public.t")
    running = threading.Thread(target=lambda: reindex(worker))
    running.start()
    wait_until_blocked(own, worker.info.backend_pid)

    other.execute("set lock_timeout = '10s'")
    other.execute("select from public.t where b = 7")
    other.execute("update public.t set c = 'x' where a = 7")

    reader.rollback()
    running.join()
    assert invalid(own) == []


def test_makes_invalid_indexes_anew_and_names_them(own):
    invalidate(own, "public.t_b")

    row = reindex(own)

    assert "public.t_b was invalid" in row["warnings"]
    assert "public.t_b" in row["rebuilt"]
    assert invalid(own) == []


def test_fails_alone_on_a_unique_index_that_can_not_be(own):
    own.execute("insert into public.t values (2001, 7, '')")
    with pytest.raises(psycopg.errors.UniqueViolation):
        own.execute("create unique index concurrently doubled on public.t (b)")
    before = files(own, "public.t_pkey", "public.t_b")

    reason, result = fails(own, "public.t", "public.u")

    [t, u] = result["tables"]
    assert "public.doubled: could not create unique index" in reason
    assert "(b)=(7)" in t["reason"]  # which rows to look for
    assert (t["outcome"], u["outcome"]) == ("failed", "done")
    assert {"public.t_pkey", "public.t_b"} < set(t["rebuilt"])
    assert not set(before) & set(files(own, "public.t_pkey", "public.t_b"))
    assert invalid(own) == ["doubled"]  # its leftover is gone


def test_leaves_indexes_of_exclusion_constraints_and_says_so(own):
    own.execute("create table public.e (a int4range, exclude using gist (a with &&), b int unique)")

    row = reindex(own, "public.e")

    assert row["outcome"] == "done"
    assert [text for text in row["warnings"] if text.startswith("public.e_a_excl is not rebuilt:")]
    assert "public.e_b_key" in row["rebuilt"]


def test_leaves_what_somebody_has_half_dropped(own):
    invalidate(own, "public.t_b", dead=True)

    row = reindex(own)

    assert row["outcome"] == "done"
    assert "public.t_b is half dropped" in row["warnings"][0]
    assert "public.t_b" not in row["rebuilt"]
    assert invalid(own) == ["t_b"]


def test_says_that_an_invalid_index_of_toast_stays(own):
    [toast] = own.execute(
        "select indexrelid::regclass::text from pg_index where indrelid ="
        " (select reltoastrelid from pg_class where oid = 'public.t'::regclass)"
    ).fetchone()
    invalidate(own, toast)

    reason, result = fails(own)

    assert toast in reason
    assert "public.t_b" in result["tables"][0]["rebuilt"]


def test_takes_tables_without_indexes_unlogged_ones_and_materialized_views(own):
    own.execute("create table public.bare (a int)")
    own.execute("create unlogged table public.unlogged (a int primary key)")
    own.execute("create materialized view public.m as select 1 as a")
    own.execute("create unique index m_a on public.m (a)")
    params = {"tables": ["public.bare", "public.unlogged", "public.m"]}

    bare, unlogged, view = maintain(Progress(own, params), REINDEX)["tables"]

    assert bare["warnings"] == ["it has no indexes to rebuild"]
    assert bare["bytes_before"] == bare["bytes_after"] == 0
    assert unlogged["rebuilt"] == ["public.unlogged_pkey"]
    assert view["rebuilt"] == ["public.m_a"]


def test_takes_a_partitioned_table_partition_by_partition(own, connect):
    own.execute(
        "create table public.p (a int primary key) partition by range (a);"
        "create table public.p1 partition of public.p for values from (0) to (10);"
        'create table public."P ""2" partition of public.p default partition by range (a);'
        'create table public.p3 partition of public."P ""2" default;'
    )
    blocker = connect()
    blocker.execute("select from public.p1")

    _, result = fails(own, "public.p", "public.u", lock_timeout="100ms")

    assert result["reindexed"] == ["public.u"]
    assert [
        (row["table"], row["outcome"], row.get("partition_of")) for row in result["tables"]
    ] == [
        ("public.p1", "failed", "public.p"),
        ("public.p3", "done", "public.p"),
        ("public.u", "done", None),
    ]


def test_names_an_index_of_a_partitioned_table_that_lacks_a_part(own):
    own.execute(
        "create table public.p (a int) partition by range (a);"
        "create table public.p1 partition of public.p default;"
        "create index p_a on only public.p (a);"
    )

    row = reindex(own, "public.p")

    assert (row["table"], row["outcome"]) == ("public.p1", "done")
    assert row["warnings"][0].startswith("public.p_a of the partitioned table is invalid")


def test_takes_a_partitioned_table_without_partitions(own):
    own.execute("create table public.p (a int primary key) partition by range (a)")

    assert reindex(own, "public.p")["outcome"] == "done"


def test_takes_indexes_with_hostile_names(own):
    own.execute('create index "x; drop table public.t; --" on public.t (c)')
    own.execute('create index "%s %(a)s ""q"" \\" on public.t (c, b)')

    row = reindex(own)

    assert 'public."x; drop table public.t; --"' in row["rebuilt"]
    assert len(row["rebuilt"]) == 5


@pytest.mark.parametrize(
    "name", ["pg_catalog.pg_class", "public.look", "public.f", "public.t_b", "public.s"]
)
def test_fails_clearly_on_what_nobody_can_reindex_online(own, name):
    own.execute("create view public.look as select 1 as a; create sequence public.s")
    own.execute("create foreign data wrapper w; create server z foreign data wrapper w")
    own.execute("create foreign table public.f (a int) server z")

    reason, result = fails(own, name, "public.u")

    assert "catalog" in reason or "it is not a table" in reason
    assert result["reindexed"] == ["public.u"]


def test_fails_on_a_table_that_is_renamed_or_dropped_on_the_way(own):
    """J05"""
    own.execute("create table public.v (a int primary key)")
    progress = Progress(own, {"tables": ["public.t", "public.u", "public.v", "corpus.tasks"]})
    step = progress.step

    def meddle(current: int, total: int | None, message: str = "") -> None:
        if message == "reindexing public.t":
            own.execute("alter table public.u rename to w; drop table public.v")
        step(current, total, message)

    progress.step = meddle

    with pytest.raises(
        JobFailed, match=r"2 of 4 tables failed: public\.u: there is no such"
    ) as caught:
        maintain(progress, REINDEX)

    assert caught.value.result["reindexed"] == ["public.t", "corpus.tasks"]


def test_goes_on_when_an_index_is_renamed_or_dropped_on_the_way(own, monkeypatch):
    """J05"""
    from pycortex._maintenance import _reindex

    rebuild = _reindex._Turn._rebuild
    own.execute("create index t_c on public.t (c)")

    def meddle(turn, index, number):
        if number == "1 of 4":
            own.execute("alter index public.t_b rename to t_bb; drop index public.t_c")
        return rebuild(turn, index, number)

    monkeypatch.setattr(_reindex._Turn, "_rebuild", meddle)

    row = reindex(own)

    assert row["outcome"] == "done"
    assert "public.t_c is gone meanwhile" in row["warnings"]
    assert "public.t_b" in row["rebuilt"]


def test_ends_a_statement_at_its_limit_and_says_limit_and_time(own):
    """J08: the limit is the job's, and what one index costs is not the others' loss."""
    own.execute(SLOW)
    own.execute("create table public.s (a int primary key, b int)")
    own.execute("create index s_slow on public.s (public.slow(a))")
    own.execute("insert into public.s select i, i from generate_series(1, 40) as i")

    reason, result = fails(own, "public.s", "public.u", statement_timeout="500ms")

    assert "public.s_slow: reached the statement_timeout of 500ms, after " in reason
    assert result["tables"][0]["rebuilt"] == ["public.s_pkey"]
    assert result["reindexed"] == ["public.u"]
    assert invalid(own) == []
    assert own.execute("show statement_timeout").fetchone() == ("0",)


@pytest.mark.parametrize("limit", ["0", 0, "0s", None])
def test_takes_0_for_no_limit(own, limit):
    """J08"""
    own.execute(SLOW)
    own.execute("create table public.s (a int)")
    own.execute("create index s_slow on public.s (public.slow(a))")
    own.execute("insert into public.s select i from generate_series(1, 15) as i")
    own.execute("set statement_timeout = '500ms'")  # as a role may have it
    if own.info.server_version >= 170000:  # before there was none
        own.execute("set transaction_timeout = '500ms'")

    row = reindex(own, "public.s", statement_timeout=limit, lock_timeout=limit)

    assert row["rebuilt"] == ["public.s_slow"]


@pytest.mark.parametrize("name", ["lock_timeout", "statement_timeout"])
@pytest.mark.parametrize("value", ["soon", "-1", "1s'; select 1", True, 1.5, {}, ["1s"]])
def test_refuses_a_limit_that_is_none(own, name, value):
    with pytest.raises(JobFailed, match=f"params: .*{name}"):
        maintain(Progress(own, {"tables": ["public.t"], name: value}), REINDEX)


def test_tries_no_further_index_of_a_table_that_is_locked(own, connect):
    """J04: ten indexes are not ten waits."""
    blocker = connect()
    blocker.execute("lock table public.t in share mode")

    reason, result = fails(own, lock_timeout="100ms")

    assert reason.count("lock_timeout of 100ms") == 1
    assert "not tried: " in reason
    assert "public.t_b" not in result["tables"][0]["rebuilt"]


def test_brings_what_the_server_warns_of_into_the_result(own):
    own.execute(
        "create function public.warns(a int) returns int language plpgsql immutable as"
        " $$ begin if a = 7 then raise warning 'seven!'; end if; return a; end $$"
    )
    own.execute("create index t_warns on public.t (public.warns(a))")

    row = reindex(own)
    analyzed = maintain(Progress(own, {"tables": ["public.t"]}), ANALYZE)["tables"][0]

    assert (row["outcome"], row["warnings"]) == ("done", ["seven!"])
    assert (analyzed["outcome"], "seven!" in analyzed["warnings"]) == ("done", True)


@pytest.fixture
def owner(own, connect, server):
    """The session of an ordinary role that owns public.t, which has a TOAST table."""
    with login(server, own.info.dbname, "cortex_runner") as url:
        conn = connect(url, autocommit=True)
        own.execute(f"alter table public.t owner to {conn.info.user}")
        yield conn
        conn.close()


def toast_of(conn) -> str:
    [name] = conn.execute(
        "select indexrelid::regclass::text from pg_index where indrelid ="
        " (select reltoastrelid from pg_class where oid = 'public.t'::regclass)"
    ).fetchone()
    return name


def test_reaches_toast_for_an_owner_who_is_no_superuser(own, owner):
    toast = toast_of(own)
    invalidate(own, "public.t_b")
    before = files(own, "public.t_pkey", "public.t_b", toast)

    row = reindex(owner)

    assert (row["outcome"], row["warnings"]) == ("done", ["public.t_b was invalid"])
    assert set(row["rebuilt"]) == {"public.t_pkey", "public.t_b", toast}
    assert not set(before) & set(files(own, "public.t_pkey", "public.t_b", toast))
    assert invalid(own) == []


def test_goes_index_by_index_for_an_owner_who_may_use_toast(own, owner):
    own.execute(f"grant usage on schema pg_toast to {owner.info.user}")
    try:
        progress = Progress(owner, {"tables": ["public.t"]})
        row = maintain(progress, REINDEX)["tables"][0]
    finally:
        own.execute(f"revoke usage on schema pg_toast from {owner.info.user}")

    assert len(row["rebuilt"]) == 3


def test_cleans_up_what_an_owner_may_and_names_the_rest(own, owner, connect):
    blocker = connect()
    blocker.execute("select from public.t")

    reason, _ = fails(owner, lock_timeout="100ms")

    blocker.rollback()
    assert "lock_timeout of 100ms" in reason
    assert "left behind: " in reason
    row = reindex(owner)
    assert row["outcome"] == "done"
    assert [name for name in invalid(own) if not name.startswith("pg_toast.")] == []
    assert all(name.startswith("public.") for name in row["dropped"])


def test_fails_for_whoever_does_not_own_the_table(own, owner):
    reason, result = fails(owner, "public.u", "public.t")

    assert "public.u" in reason
    assert result["reindexed"] == ["public.t"]
