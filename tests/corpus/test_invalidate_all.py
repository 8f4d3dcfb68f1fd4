"""corpus.invalidate_all forgets all reports."""

from __future__ import annotations

import pycortex.sql
from tests.corpus.rows import cached, make_scope, make_task

POPULATE = "select corpus.populate_scope(%s, %s, %s)"


def test_drops_all_slices_and_returns_how_many_rows(conn):
    scope, other = make_scope(conn), make_scope(conn)
    make_task(conn, scope, -2, [("warning", "c", "w")])
    conn.execute(POPULATE, scope.slice("warning"))
    conn.execute(POPULATE, other.slice("info"))

    dropped = pycortex.sql.invalidate_all(conn)

    assert dropped == 4
    assert cached(conn, scope, "warning") == cached(conn, other, "info") == []


def test_leaves_tasks_and_messages_alone(conn):
    make_task(conn, make_scope(conn), -2, [("warning", "c", "w")])

    conn.execute("select corpus.invalidate_all()")

    counts = conn.execute(
        "select (select count(*) from corpus.tasks), (select count(*) from corpus.log_warnings)"
    )
    assert counts.fetchone() == (1, 1)


def test_has_nothing_to_do_where_nothing_is_cached(conn):
    assert pycortex.sql.invalidate_all(conn) == 0
