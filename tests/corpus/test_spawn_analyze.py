"""cortex.spawn_analyze asks for new statistics; it reads names as spawn_reindex does."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

import pycortex.sql
from tests.corpus.test_spawn_reindex import USUAL


def test_takes_the_seven_busy_tables_when_none_are_named(conn):
    spawned = pycortex.sql.spawn_analyze(conn, actor="ada")

    job = pycortex.sql.find_job(conn, spawned.uuid)
    assert spawned.created
    assert (job.kind, job.actor, job.params) == ("analyze", "ada", {"tables": USUAL})


def test_returns_the_one_that_is_queued_and_none_of_another_kind(conn):
    reindex = pycortex.sql.spawn_reindex(conn)
    first = pycortex.sql.spawn_analyze(conn)

    second = pycortex.sql.spawn_analyze(conn, tables=["corpus.tasks"])

    assert (second.uuid, second.created) == (first.uuid, False)
    assert first.uuid != reindex.uuid


def test_stores_limits_as_settings_take_them(conn):
    """J08"""
    spawned = pycortex.sql.spawn_analyze(
        conn,
        tables=["corpus.tasks"],
        lock_timeout=timedelta(milliseconds=1500),
        statement_timeout=timedelta(hours=1),
    )

    params = pycortex.sql.find_job(conn, spawned.uuid).params
    assert (params["lock_timeout"], params["statement_timeout"]) == ("1500ms", "3600s")


def test_takes_a_system_catalog(conn):
    spawned = pycortex.sql.spawn_analyze(conn, tables=["pg_catalog.pg_class"])

    assert pycortex.sql.find_job(conn, spawned.uuid).params == {"tables": ["pg_catalog.pg_class"]}


@pytest.mark.parametrize(
    ("tables", "sqlstate"),
    [([], "22023"), ([None], "22004"), (["nothing"], "42P01"), (["cortex.jobs"], "42809")],
)
def test_refuses_what_is_no_table(conn, tables, sqlstate):
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("select * from cortex.spawn_analyze(tables => %s)", [tables])

    assert caught.value.sqlstate == sqlstate
