"""The short way for params: what it writes is what the rules write, and the database reads it."""

import asyncio
import json

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pycortex import sql
from pycortex._plainjson import plain_json
from pycortex.aio import ask
from pycortex.values import check_params

SINGLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


def by_the_rules(value):
    return json.dumps(
        check_params(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode()


@given(st.dictionaries(st.text() | st.integers(), SINGLE | st.lists(SINGLE) | st.binary()))
@example({"": 1.0, "a": -0.0, "b": 10**300, "ä": "\u2028\\u0000"})
@example({"a": "\0"})
@example({"a": "\ud800"})
@example({"\ud800": 1})
@example({"a": 10**3999})
@example({"a": 10**4200})
@example({"a": float("nan")})
@example({"a": "x" * 5000})
def test_writes_what_the_rules_do_or_leaves_it_to_them(value):
    text = plain_json(value)

    assert text is None or text == by_the_rules(value)


def test_takes_what_most_params_are():
    value = {"n": 1, "path": "ä/b", "share": 0.5, "deep": True, "parent": None}

    assert plain_json(value) == by_the_rules(value)


@pytest.mark.parametrize("value", [None, [], "{}", {1: 2}, {"a": {}}, {"a": [1]}, {"a": b""}])
def test_leaves_the_rest_to_the_rules(value):
    assert plain_json(value) is None


def test_sends_many_as_one_array(conn):
    given = [{}, {"n": 1, "text": "ä\\"}, {"deep": {"er": [1, None]}}, {"long": "x" * 9000}]

    uuids = sql.spawn_jobs(conn, "test", given)

    assert [sql.find_job(conn, uuid).params for uuid in uuids] == given


def test_sends_an_array_of_nothing_and_one_with_a_null(conn):
    assert sql.spawn_jobs(conn, "test", []) == []
    with pytest.raises(psycopg.errors.NullValueNotAllowed):
        sql.spawn_jobs(conn, "test", [{}, None])


async def _spawn(url, given):
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        uuids = await ask(conn, sql.spawn_jobs, "test", given)
        return [(await ask(conn, sql.find_job, uuid)).params for uuid in uuids]


def test_sends_it_from_asyncio_too(database):
    given = [{"n": 1}, {"deep": [{}]}]

    assert asyncio.run(_spawn(database, given)) == given
