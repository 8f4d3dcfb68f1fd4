"""corpus.put_tasks puts documents on the books, new ones and ones that are there."""

from __future__ import annotations

import threading

import psycopg
import pytest

import pycortex.sql
from tests.corpus.rows import SEVERITIES, make_scope, make_task
from tests.waiting import wait_until_blocked

PUT = "select * from corpus.put_tasks(%s, %s, %s, %s)"


def history(conn, task):
    return conn.execute(
        "select status from corpus.historical_tasks where task_id = %s order by id", [task]
    ).fetchall()


def test_makes_tasks_of_new_documents(conn):
    scope = make_scope(conn)

    stored = pycortex.sql.put_tasks(
        conn, scope.corpus_id, scope.service_id, ["b.log", "a.log"], [-2, -1]
    )

    rows = conn.execute(
        "select entry, id, status from corpus.tasks where corpus_id = %s", [scope.corpus_id]
    ).fetchall()
    assert {(s.entry, s.task_id) for s in stored} == {row[:2] for row in rows}
    assert {row[0]: row[2] for row in rows} == {"a.log": -1, "b.log": -2}
    assert all(s.created for s in stored)


def test_takes_the_messages_from_a_document_that_is_there_and_from_no_other(conn):
    scope = make_scope(conn)
    messages = [(severity, "c", "w") for severity in SEVERITIES]
    task = make_task(conn, scope, -4, messages, entry="a.log")
    other = make_task(conn, scope, -4, messages, entry="b.log")

    [stored] = pycortex.sql.put_tasks(conn, scope.corpus_id, scope.service_id, ["a.log"], [-1])

    assert (stored.task_id, stored.created) == (task, False)
    for severity in SEVERITIES:
        assert conn.execute(f"select task_id from corpus.log_{severity}s").fetchall() == [(other,)]


def test_remembers_a_status_only_when_it_changes(conn):
    scope = make_scope(conn)
    task = make_task(conn, scope, -3, entry="a.log")

    for status in (-3, -1, -1, -5):
        conn.execute(PUT, [scope.corpus_id, scope.service_id, ["a.log"], [status]])

    assert history(conn, task) == [(-3,), (-1,)]


def test_keeps_the_same_entry_of_two_scopes_apart(conn):
    scope, other = make_scope(conn), make_scope(conn)
    task = make_task(conn, other, -3, entry="a.log")

    [stored] = pycortex.sql.put_tasks(conn, scope.corpus_id, scope.service_id, ["a.log"], [-1])

    assert stored.created
    assert conn.execute("select status from corpus.tasks where id = %s", [task]).fetchone() == (-3,)


def test_has_nothing_to_do_for_no_documents(conn):
    scope = make_scope(conn)

    assert pycortex.sql.put_tasks(conn, scope.corpus_id, scope.service_id, [], []) == []


@pytest.mark.parametrize(
    ("entries", "statuses", "sqlstate"),
    [
        (["a", "b"], [-1], "22023"),
        (["a"], None, "22023"),
        (["a", "a"], [-1, -1], "22023"),
        (["a", None], [-1, -1], "22023"),
        (["a"], [None], "23502"),
        (["a"], [-6], "23514"),
        (["a"], [1], "23514"),
        ([""], [-1], "23514"),
        (["ä" * 1001], [-1], "23514"),
    ],
)
def test_refuses_what_cannot_be_a_document(conn, entries, statuses, sqlstate):
    scope = make_scope(conn)

    with pytest.raises(psycopg.Error) as caught:
        conn.execute(PUT, [scope.corpus_id, scope.service_id, entries, statuses])

    assert caught.value.sqlstate == sqlstate


def test_refuses_a_corpus_that_is_not_there(conn):
    scope = make_scope(conn)

    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        conn.execute(PUT, [2**31 - 1, scope.service_id, ["a"], [-1]])


def test_waits_for_another_session_that_stores_the_same_document(connect):
    first, second, watcher = connect(), connect(), connect(autocommit=True)
    scope = make_scope(watcher)
    arguments = [scope.corpus_id, scope.service_id, ["a.log"]]
    [stored] = first.execute(PUT, [*arguments, [-2]]).fetchall()
    first.execute("insert into corpus.log_warnings (task_id) values (%s)", [stored[1]])
    waiting = threading.Thread(target=second.execute, args=(PUT, [*arguments, [-1]]))

    waiting.start()
    wait_until_blocked(watcher, second.info.backend_pid)
    first.commit()
    waiting.join()
    second.commit()

    assert watcher.execute("select id, status from corpus.tasks").fetchall() == [(stored[1], -1)]
    assert watcher.execute("select count(*) from corpus.log_warnings").fetchone() == (0,)
