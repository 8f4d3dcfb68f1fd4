"""The bodies of kind populate_report count in ranges, and lose no old slice and no change."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import psycopg
import pytest

import pycortex.builtin
import pycortex.sql
from pycortex import JobCancelled, _populate
from tests.corpus.rows import Progress, Scope, cached, make_scope, make_task
from tests.corpus.test_populate_scope import plain
from tests.waiting import wait_until

Conn = psycopg.Connection[Any]


@pytest.fixture
def own(connect) -> Conn:
    return connect(autocommit=True)


@pytest.fixture
def narrow(monkeypatch) -> None:
    """Ranges of two tasks."""
    monkeypatch.setattr(_populate, "FIRST_WIDTH", 2)
    monkeypatch.setattr(pycortex.sql, "next_width", lambda *_: 2)


@pytest.fixture
def scope(own) -> Scope:
    scope = make_scope(own)
    for number in range(12):
        make_task(own, scope, -2, [("warning", f"c{number % 3}", "old")] * (number % 4))
    return scope


def progress(own: Conn, scope: Scope) -> Progress:
    names = ("corpus_id", "service_id", "severity")
    return Progress(own, dict(zip(names, scope.slice("warning"), strict=True)))


def is_exact(own: Conn, scope: Scope) -> bool:
    found, expected = cached(own, scope, "warning"), plain(own, scope, "warning")
    return sorted(found, key=repr) == sorted(expected, key=repr)


def left_over(own: Conn) -> tuple[int, int]:
    return own.execute(
        "select (select count(*) from corpus.part),"
        " (select count(*) from corpus.run where state <> 'kept')"
    ).fetchone()


def test_counts_in_ranges_each_a_step_and_a_transaction(own, scope, narrow, monkeypatch):
    transactions, count_range = set(), pycortex.sql.count_range

    def spy(conn: Conn, *arguments: int) -> int:
        rows = count_range(conn, *arguments)
        transactions.update(conn.execute("select xmin::text from corpus.part").fetchall())
        return rows

    monkeypatch.setattr(pycortex.sql, "count_range", spy)
    body = progress(own, scope)

    result = pycortex.builtin.populate_report(body)

    assert len(transactions) == 6
    counting = [step for step in body.steps if step[2].startswith("counting")]
    assert [current for current, _, _ in counting] == sorted(current for current, _, _ in counting)
    assert {total for _, total, _ in counting} == {12}
    assert body.steps[-1] == (1, 1, "report ready")
    assert result == {"populated": "warning", "rows": len(cached(own, scope, "warning"))}
    assert is_exact(own, scope)
    assert left_over(own) == (0, 0)


def test_two_connections_count_at_the_same_time(own, scope, narrow, monkeypatch):
    both, count_range, sessions = threading.Barrier(2), pycortex.sql.count_range, set()

    def meet(conn: Conn, *arguments: int) -> int:
        if conn.info.backend_pid not in sessions:
            sessions.add(conn.info.backend_pid)
            both.wait(timeout=30)  # breaks if there never is a second one
        return count_range(conn, *arguments)

    monkeypatch.setattr(pycortex.sql, "count_range", meet)

    pycortex.builtin.populate_report(progress(own, scope))

    assert len(sessions) == 2
    assert is_exact(own, scope)


def test_counts_only_what_changed_the_next_time(own, scope, narrow, monkeypatch):
    pycortex.builtin.populate_report(progress(own, scope))
    make_task(own, scope, -2, [("warning", "c1", "new")])
    monkeypatch.setattr(pycortex.sql, "begin_run", None)

    pycortex.builtin.populate_report(progress(own, scope))

    assert is_exact(own, scope)
    assert pycortex.sql.slice_is_stale(own, *scope.slice("warning")) is False


@pytest.mark.parametrize("routine", ["count_range", "keep_range"])
def test_a_change_between_two_ranges_is_not_lost(own, scope, narrow, monkeypatch, routine, connect):
    other, called = connect(autocommit=True), threading.Lock()
    each, changed = getattr(pycortex.sql, routine), []

    def change(conn: Conn, *arguments: int) -> int:
        rows = each(conn, *arguments)
        with called:
            if not changed:
                changed.append(True)
                other.execute(
                    "insert into corpus.log_warnings (task_id, category, what)"
                    " select id, 'late', 'late' from corpus.tasks"
                )
                other.execute("delete from corpus.log_warnings where category = 'c1'")
        return rows

    monkeypatch.setattr(pycortex.sql, routine, change)

    pycortex.builtin.populate_report(progress(own, scope))

    assert changed
    assert is_exact(own, scope)
    assert pycortex.sql.slice_is_stale(own, *scope.slice("warning")) is False


def test_an_unfinished_count_published_after_a_change_is_stale(own, scope):
    run = pycortex.sql.begin_run(own, *scope.slice("warning"))
    pycortex.sql.count_range(own, run.run, run.first_task, run.first_task + 5)
    own.execute("update corpus.log_warnings set category = 'moved'")
    pycortex.sql.count_range(own, run.run, run.first_task + 6, run.last_task)

    pycortex.sql.finish_run(own, run.run)

    assert pycortex.sql.slice_is_stale(own, *scope.slice("warning")) is True


@pytest.mark.parametrize("keeps", [False, True])
def test_a_run_that_was_finished_since_the_snapshot_is_to_be_tried_again(
    own, connect, scope, keeps
):
    run = pycortex.sql.begin_run(own, *scope.slice("warning"), keeps=keeps)
    count = pycortex.sql.keep_range if keeps else pycortex.sql.count_range
    count(own, run.run, run.first_task, run.last_task)
    late = connect()
    late.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    late.execute("select count(*) from corpus.run")
    pycortex.sql.finish_run(own, run.run)

    with pytest.raises(psycopg.errors.SerializationFailure):
        pycortex.sql.finish_run(late, run.run)

    assert is_exact(own, scope)


def test_a_change_that_was_begun_before_the_count_and_committed_after_it_is_seen(own, connect):
    """No slice is watched yet when the change is made."""
    scope, other = make_scope(own), connect()
    task = make_task(own, scope, -2, [("warning", "c", "w")])
    other.execute("insert into corpus.log_warnings (task_id, category) values (%s, 'late')", [task])
    pycortex.sql.populate_scope(own, *scope.slice("warning"))
    before = pycortex.sql.slice_is_stale(own, *scope.slice("warning"))

    other.commit()

    assert before is False
    assert pycortex.sql.slice_is_stale(own, *scope.slice("warning")) is True


@pytest.mark.parametrize("table", ["part", "report_grain_cache", "kept_task"])
def test_a_failing_count_keeps_the_old_slice_and_leaves_nothing(own, scope, narrow, table):
    """J16"""
    pycortex.sql.populate_scope(own, *scope.slice("warning"))
    before = cached(own, scope, "warning")
    make_task(own, scope, -2, [("warning", "new", "new")])
    rule = "run < 0" if table == "kept_task" else "category <> 'new'"
    own.execute(f"alter table corpus.{table} add constraint boom check ({rule}) not valid")

    with pytest.raises(psycopg.errors.CheckViolation):
        pycortex.builtin.populate_report(progress(own, scope))

    # What was counted first is published by the time that keeping fails.
    assert (cached(own, scope, "warning") == before) is (table != "kept_task")
    own.execute(f"alter table corpus.{table} drop constraint boom")
    pycortex.builtin.populate_report(progress(own, scope))
    assert is_exact(own, scope)
    assert left_over(own) == (0, 0)


def test_an_invalidation_while_a_count_fails_is_not_undone(own, scope, narrow):
    """J16"""
    pycortex.sql.populate_scope(own, *scope.slice("warning"))
    run = pycortex.sql.begin_run(own, *scope.slice("warning"))

    pycortex.sql.invalidate_scope(own, scope.corpus_id, scope.service_id)
    pycortex.sql.drop_run(own, run.run)

    assert cached(own, scope, "warning") == []
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
        pycortex.sql.finish_run(own, run.run)


@pytest.mark.parametrize("doing", ["counting", "keeping"])
def test_a_cancel_ends_it_between_two_ranges(own, scope, narrow, doing):
    class Cancelled(Progress):
        def step(self, current: int, total: int | None = None, message: str = "") -> None:
            super().step(current, total, message)
            if message.startswith(doing) and current > 0:
                raise JobCancelled("cancelled on request")

    pycortex.sql.populate_scope(own, *scope.slice("warning"))
    before = cached(own, scope, "warning")

    with pytest.raises(JobCancelled):
        pycortex.builtin.populate_report(Cancelled(own, progress(own, scope).params))

    assert cached(own, scope, "warning") == before
    own.execute("select corpus.clear_runs()")
    assert left_over(own) == (0, 0)


def sparse(own: Conn) -> Scope:
    """A slice whose tasks lie in several ranges of a body in SQL."""
    scope = make_scope(own)
    for number in range(5):
        make_task(own, scope, -2, [("warning", "c", f"w{number % 2}")])
        own.execute("select setval('corpus.tasks_id_seq', nextval('corpus.tasks_id_seq') + 900)")
    return scope


def work(own: Conn, scope: Scope) -> pycortex.Job:
    job = pycortex.sql.spawn_report_populate(own, *scope.slice("warning")).uuid
    own.execute("call cortex.work()")
    found = pycortex.sql.find_job(own, job)
    assert found is not None
    return found


def test_the_body_in_sql_counts_in_ranges_and_then_only_what_changed(own):
    scope = sparse(own)

    first = work(own, scope)
    (runs,) = own.execute("select count(*) from corpus.run where state = 'kept'").fetchone()
    make_task(own, scope, -2, [("warning", "d", "new")])
    second = work(own, scope)

    rows = len(cached(own, scope, "warning"))
    assert (first.status, second.status) == ("succeeded", "succeeded")
    assert second.result == {"populated": "warning", "rows": rows}
    assert (second.progress_current, second.progress_total) == (1, 1)
    assert runs == own.execute("select count(*) from corpus.run").fetchone()[0] == 1
    assert is_exact(own, scope)


def at_each_part(own: Conn, statement: str) -> None:
    own.execute(
        "create function public.meddle() returns trigger language plpgsql security definer"
        f" as $$ begin {statement}; return null; end $$"
    )
    own.execute(
        "create trigger meddle after insert on corpus.part"
        " for each statement execute function public.meddle()"
    )


def test_the_body_in_sql_is_cancelled_between_two_ranges(own):
    scope = sparse(own)
    at_each_part(own, "perform cortex.cancel_job(uuid) from cortex.jobs where status = 'running'")

    job = work(own, scope)

    assert (job.status, job.message) == ("cancelled", "cancelled")
    assert cached(own, scope, "warning") == []
    assert left_over(own) == (0, 0)


def test_the_body_in_sql_keeps_the_old_slice_when_it_fails(own):
    """J16"""
    scope = sparse(own)
    pycortex.sql.populate_scope(own, *scope.slice("warning"))
    before = cached(own, scope, "warning")
    at_each_part(own, "raise exception 'no luck'")

    job = work(own, scope)

    assert job.status == "failed"
    assert "no luck" in job.message
    assert cached(own, scope, "warning") == before
    assert left_over(own) == (0, 0)


@pytest.mark.parametrize("level", ["cortex_runner", "cortex_admin"])
def test_notes_what_whoever_may_only_insert_messages_does(own, level):
    scope = make_scope(own)
    task = make_task(own, scope, -2, [("warning", "c", "w")])
    pycortex.sql.populate_scope(own, *scope.slice("warning"))
    own.execute(f"set role {level}")

    own.execute("insert into corpus.log_warnings (task_id, category) values (%s, 'new')", [task])

    assert pycortex.sql.slice_is_stale(own, *scope.slice("warning")) is True
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        own.execute("select from corpus.change")


def test_a_slice_from_another_cluster_is_stale_and_counted_anew(own):
    """What was seen is told by numbers of transactions, which mean nothing after a restore."""
    scope = make_scope(own)
    task = make_task(own, scope, -2, [("warning", "c", "w")])
    work(own, scope)
    own.execute("update corpus.run set cluster = cluster - 1, seen = '4000000000:4000000000:'")
    own.execute("update corpus.slice set cluster = cluster - 1, seen = '4000000000:4000000000:'")
    own.execute("insert into corpus.change (severity, txid) values ('warning', '3999999999')")
    own.execute("insert into corpus.log_warnings (task_id, category) values (%s, 'new')", [task])

    stale = pycortex.sql.slice_is_stale(own, *scope.slice("warning"))
    pycortex.sql.populate_scope(own, *scope.slice("warning"))

    assert stale is True
    assert is_exact(own, scope)
    assert pycortex.sql.slice_is_stale(own, *scope.slice("warning")) is False


def test_a_deleted_corpus_leaves_nothing_of_its_counts(own):
    scope = sparse(own)
    work(own, scope)
    own.execute("delete from corpus.tasks")
    own.execute("delete from corpus.corpora")

    while pycortex.sql.clear_runs(own):
        pass

    for table in (
        "change",
        "slice",
        "run",
        "part",
        "kept_task",
        "kept_count",
        "report_grain_cache",
    ):
        assert own.execute(f"select count(*) from corpus.{table}").fetchone() == (0,), table


def test_the_upkeep_clears_away_what_counts_in_place_leave(own):
    scope = make_scope(own)
    task = make_task(own, scope, -2, [("warning", "c", "w")])
    for _ in range(3):
        own.execute("insert into corpus.log_warnings (task_id, category) values (%s, 'c')", [task])
        pycortex.sql.count_now(own, *scope.slice("warning"), budget=timedelta(days=1))

    def is_clear() -> bool:
        own.execute("update cortex.upkeep set last_run_at = null")
        own.execute("select cortex.maintain()")
        return own.execute(
            "select not exists (select from corpus.change) and not exists (select from corpus.run)"
        ).fetchone()[0]

    wait_until(is_clear, what="what counts left is cleared away")
    assert pycortex.sql.slice_is_stale(own, *scope.slice("warning")) is False


def test_a_change_that_is_cleared_away_before_a_count_is_committed_is_not_lost(own, connect):
    change, count = connect(), connect()
    scope = make_scope(own)
    task = make_task(own, scope, -2, [("warning", "c", "w")])
    own.execute("update corpus.slice set seen = null, stale = true")
    change.execute("insert into corpus.log_warnings (task_id, category) values (%s, 'd')", [task])
    pycortex.sql.populate_scope(count, *scope.slice("warning"))
    change.commit()
    pycortex.sql.clear_runs(own)

    count.commit()

    assert not is_exact(own, scope)
    assert pycortex.sql.slice_is_stale(own, *scope.slice("warning")) is True
    pycortex.sql.populate_scope(own, *scope.slice("warning"))
    assert is_exact(own, scope)
    assert pycortex.sql.slice_is_stale(own, *scope.slice("warning")) is False
