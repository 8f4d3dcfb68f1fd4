"""The bodies of kinds reindex and analyze: table by table, and honest about each."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest
from psycopg import sql

from pycortex._maintenance import ANALYZE, REINDEX, maintain
from pycortex.errors import JobFailed
from tests.corpus.rows import Progress
from tests.waiting import wait_until, wait_until_blocked

KINDS = pytest.mark.parametrize("work", [REINDEX, ANALYZE], ids=lambda work: work.done)


@pytest.fixture
def own(connect) -> psycopg.Connection[Any]:
    conn = connect(autocommit=True)
    for name in ("ok1", "ok2"):
        make_table(conn, "public", name)
    return conn


def make_table(conn: psycopg.Connection[Any], schema: str, name: str) -> None:
    table = sql.Identifier(schema, name)
    conn.execute(sql.SQL("create table {} (a integer primary key)").format(table))
    conn.execute(sql.SQL("insert into {} select generate_series(1, 100)").format(table))


def files(conn: psycopg.Connection[Any], *names: str) -> list[int]:
    """The files that the indexes of tables lie in; a rebuilt index has another."""
    return [
        conn.execute("select relfilenode from pg_class where relname = %s", [f"{name}_pkey"])
        .fetchone()[0]
        for name in names
    ]  # fmt: skip


def analyzed(conn: psycopg.Connection[Any], table: str) -> bool:
    found = conn.execute("select reltuples from pg_class where oid = to_regclass(%s)", [table])
    return found.fetchone() == (100,)


def invalid(conn: psycopg.Connection[Any]) -> list[Any]:
    return conn.execute(
        "select indexrelid::regclass::text from pg_index where not indisvalid"
    ).fetchall()


def test_reindex_rebuilds_the_indexes_of_each_table(own):
    before = files(own, "ok1", "ok2")
    progress = Progress(own, {"tables": ["public.ok1", "public.ok2"]})

    result = maintain(progress, REINDEX)

    assert result["reindexed"] == ["public.ok1", "public.ok2"]
    assert not set(before) & set(files(own, "ok1", "ok2"))
    assert progress.steps == [
        (0, 2, "reindexing public.ok1"),
        (1, 2, "reindexing public.ok2"),
        (2, 2, "reindex complete"),
    ]


def test_analyze_refreshes_the_statistics_of_each_table(own):
    progress = Progress(own, {"tables": ["public.ok1", "public.ok2"]})

    result = maintain(progress, ANALYZE)

    assert result["analyzed"] == ["public.ok1", "public.ok2"]
    assert analyzed(own, "public.ok1")
    assert [message for *_, message in progress.steps] == [
        "analyzing public.ok1",
        "analyzing public.ok2",
        "analyze complete",
    ]


@KINDS
def test_takes_the_tables_that_the_spawn_routine_stored(own, work):
    make_table(own, "corpus", 'W"eird; drop table x')
    own.execute("create materialized view public.mat as select 1 as a")
    own.execute("create table public.parts (a int primary key) partition by range (a)")
    own.execute("create table public.part partition of public.parts default")
    kind = work.kind
    names = ['corpus."W""eird; drop table x"', "public.mat", "public.parts", "corpus.tasks"]
    [uuid, _] = own.execute(f"select * from cortex.spawn_{kind}(tables => %s)", [names]).fetchone()
    [params] = own.execute("select params from cortex.find_job(%s)", [uuid]).fetchone()

    result = maintain(Progress(own, params), work)

    assert result[work.done] == names


@KINDS
def test_does_the_rest_when_a_table_is_gone_and_ends_failed_naming_it(own, work):
    """J05: ok1 and ok2 are done, the failure is listed."""
    progress = Progress(own, {"tables": ["public.ok1", "public.gone", "public.ok2"]})

    with pytest.raises(JobFailed) as caught:
        maintain(progress, work)

    assert str(caught.value) == (
        "1 of 3 tables failed: public.gone: there is no such table any more;"
        f" {work.done}: public.ok1, public.ok2"
    )


@KINDS
@pytest.mark.parametrize(
    "name",
    ["ok1", "x; drop table public.ok1", '"unclosed', "public.ok1; drop table public.ok2", "", "%s"],
)
def test_never_runs_a_name_that_is_not_exactly_a_table(own, work, name):
    with pytest.raises(JobFailed, match="no such table"):
        maintain(Progress(own, {"tables": [name]}), work)

    assert own.execute("select count(*) from public.ok1").fetchone() == (100,)


@KINDS
def test_ends_failed_with_the_servers_words_on_what_is_no_table(own, work):
    own.execute("create view public.look as select 1 as a")

    with pytest.raises(JobFailed, match="look") as caught:
        maintain(Progress(own, {"tables": ["public.ok1", "public.look"]}), work)

    assert f"{work.done}: public.ok1" in str(caught.value)


@KINDS
@pytest.mark.parametrize("tables", [None, [], "public.ok1", [1], {}, ["public.ok1", None]])
def test_refuses_params_without_tables(own, work, tables):
    with pytest.raises(JobFailed, match="tables"):
        maintain(Progress(own, {"tables": tables}), work)


@pytest.mark.parametrize("value", ["soon", "-1", "1 fortnight", "1s'; select 1"])
def test_refuses_a_lock_timeout_that_is_none(own, value):
    params = {"tables": ["public.ok1"], "lock_timeout": value}

    with pytest.raises(JobFailed, match="lock_timeout"):
        maintain(Progress(own, params), ANALYZE)


def test_analyze_is_no_success_on_a_table_that_the_server_only_skipped(own, connect):
    own.execute("create role someone")
    try:
        other = connect(autocommit=True)
        own.execute("grant cortex_runner to someone")
        other.execute("set role someone")

        with pytest.raises(JobFailed, match="ok1"):
            maintain(Progress(other, {"tables": ["public.ok1"]}), ANALYZE)

        assert not analyzed(own, "public.ok1")
    finally:
        own.execute("drop role someone")


def test_reindex_gives_up_on_a_locked_table_and_names_who_is_in_the_way(own, connect):
    """J04: the wait is bounded, and the blocking session is named."""
    blocker = connect(application_name="idler")
    blocker.execute("select from public.ok1")
    params = {"tables": ["public.ok1", "public.ok2"], "lock_timeout": "200ms"}

    with pytest.raises(JobFailed) as caught:
        maintain(Progress(own, params), REINDEX)

    assert f"session {blocker.info.backend_pid} (idler, idle in transaction since " in str(
        caught.value
    )
    assert "reindexed: public.ok2" in str(caught.value)


def test_reindex_says_what_it_had_to_leave_behind(own, connect):
    """J04: nothing is left in silence; while the blocker stays the leftover can't be dropped."""
    blocker = connect()
    blocker.execute("select from public.ok1")
    params = {"tables": ["public.ok1"], "lock_timeout": "200ms"}

    with pytest.raises(JobFailed) as caught:
        maintain(Progress(own, params), REINDEX)

    left = [name for (name,) in invalid(own)]
    assert left
    assert all(name in str(caught.value) for name in left)


def test_reindex_drops_what_it_left_behind_when_it_can(own, connect):
    blocker = connect()
    blocker.execute("select from public.ok1")
    progress = Progress(own, {"tables": ["public.ok1", "public.ok2"], "lock_timeout": "2s"})
    step = progress.step

    def let_go_once_it_is_cleaning_up(current: int, total: int | None, message: str = "") -> None:
        if "left over" in message:
            blocker.rollback()
        step(current, total, message)

    progress.step = let_go_once_it_is_cleaning_up

    with pytest.raises(JobFailed) as caught:
        maintain(progress, REINDEX)

    assert invalid(own) == []
    assert "left behind" not in str(caught.value)
    [row, _] = caught.value.result["tables"]
    assert [name.startswith("public.ok1_pkey_cc") for name in row["dropped"]] == [True]


def test_analyze_waits_for_a_lock_no_longer_than_it_may(own, connect):
    blocker = connect()
    blocker.execute("lock table public.ok1 in share row exclusive mode")
    params = {"tables": ["public.ok1"], "lock_timeout": "200ms"}

    with pytest.raises(JobFailed, match=f"session {blocker.info.backend_pid}"):
        maintain(Progress(own, params), ANALYZE)


def test_sets_no_limit_to_statements_whatever_the_role_has(own, connect):
    conn = connect(autocommit=True, options="-c statement_timeout=60s")

    maintain(Progress(conn, {"tables": ["public.ok1"]}), REINDEX)

    assert conn.execute("show statement_timeout").fetchone() == ("0",)


def test_stops_between_tables_when_a_step_says_so(own):
    progress = Progress(own, {"tables": ["public.ok1", "public.ok2"]})
    step = progress.step

    def stop_at_the_second(current: int, total: int | None = None, message: str = "") -> None:
        if current == 1:
            raise KeyboardInterrupt
        step(current, total, message)

    progress.step = stop_at_the_second

    with pytest.raises(KeyboardInterrupt):
        maintain(progress, ANALYZE)

    assert analyzed(own, "public.ok1")
    assert not analyzed(own, "public.ok2")


def test_leaves_the_rest_when_somebody_cancels_the_statement_and_cleans_up(own, connect):
    """J12: the statement ends on the server, and nothing is left behind."""
    blocker, other = connect(), connect(autocommit=True)
    blocker.execute("select from public.ok1")
    failures: list[BaseException] = []

    def run() -> None:
        try:
            maintain(Progress(other, {"tables": ["public.ok1", "public.ok2"]}), REINDEX)
        except JobFailed as error:
            failures.append(error)

    before = files(own, "ok2")
    running = threading.Thread(target=run)
    running.start()
    wait_until(lambda: invalid(own), what="the reindex is under way")
    wait_until_blocked(own, other.info.backend_pid)
    own.execute("select pg_cancel_backend(%s)", [other.info.backend_pid])
    wait_until(
        lambda: (
            own.execute(
                "select from pg_stat_activity where pid = %s and query ilike 'drop index%%'",
                [other.info.backend_pid],
            ).fetchone()
            is not None
        ),
        what="it cleans up",
    )
    blocker.rollback()
    running.join()

    [failure] = failures
    assert isinstance(failure.__cause__, psycopg.errors.QueryCanceled)
    assert [(row["outcome"], row["reason"]) for row in failure.result["tables"]] == [
        ("failed", "canceling statement due to user request"),
        ("skipped", "not begun"),
    ]
    assert invalid(own) == []
    assert files(own, "ok2") == before
