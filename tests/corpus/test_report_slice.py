"""corpus.report_slice shows a slice in the order in which people read it."""

from __future__ import annotations

import psycopg
import pytest

import pycortex.sql
from pycortex.models import ReportRow
from tests.corpus.rows import make_scope, make_task

POPULATE = "select corpus.populate_scope(%s, %s, %s)"


def test_shows_the_total_then_each_category_before_what_is_in_it(conn):
    scope = make_scope(conn)
    for messages in (
        [("b", "x"), ("b", "y"), ("b", "y"), ("a", "z")],
        [("b", "x"), (None, "n")],
        [("", None)],
    ):
        make_task(conn, scope, -3, [("error", *message) for message in messages])
    conn.execute(POPULATE, scope.slice("error"))

    rows = pycortex.sql.report_slice(conn, *scope.slice("error"))

    assert [(r.grain, r.category, r.what, r.task_count, r.message_count) for r in rows] == [
        ("total", None, None, 3, 7),
        ("category", "b", None, 2, 4),
        ("what", "b", "x", 2, 2),
        ("what", "b", "y", 1, 2),
        ("category", "", None, 1, 1),
        ("what", "", None, 1, 1),
        ("category", "a", None, 1, 1),
        ("what", "a", "z", 1, 1),
        ("category", None, None, 1, 1),
        ("what", None, "n", 1, 1),
    ]
    assert isinstance(rows[0], ReportRow)
    assert len({row.computed_at for row in rows}) == 1


def test_is_empty_for_a_slice_that_nobody_populated(conn):
    scope = make_scope(conn)

    assert pycortex.sql.report_slice(conn, *scope.slice("error")) == []


@pytest.mark.parametrize(("place", "value"), [(0, -1), (1, -1), (2, "errors")])
def test_refuses_a_slice_that_cannot_be(conn, place, value):
    arguments = list(make_scope(conn).slice("error"))
    arguments[place] = value

    with pytest.raises(psycopg.errors.InvalidParameterValue):
        pycortex.sql.report_slice(conn, *arguments)
