"""corpus.populate_scope counts exactly what the plain definition counts."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

import pycortex.sql
from tests.corpus.rows import SEVERITIES, cached, make_scope, make_task
from tests.waiting import wait_until_blocked

POPULATE = "select corpus.populate_scope(%s, %s, %s)"

PLAIN = """
select
    case grouping(l.category, l.what) when 0 then 'what' when 1 then 'category' else 'total' end,
    l.category,
    l.what,
    count(distinct t.id),
    count(*)
from corpus.tasks as t
join corpus.{} as l on l.task_id = t.id
where t.corpus_id = %s and t.service_id = %s and t.status = any(%s)
group by rollup (l.category, l.what)
"""

STATUSES = {
    "info": [-1, -2, -3, -4],
    "warning": [-2],
    "error": [-3],
    "fatal": [-4],
    "invalid": [-5],
}

NAMES = st.sampled_from([None, "", " ", "null", "a", "A", "ä", "a,b", "\\foo", "x" * 60])
MESSAGES = st.lists(st.tuples(st.sampled_from(SEVERITIES), NAMES, NAMES), max_size=12)
TASKS = st.lists(st.tuples(st.integers(-5, 0), MESSAGES), max_size=8)


def plain(conn: psycopg.Connection[Any], scope: Any, severity: str) -> list[tuple[Any, ...]]:
    query = sql.SQL(PLAIN).format(sql.Identifier(f"log_{severity}s"))
    return conn.execute(query, [*scope.slice(severity)[:2], STATUSES[severity]]).fetchall()


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tasks=TASKS, others=TASKS, severity=st.sampled_from(SEVERITIES))
def test_counts_like_the_plain_definition(conn, tasks, others, severity):
    with conn.transaction(force_rollback=True):
        scope, other = make_scope(conn), make_scope(conn)
        for each, rows in ((scope, tasks), (other, others)):
            for status, messages in rows:
                make_task(conn, each, status, messages)

        rows = pycortex.sql.populate_scope(conn, *scope.slice(severity))

        expected = plain(conn, scope, severity)
        found = cached(conn, scope, severity)
        assert sorted(found, key=repr) == sorted(expected, key=repr)
        assert rows == len(found)


def test_counts_the_same_when_it_takes_the_plan_for_many_messages(conn):
    scope = make_scope(conn)
    for number in range(60):
        make_task(
            conn,
            scope,
            -1 - number % 4,
            [("info", f"c{n % 3}", f"w{n % 7}") for n in range(number)],
        )
    conn.execute("set local enable_hashagg = off")

    conn.execute(POPULATE, scope.slice("info"))

    assert sorted(cached(conn, scope, "info"), key=repr) == sorted(
        plain(conn, scope, "info"), key=repr
    )


def test_keeps_messages_without_a_name_apart_from_the_sums(conn):
    scope = make_scope(conn)
    make_task(
        conn, scope, -2, [("warning", None, None), ("warning", "", ""), ("warning", "", None)]
    )

    conn.execute(POPULATE, scope.slice("warning"))

    assert cached(conn, scope, "warning") == [
        ("total", None, None, 1, 3),
        ("category", None, None, 1, 1),
        ("category", "", None, 1, 2),
        ("what", None, None, 1, 1),
        ("what", "", None, 1, 1),
        ("what", "", "", 1, 1),
    ]


@pytest.mark.parametrize("keeps", [False, True])
def test_keeps_names_apart_that_look_alike(conn, keeps):
    """J15"""
    scope = make_scope(conn)
    names = [
        (None, None), (None, ""), ("", None), ("", ""), ("null", None), (None, "null"),
        ("NULL", None), ("x,y", "z"), ("x", "y,z"), ("x|y", "z"), ("x", "y|z"), ("xy", "z"),
        ("x", "yz"), ("a", "b "), ("a ", "b"), ("a", "b"), ("A", "b"), ("{a", "b}"), ("\"a\"", "b"),
    ]  # fmt: skip
    for category, what in names:
        make_task(conn, scope, -2, [("warning", category, what)])
    if keeps:
        run = pycortex.sql.begin_run(conn, *scope.slice("warning"), keeps=True)
        pycortex.sql.keep_range(conn, run.run, run.first_task, run.last_task)
        pycortex.sql.finish_run(conn, run.run)

    conn.execute(POPULATE, scope.slice("warning"))

    found = [row[1:] for row in cached(conn, scope, "warning") if row[0] == "what"]
    assert sorted(found, key=repr) == sorted([(*name, 1, 1) for name in names], key=repr)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_takes_the_tasks_whose_status_the_severity_names(conn, severity):
    scope = make_scope(conn)
    for status in range(-5, 1):
        make_task(conn, scope, status, [(each, "c", "w") for each in SEVERITIES])

    conn.execute(POPULATE, scope.slice(severity))

    [total, *_] = cached(conn, scope, severity)
    assert total == ("total", None, None, len(STATUSES[severity]), len(STATUSES[severity]))


def test_leaves_a_total_of_zero_for_an_empty_slice(conn):
    scope = make_scope(conn)

    rows = pycortex.sql.populate_scope(conn, *scope.slice("fatal"))

    assert rows == 1
    assert cached(conn, scope, "fatal") == [("total", None, None, 0, 0)]


def test_replaces_what_was_counted_before_and_no_other_slice(conn):
    scope, other = make_scope(conn), make_scope(conn)
    for each in (scope, other):
        make_task(conn, each, -2, [("warning", "old", "w")])
        conn.execute(POPULATE, each.slice("warning"))
        conn.execute(POPULATE, each.slice("info"))
    conn.execute("delete from corpus.log_warnings")
    make_task(conn, scope, -2, [("warning", "new", "w")])

    conn.execute(POPULATE, scope.slice("warning"))

    assert [row[1] for row in cached(conn, scope, "warning")] == [None, "new", "new"]
    assert [row[1] for row in cached(conn, other, "warning")] == [None, "old", "old"]
    assert len(cached(conn, scope, "info")) == 1


@pytest.mark.parametrize(
    "severity", ["", "Info", "warnings", "todo", "x'; drop table corpus.tasks"]
)
def test_refuses_an_unknown_severity_and_names_the_known_ones(conn, severity):
    scope = make_scope(conn)

    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        conn.execute(POPULATE, scope.slice(severity))

    assert caught.value.sqlstate == "22023"
    assert all(known in caught.value.diag.message_hint for known in SEVERITIES)


@pytest.mark.parametrize("place", [0, 1])
def test_refuses_a_corpus_or_service_that_is_not_there(conn, place):
    arguments = list(make_scope(conn).slice("info"))
    arguments[place] = 2**31 - 1

    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        conn.execute(POPULATE, arguments)

    assert str(2**31 - 1) in caught.value.diag.message_primary


@pytest.mark.parametrize("place", [0, 1, 2])
def test_refuses_null(conn, place):
    arguments: list[Any] = list(make_scope(conn).slice("info"))
    arguments[place] = None

    with pytest.raises(psycopg.errors.NullValueNotAllowed):
        conn.execute(POPULATE, arguments)


def test_shows_readers_the_old_slice_until_the_new_one_is_committed(connect):
    writer, reader = connect(), connect(autocommit=True)
    scope = make_scope(writer)
    make_task(writer, scope, -2, [("warning", "old", "w")])
    writer.execute(POPULATE, scope.slice("warning"))
    writer.commit()
    before = cached(reader, scope, "warning")
    make_task(writer, scope, -2, [("warning", "new", "w")])

    writer.execute(POPULATE, scope.slice("warning"))

    assert cached(reader, scope, "warning") == before
    writer.commit()
    assert cached(reader, scope, "warning")[0] == ("total", None, None, 2, 2)


def test_keeps_the_old_slice_when_it_fails(connect):
    conn = connect(autocommit=True)
    scope = make_scope(conn)
    make_task(conn, scope, -2, [("warning", "old", "w")])
    conn.execute(POPULATE, scope.slice("warning"))
    before = cached(conn, scope, "warning")
    conn.execute(
        "alter table corpus.report_grain_cache"
        " add constraint boom check (category <> 'new') not valid"
    )
    make_task(conn, scope, -2, [("warning", "new", "w")])

    with pytest.raises(psycopg.errors.CheckViolation):
        conn.execute(POPULATE, scope.slice("warning"))

    assert cached(conn, scope, "warning") == before


def test_lets_a_second_populate_of_the_slice_wait_and_ends_with_one_slice(connect):
    first, second, watcher = connect(), connect(), connect(autocommit=True)
    scope = make_scope(watcher)
    make_task(watcher, scope, -2, [("warning", "c", "w")])
    first.execute(POPULATE, scope.slice("warning"))
    waiting = threading.Thread(target=second.execute, args=(POPULATE, scope.slice("warning")))

    waiting.start()
    wait_until_blocked(watcher, second.info.backend_pid)
    first.commit()
    waiting.join()
    second.commit()

    assert len(cached(watcher, scope, "warning")) == 3


def test_lets_other_slices_be_populated_meanwhile(connect):
    first, second = connect(), connect()
    second.execute("set lock_timeout = '5s'")
    scope = make_scope(first)
    first.commit()
    first.execute(POPULATE, scope.slice("warning"))

    second.execute(POPULATE, scope.slice("error"))
    second.commit()

    assert len(cached(second, scope, "error")) == 1


def test_tells_a_transaction_with_an_older_view_to_retry(connect):
    first, second = connect(), connect()
    second.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    scope = make_scope(first)
    first.commit()
    second.execute("select 1 from corpus.corpora")
    first.execute(POPULATE, scope.slice("warning"))
    first.commit()

    with pytest.raises(psycopg.errors.SerializationFailure):
        second.execute(POPULATE, scope.slice("warning"))


def test_leaves_the_settings_of_the_transaction_alone(conn):
    scope = make_scope(conn)
    make_task(conn, scope, -2, [("warning", "c", "w")])
    settings = "select name, setting from pg_settings order by name"
    before = conn.execute(settings).fetchall()

    conn.execute(POPULATE, scope.slice("warning"))
    pycortex.sql.count_now(conn, *scope.slice("info"))
    run = pycortex.sql.begin_run(conn, *scope.slice("warning"), keeps=True)
    pycortex.sql.keep_range(conn, run.run, run.first_task, run.last_task)
    pycortex.sql.finish_run(conn, run.run)

    assert conn.execute(settings).fetchall() == before


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize("spread", [1, 50])
def test_sorts_no_messages_whatever_the_statistics_say(connect, analyzed, spread):
    """Blocks of tasks by a merge or nested loop, and nothing that sorts or could spill."""
    conn = connect(autocommit=True)
    scope = make_scope(conn)
    conn.execute(
        "insert into corpus.tasks (corpus_id, service_id, status, entry)"
        " select %s, %s, case when i %% %s = 0 then -2 else 0 end, i::text"
        " from generate_series(1, 4000) as i",
        [scope.corpus_id, scope.service_id, spread],
    )
    conn.execute(
        "insert into corpus.log_warnings (task_id, category, what)"
        " select t.id, 'c' || w % 7, repeat('w', 100) || w % 50"
        " from corpus.tasks as t cross join generate_series(1, 20) as w"
    )
    if analyzed:
        conn.execute("analyze corpus.tasks, corpus.log_warnings")
    conn.execute("set work_mem = '64kB'")
    conn.execute("load 'auto_explain'")
    conn.execute("set auto_explain.log_min_duration = 0")
    conn.execute("set auto_explain.log_nested_statements = on")
    conn.execute("set client_min_messages = log")
    plans: list[str] = []
    conn.add_notice_handler(lambda notice: plans.append(notice.message_primary or ""))

    conn.execute(POPULATE, scope.slice("warning"))

    [plan] = [plan for plan in plans if "count_marked" in plan]
    assert "Hash Key: l.category, l.what" in plan, plan
    assert "Sort" not in plan.partition("Aggregate")[2]
    assert ("Merge Join" if spread == 1 else "Nested Loop") in plan
    assert sorted(cached(conn, scope, "warning")) == sorted(plain(conn, scope, "warning"))


@pytest.mark.parametrize("spread", [1, 10])
def test_counts_like_the_plain_definition_over_several_blocks_of_tasks(conn, spread):
    scope = make_scope(conn)
    conn.execute(
        "insert into corpus.tasks (corpus_id, service_id, status, entry)"
        " select %s, %s, case when i %% %s = 0 then -2 else 0 end, i::text"
        " from generate_series(1, 1300 * %s) as i",
        [scope.corpus_id, scope.service_id, spread, spread],
    )
    conn.execute(
        "insert into corpus.log_warnings (task_id, category, what)"
        " select t.id, nullif('c' || w % 3, 'c2'), 'w' || (w + t.id / 7) % 50"
        " from corpus.tasks as t cross join generate_series(1, 4) as w"
        " where t.id % 7 <> 0 and (t.status = -2 or t.id % 100 = 0)"
    )

    conn.execute(POPULATE, scope.slice("warning"))

    found, expected = cached(conn, scope, "warning"), plain(conn, scope, "warning")
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert len(found) > 50


@pytest.mark.parametrize("keeps", [False, True])
def test_sees_what_its_own_transaction_changes_afterwards_beside_newer_ones(connect, keeps):
    """A newer transaction is over when it counts: the snapshot then calls its own visible."""
    conn, other = connect(), connect(autocommit=True)
    scope = make_scope(other)
    task = make_task(other, scope, -2, [("warning", "a", "b")])
    if keeps:
        run = pycortex.sql.begin_run(other, *scope.slice("warning"), keeps=True)
        pycortex.sql.keep_range(other, run.run, task, task)
        pycortex.sql.finish_run(other, run.run)
    insert = "insert into corpus.log_warnings (task_id, category) values (%s, %s)"
    conn.execute(insert, [task, "before"])
    make_task(other, scope, -2, [("warning", "a", "c")])
    conn.execute(POPULATE, scope.slice("warning"))

    conn.execute(insert, [task, "after"])
    conn.commit()

    assert pycortex.sql.slice_is_stale(other, *scope.slice("warning")) is True
    other.execute(POPULATE, scope.slice("warning"))
    found, expected = cached(other, scope, "warning"), plain(other, scope, "warning")
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert ("category", "after", None, 1, 1) in found
