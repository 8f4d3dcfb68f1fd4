"""corpus.count_now counts within a budget, once for all who ask, or leaves it to one job."""

from __future__ import annotations

import threading
from datetime import timedelta

import psycopg
import pytest

import pycortex.sql
from tests.corpus.rows import cached, make_scope, make_task
from tests.waiting import wait_until_blocked


def everybody(connect, ask, number: int = 20) -> list:
    """What *number* sessions are told that ask together."""
    sessions = [connect(autocommit=True) for _ in range(number)]
    start = threading.Barrier(number)
    told: list = []

    def one(conn) -> None:
        start.wait()
        told.append(ask(conn))

    threads = [threading.Thread(target=one, args=(conn,)) for conn in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def test_one_of_twenty_readers_counts_and_the_others_wait_for_it(connect):
    """J14"""
    conn = connect(autocommit=True)
    scope = make_scope(conn)
    make_task(conn, scope, -2, [("warning", "c", "w")])
    slice_ = scope.slice("warning")

    told = everybody(
        connect,
        lambda own: pycortex.sql.count_now(own, *slice_, budget=timedelta(minutes=1)),
    )

    assert [answer.ready for answer in told] == [True] * 20
    assert conn.execute("select count(*) from corpus.run").fetchone() == (1,)
    assert len(cached(conn, scope, "warning")) == 3


def test_twenty_readers_of_a_large_slice_get_one_job(connect):
    """J14"""
    conn = connect(autocommit=True)
    slice_ = make_scope(conn).slice("warning")

    told = everybody(connect, lambda own: pycortex.sql.count_now(own, *slice_, budget=timedelta(0)))

    assert not any(answer.ready for answer in told)
    assert len({answer.uuid for answer in told}) == 1
    assert [answer.created for answer in told].count(True) == 1


def test_gives_up_when_the_budget_is_used_up_and_leaves_nothing_behind(connect):
    conn = connect(autocommit=True)
    scope = make_scope(conn)
    for _ in range(60):
        make_task(conn, scope, -2, [("warning", "c", "w")])

    answer = pycortex.sql.count_now(conn, *scope.slice("warning"), budget=timedelta(microseconds=1))

    assert (answer.ready, answer.created) == (False, True)
    assert cached(conn, scope, "warning") == []
    assert conn.execute("select count(*) from corpus.run").fetchone() == (0,)
    assert conn.execute("select count(*) from corpus.part").fetchone() == (0,)


def test_waits_no_longer_than_the_budget_for_somebody_who_counts(connect):
    conn, other = connect(autocommit=True), connect()
    scope = make_scope(conn)
    other.execute("select corpus.populate_scope(%s, %s, 'error')", scope.slice("error")[:2])

    answer = pycortex.sql.count_now(conn, *scope.slice("error"), budget=timedelta(milliseconds=50))

    assert not answer.ready
    assert conn.execute("show lock_timeout").fetchone() == ("0",)


def test_finds_the_slice_there_after_it_waited(connect):
    conn, other, watcher = connect(autocommit=True), connect(), connect(autocommit=True)
    scope = make_scope(watcher)
    other.execute("select corpus.populate_scope(%s, %s, 'error')", scope.slice("error")[:2])
    told: list = []
    waiting = threading.Thread(
        target=lambda: told.append(
            pycortex.sql.count_now(conn, *scope.slice("error"), budget=timedelta(minutes=1))
        )
    )

    waiting.start()
    wait_until_blocked(watcher, conn.info.backend_pid)
    other.commit()
    waiting.join()

    assert told[0].ready
    assert watcher.execute("select count(*) from corpus.run").fetchone() == (0,)


@pytest.mark.parametrize("role", ["cortex_producer", "cortex_runner", "cortex_admin"])
def test_may_be_called_by_whoever_may_ask_for_jobs(conn, role):
    scope = make_scope(conn)
    conn.execute(f"set local role {role}")

    assert pycortex.sql.count_now(conn, *scope.slice("error")).ready


@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        ({"severity": "bogus"}, "22023"),
        ({"corpus_id": -1}, "22023"),
        ({"budget": "-1 second"}, "22023"),
        ({"budget": None}, "22004"),
        ({"severity": None}, "22004"),
    ],
)
def test_refuses_what_makes_no_sense(conn, arguments, sqlstate):
    scope = make_scope(conn)
    given = {
        "corpus_id": scope.corpus_id, "service_id": scope.service_id, "severity": "error",
        "budget": "1 second", **arguments,
    }  # fmt: skip

    with pytest.raises(psycopg.Error) as caught:
        conn.execute(
            "select corpus.count_now(%(corpus_id)s, %(service_id)s, %(severity)s, %(budget)s)",
            given,
        )

    assert caught.value.sqlstate == sqlstate
