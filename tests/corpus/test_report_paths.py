"""
Every way to count a report gives what the plain statement gives, whatever was done before.

The plain statement is COUNT(DISTINCT task) and COUNT(*) over ROLLUP (category, what).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pycortex.sql
from tests.corpus.rows import SEVERITIES, Scope, cached, make_scope, make_task
from tests.corpus.test_populate_scope import plain

NAMES = st.sampled_from([None, "", " ", "null", "a", "A", "ä", "a,b", "\\foo", "{x}", "x" * 60])
SEVERITY = st.sampled_from(SEVERITIES)
MESSAGE = st.tuples(SEVERITY, NAMES, NAMES)
TASK = st.tuples(st.integers(-5, 0), st.lists(MESSAGE, max_size=8))
PLACE = st.integers(0, 7)

Act = tuple[Any, ...]
Conn = psycopg.Connection[Any]

ACTS = st.one_of(
    st.tuples(st.just("add task"), PLACE, TASK),
    st.tuples(st.just("add message"), PLACE, MESSAGE),
    st.tuples(st.just("change status"), PLACE, st.integers(-5, 0)),
    st.tuples(st.just("move task"), PLACE, st.booleans()),
    st.tuples(st.just("delete task"), PLACE),
    st.tuples(st.just("rename messages"), SEVERITY, NAMES, NAMES),
    st.tuples(st.just("give messages away"), SEVERITY, PLACE, PLACE),
    st.tuples(st.just("delete messages"), SEVERITY, NAMES),
    st.tuples(st.just("truncate"), SEVERITY),
    st.tuples(st.just("copy"), PLACE, st.lists(MESSAGE, max_size=5)),
    st.tuples(st.just("replace"), PLACE, st.integers(-5, 0)),
    st.tuples(st.just("invalidate")),
    st.tuples(st.just("invalidate all")),
    st.tuples(st.just("forget")),
    st.tuples(st.just("clear")),
    st.tuples(st.just("count"), SEVERITY),
    st.tuples(st.just("count in ranges"), SEVERITY),
    st.tuples(st.just("keep"), SEVERITY),
    st.tuples(st.just("count now"), SEVERITY),
)


def count(conn: Conn, slice_: tuple[int, int, str]) -> None:
    pycortex.sql.populate_scope(conn, *slice_)


def count_in_ranges(conn: Conn, slice_: tuple[int, int, str], *, keeps: bool = False) -> None:
    run = pycortex.sql.begin_run(conn, *slice_, keeps=keeps)
    each = pycortex.sql.keep_range if keeps else pycortex.sql.count_range
    if run.first_task is not None and run.last_task is not None:
        for first in range(run.first_task, run.last_task + 1, 2):
            each(conn, run.run, first, min(first + 1, run.last_task))
    pycortex.sql.finish_run(conn, run.run)


def keep(conn: Conn, slice_: tuple[int, int, str]) -> None:
    count_in_ranges(conn, slice_, keeps=True)


def count_now(conn: Conn, slice_: tuple[int, int, str]) -> None:
    assert pycortex.sql.count_now(conn, *slice_).ready


COUNTS: dict[str, Callable[[Conn, tuple[int, int, str]], None]] = {
    "count": count,
    "count in ranges": count_in_ranges,
    "keep": keep,
    "count now": count_now,
}


class World:
    """Two scopes with tasks, to which acts are done."""

    def __init__(self, conn: Conn) -> None:
        self.conn = conn
        self.scopes = (make_scope(conn), make_scope(conn))
        self.add_task(0, (-2, [("warning", "a", "a"), ("info", "a", "b")]))

    def tasks(self) -> list[int]:
        return [
            task
            for (task,) in self.conn.execute(
                "select id from corpus.tasks where corpus_id = any(%s) order by id",
                [[scope.corpus_id for scope in self.scopes]],
            )
        ]

    def task(self, place: int) -> int:
        tasks = self.tasks() or [self.add_task(place, (-1, []))]
        return tasks[place % len(tasks)]

    def add_task(self, place: int, task: tuple[int, list[tuple[str, Any, Any]]]) -> int:
        return make_task(self.conn, self.scopes[place % 2], *task)

    def do(self, act: Act) -> None:
        conn = self.conn
        match act:
            case ("add task", place, task):
                self.add_task(place, task)
            case ("add message", place, (severity, category, what)):
                conn.execute(
                    f"insert into corpus.log_{severity}s (task_id, category, what)"
                    " values (%s, %s, %s)",
                    [self.task(place), category, what],
                )
            case ("change status", place, status):
                conn.execute(
                    "update corpus.tasks set status = %s where id = %s", [status, self.task(place)]
                )
            case ("move task", place, second):
                scope = self.scopes[second]
                conn.execute(
                    "update corpus.tasks set corpus_id = %s, service_id = %s where id = %s",
                    [scope.corpus_id, scope.service_id, self.task(place)],
                )
            case ("delete task", place):
                conn.execute("delete from corpus.tasks where id = %s", [self.task(place)])
            case ("rename messages", severity, old, new):
                conn.execute(
                    f"update corpus.log_{severity}s set category = %s, what = what || 'x'"
                    " where category is not distinct from %s and length(what) < 100",
                    [new, old],
                )
            case ("give messages away", severity, giver, taker):
                conn.execute(
                    f"update corpus.log_{severity}s set task_id = %s where task_id = %s",
                    [self.task(taker), self.task(giver)],
                )
            case ("delete messages", severity, what):
                conn.execute(
                    f"delete from corpus.log_{severity}s where what is not distinct from %s",
                    [what],
                )
            case ("truncate", severity):
                conn.execute(f"truncate corpus.log_{severity}s")
            case ("copy", place, messages):
                task = self.task(place)
                with conn.cursor().copy(
                    "copy corpus.log_infos (task_id, category, what) from stdin"
                ) as copy:
                    for _, category, what in messages:
                        copy.write_row((task, category, what))
            case ("replace", place, status):
                (entry, corpus, service) = conn.execute(
                    "select entry, corpus_id, service_id from corpus.tasks where id = %s",
                    [self.task(place)],
                ).fetchone()
                pycortex.sql.put_tasks(conn, corpus, service, [entry], [status])
            case ("invalidate",):
                for scope in self.scopes:
                    pycortex.sql.invalidate_scope(conn, scope.corpus_id, scope.service_id)
            case ("invalidate all",):
                pycortex.sql.invalidate_all(conn)
            case ("forget",):
                for scope in self.scopes:
                    pycortex.sql.forget_grains(conn, scope.corpus_id, scope.service_id)
            case ("clear",):
                pycortex.sql.clear_runs(conn, batch_size=3)
            case (way, severity):
                for scope in self.scopes:
                    self.count(way, scope, severity)

    def count(self, way: str, scope: Scope, severity: str) -> None:
        COUNTS[way](self.conn, scope.slice(severity))
        self.check(scope, severity)

    def check(self, scope: Scope, severity: str) -> None:
        """What is cached is what the plain statement counts; or else it is cold, or stale."""
        found = cached(self.conn, scope, severity)
        expected = plain(self.conn, scope, severity)
        assert sorted(found, key=repr) == sorted(expected, key=repr)
        assert pycortex.sql.slice_is_stale(self.conn, *scope.slice(severity)) is False

    def check_marks(self) -> None:
        """A slice that isn't marked is right."""
        for scope in self.scopes:
            for severity in SEVERITIES:
                if pycortex.sql.slice_is_stale(self.conn, *scope.slice(severity)) is False:
                    self.check(scope, severity)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(acts=st.lists(ACTS, min_size=3, max_size=20), way=st.sampled_from(sorted(COUNTS)))
def test_every_way_counts_like_the_plain_statement_in_one_transaction(conn, acts, way):
    with conn.transaction(force_rollback=True):
        world = World(conn)
        for act in acts:
            world.do(act)
            world.check_marks()

        for scope in world.scopes:
            for severity in SEVERITIES:
                world.count(way, scope, severity)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(acts=st.lists(ACTS, min_size=3, max_size=20), way=st.sampled_from(sorted(COUNTS)))
def test_every_way_counts_like_the_plain_statement_in_many_transactions(connect, acts, way):
    conn = connect(autocommit=True)
    world = World(conn)
    for act in acts:
        world.do(act)
        world.check_marks()

    for scope in world.scopes:
        for severity in SEVERITIES:
            world.count(way, scope, severity)
    conn.close()


@pytest.mark.parametrize("way", sorted(COUNTS))
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_counts_in_an_older_snapshot_what_that_shows(connect, way, level):
    conn, other = connect(autocommit=True), connect(autocommit=True)
    scope = make_scope(other)
    make_task(other, scope, -2, [("warning", "a", "b")])
    keep(other, scope.slice("warning"))
    conn.execute(f"begin isolation level {level}")
    conn.execute("select from corpus.tasks")
    make_task(other, scope, -2, [("warning", "a", "c")])

    COUNTS[way](conn, scope.slice("warning"))

    assert sorted(cached(conn, scope, "warning")) == sorted(plain(conn, scope, "warning"))
    conn.execute("commit")
    assert pycortex.sql.slice_is_stale(other, *scope.slice("warning")) is True
    count(other, scope.slice("warning"))
    assert sorted(cached(other, scope, "warning")) == sorted(plain(other, scope, "warning"))
