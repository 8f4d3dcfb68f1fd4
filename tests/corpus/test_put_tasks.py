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
    ("entries", "statuses", "sqlstate", "said"),
    [
        (["a", "b"], [-1], "22023", "2 entries, but 1"),
        (["a"], [], "22023", "1 entries, but 0"),
        (["a"], None, "22004", "statuses"),
        (None, [-1], "22004", "entries"),
        (None, None, "22004", "entries"),
        (["b", "a", "a"], [-1, -1, -1], "22023", "entry a"),
        (["a", None], [-1, -1], "22004", "number 2"),
        ([None, None], [-1, -1], "22004", "number 1"),
        (["a", "b"], [-1, None], "22004", "entry b"),
        (["a"], [-6], "22023", "-6"),
        (["a"], [1], "22023", "entry a is 1"),
        (["a", ""], [-1, -1], "22023", "number 2 is 0 bytes"),
        (["ä" * 1001], [-1], "22023", "2002 bytes"),
        (["a" * 1000000], [-1], "22023", "1000000 bytes"),
    ],
)
def test_refuses_what_cannot_be_a_document_and_says_which(conn, entries, statuses, sqlstate, said):
    scope = make_scope(conn)

    with pytest.raises(psycopg.Error) as caught:
        conn.execute(PUT, [scope.corpus_id, scope.service_id, entries, statuses])

    assert caught.value.sqlstate == sqlstate
    assert said in (caught.value.diag.message_primary or "")
    assert len(caught.value.diag.message_primary or "") < 300
    assert caught.value.diag.message_hint


@pytest.mark.parametrize(
    ("place", "sqlstate", "said"),
    [
        ((2**31 - 1, 1), "22023", "no such corpus: 2147483647"),
        ((1, 2**31 - 1), "22023", "no such service: 2147483647"),
        ((None, 1), "22004", "corpus_id"),
        ((1, None), "22004", "service_id"),
    ],
)
def test_refuses_a_corpus_or_a_service_that_is_not_there(conn, place, sqlstate, said):
    scope = make_scope(conn)
    ids = [scope.corpus_id if place[0] == 1 else place[0]]
    ids.append(scope.service_id if place[1] == 1 else place[1])

    with pytest.raises(psycopg.Error) as caught:
        conn.execute(PUT, [*ids, ["a"], [-1]])

    assert caught.value.sqlstate == sqlstate
    assert said in (caught.value.diag.message_primary or "")


@pytest.mark.parametrize(
    ("entries", "statuses"), [("[7:8]={a,b}", "{-1,-2}"), ("{{a},{b}}", "{{-1,-2}}")]
)
def test_takes_arrays_of_any_shape_element_by_element(conn, entries, statuses):
    scope = make_scope(conn)

    conn.execute(
        "select corpus.put_tasks(%s, %s, %s::text[], %s::integer[])",
        [scope.corpus_id, scope.service_id, entries, statuses],
    )

    assert conn.execute(
        "select entry, status from corpus.tasks where corpus_id = %s order by entry",
        [scope.corpus_id],
    ).fetchall() == [("a", -1), ("b", -2)]


def test_waits_for_another_session_that_stores_the_same_document(connect):
    first, second, watcher = connect(), connect(), connect(autocommit=True)
    scope = make_scope(watcher)
    arguments = [scope.corpus_id, scope.service_id, ["a.log"]]
    [stored] = first.execute(PUT, [*arguments, [-2]]).fetchall()
    first.execute("insert into corpus.log_warnings (task_id) values (%s)", [stored[1]])
    answers = []
    waiting = threading.Thread(
        target=lambda: answers.extend(second.execute(PUT, [*arguments, [-1]]).fetchall())
    )

    waiting.start()
    wait_until_blocked(watcher, second.info.backend_pid)
    first.commit()
    waiting.join()
    second.commit()

    assert (stored[2], answers) == (True, [("a.log", stored[1], False)])
    assert watcher.execute("select id, status from corpus.tasks").fetchall() == [(stored[1], -1)]
    assert watcher.execute("select count(*) from corpus.log_warnings").fetchone() == (0,)
