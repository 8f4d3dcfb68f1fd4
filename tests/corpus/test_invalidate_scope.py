"""corpus.invalidate_scope forgets the reports of one corpus and service."""

from __future__ import annotations

import threading

import psycopg
import pytest

import pycortex.sql
from tests.corpus.rows import SEVERITIES, cached, make_scope, make_task
from tests.waiting import wait_until_blocked

INVALIDATE = "select corpus.invalidate_scope(%s, %s)"
POPULATE = "select corpus.populate_scope(%s, %s, %s)"


def test_drops_every_severity_of_that_scope_and_no_other(conn):
    scope, other = make_scope(conn), make_scope(conn)
    for each in (scope, other):
        for severity in SEVERITIES:
            conn.execute(POPULATE, each.slice(severity))

    dropped = pycortex.sql.invalidate_scope(conn, scope.corpus_id, scope.service_id)

    assert dropped == 5
    assert [cached(conn, scope, severity) for severity in SEVERITIES] == [[]] * 5
    assert all(cached(conn, other, severity) for severity in SEVERITIES)


def test_has_nothing_to_do_where_nothing_is_cached(conn):
    assert conn.execute(INVALIDATE, [2**31 - 1, 2**31 - 1]).fetchone() == (0,)


@pytest.mark.parametrize("arguments", [(None, 1), (1, None)])
def test_refuses_null(conn, arguments):
    with pytest.raises(psycopg.errors.NullValueNotAllowed):
        conn.execute(INVALIDATE, arguments)


def test_is_not_lost_on_a_populate_that_is_under_way_and_does_not_wait_for_it(connect):
    populate, change, watcher = connect(), connect(), connect(autocommit=True)
    change.execute("set lock_timeout = '100ms'")
    scope = make_scope(watcher)
    populate.execute(POPULATE, scope.slice("warning"))
    make_task(change, scope, -2, [("warning", "c", "w")])

    dropped = change.execute(INVALIDATE, [scope.corpus_id, scope.service_id]).fetchone()
    change.commit()
    populate.commit()

    assert dropped == (0,)
    assert pycortex.sql.slice_is_stale(watcher, *scope.slice("warning")) is True


def test_marks_a_count_in_ranges_though_no_data_changed(connect):
    conn = connect(autocommit=True)
    scope = make_scope(conn)
    make_task(conn, scope, -2, [("warning", "c", "w")])
    run = pycortex.sql.begin_run(conn, *scope.slice("warning"))
    pycortex.sql.count_range(conn, run.run, run.first_task, run.last_task)

    conn.execute(INVALIDATE, [scope.corpus_id, scope.service_id])

    pycortex.sql.finish_run(conn, run.run)
    assert pycortex.sql.slice_is_stale(conn, *scope.slice("warning")) is True


def test_makes_a_later_populate_wait_for_the_change(connect):
    change, populate, watcher = connect(), connect(), connect(autocommit=True)
    scope = make_scope(watcher)
    make_task(change, scope, -2, [("warning", "c", "w")])
    change.execute(INVALIDATE, [scope.corpus_id, scope.service_id])
    waiting = threading.Thread(target=populate.execute, args=(POPULATE, scope.slice("warning")))

    waiting.start()
    wait_until_blocked(watcher, populate.info.backend_pid)
    change.commit()
    waiting.join()
    populate.commit()

    assert cached(watcher, scope, "warning")[0] == ("total", None, None, 1, 1)


@pytest.mark.parametrize("keeps", [False, True])
def test_a_change_is_noted_again_after_a_count_in_the_same_transaction(connect, keeps):
    conn = connect(autocommit=True)
    scope = make_scope(conn)
    task = make_task(conn, scope, -4)

    with conn.transaction():
        conn.execute("truncate corpus.log_fatals")
        conn.execute(
            "insert into corpus.log_fatals (task_id, category, what) values (%s, 'c', 'w')", [task]
        )
        run = pycortex.sql.begin_run(conn, *scope.slice("fatal"), keeps=keeps)
        count = pycortex.sql.keep_range if keeps else pycortex.sql.count_range
        count(conn, run.run, run.first_task, run.last_task)
        pycortex.sql.finish_run(conn, run.run)
        assert pycortex.sql.slice_is_stale(conn, *scope.slice("fatal")) is False
        conn.execute("truncate corpus.log_fatals")

    assert pycortex.sql.slice_is_stale(conn, *scope.slice("fatal")) is True
    conn.execute(POPULATE, scope.slice("fatal"))
    assert [row[3:] for row in cached(conn, scope, "fatal")] == [(0, 0)]
