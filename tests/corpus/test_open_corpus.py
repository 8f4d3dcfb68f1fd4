"""corpus.open_corpus and corpus.open_service give the id of a name, and make what is not there."""

from __future__ import annotations

import threading

import psycopg
import pytest

import pycortex.sql
from tests.waiting import wait_until_blocked

OPEN = {
    "corpora": (pycortex.sql.open_corpus, "select corpus.open_corpus(%s)"),
    "services": (pycortex.sql.open_service, "select corpus.open_service(%s)"),
}

pytestmark = pytest.mark.parametrize("table", OPEN)


def test_makes_one_row_and_finds_it_again(conn, table):
    twin, _ = OPEN[table]

    first, second, other = twin(conn, "Ω"), twin(conn, "Ω"), twin(conn, "ω")

    assert first == second != other
    named = conn.execute(f"select name from corpus.{table} where id = %s", [first])
    assert named.fetchone() == ("Ω",)


def test_uses_up_no_id_when_it_finds_the_name(conn, table):
    twin, _ = OPEN[table]
    first = twin(conn, "a")

    for _ in range(20):
        twin(conn, "a")

    assert twin(conn, "b") == first + 1


@pytest.mark.parametrize(
    ("name", "sqlstate"), [(None, "22004"), ("", "22023"), (" \n", "22023"), ("x" * 201, "22023")]
)
def test_refuses_what_is_no_name(conn, table, name, sqlstate):
    _, statement = OPEN[table]

    with pytest.raises(psycopg.Error) as caught:
        conn.execute(statement, [name])

    assert caught.value.sqlstate == sqlstate


def test_waits_for_another_session_that_makes_the_same(connect, table):
    _, statement = OPEN[table]
    first, second, watcher = connect(), connect(), connect(autocommit=True)
    [made] = first.execute(statement, ["a"]).fetchone()
    found: list[int] = []
    waiting = threading.Thread(
        target=lambda: found.append(second.execute(statement, ["a"]).fetchone()[0])
    )

    waiting.start()
    wait_until_blocked(watcher, second.info.backend_pid)
    first.commit()
    waiting.join()

    assert found == [made]
