"""cortex.begin_body: the body of an attempt begins once, wherever an executor takes it."""

from functools import partial
from uuid import uuid4

import pytest

from tests.concurrency.parallel import at_once
from tests.sql.asking import refused, table_of, value

BEGIN = "select cortex.begin_body(job => %s, attempt => %s)"


def test_says_yes_once(conn, make_job):
    job = make_job("running")

    assert [value(conn, BEGIN, [job, 1]) for _ in range(3)] == [True, False, False]


def test_says_yes_to_one_of_eight_at_once(connect, committed):
    job = committed.make_job("running")
    conns = [connect(autocommit=True) for _ in range(8)]

    answers = at_once([partial(value, conn, BEGIN, [job, 1]) for conn in conns])

    assert sorted(answers) == [False] * 7 + [True]


def test_says_yes_again_to_the_next_attempt(conn, make_job):
    job = make_job("running", attempt=1)
    value(conn, BEGIN, [job, 1])
    conn.execute("update cortex.job set attempt = 2 where uuid = %s", [job])

    assert [value(conn, BEGIN, [job, attempt]) for attempt in (1, 2, 2)] == [False, True, False]


@pytest.mark.parametrize("status", ["queued", "succeeded", "failed", "interrupted", "cancelled"])
def test_says_no_where_nothing_runs(conn, make_job, status):
    job = make_job(status)
    before = table_of(conn)

    assert value(conn, BEGIN, [job, 1]) is False
    assert table_of(conn) == before


def test_changes_nothing_else(conn, make_job):
    job = make_job("running")
    [before] = table_of(conn)

    value(conn, BEGIN, [job, 1])

    assert table_of(conn) == [before | {"begun_attempt": 1}]


def test_refuses_what_is_not_a_job(conn):
    with refused(conn, "JC101"):
        value(conn, BEGIN, [uuid4(), 1])


@pytest.mark.parametrize("arguments", [[None, 1], [uuid4(), None]], ids=["job", "attempt"])
def test_refuses_null(conn, arguments):
    with refused(conn, "22004"):
        value(conn, BEGIN, arguments)
