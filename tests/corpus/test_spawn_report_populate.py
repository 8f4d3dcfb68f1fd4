"""cortex.spawn_report_populate asks for one slice to be counted, one such job per slice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

import pycortex.sql
from pycortex.install import install

SPAWN = "select * from cortex.spawn_report_populate(%s, %s, %s)"


def test_queues_a_job_whose_params_name_the_slice(conn):
    spawned = pycortex.sql.spawn_report_populate(conn, 7, 3, "info", actor="ada")

    job = pycortex.sql.find_job(conn, spawned.uuid)
    slice_ = {"corpus_id": 7, "service_id": 3, "severity": "info"}
    assert spawned.created
    assert (job.kind, job.actor) == ("populate_report", "ada")
    assert job.params == job.debounce_scope == slice_


@pytest.mark.parametrize("other", [(8, 3, "info"), (7, 4, "info"), (7, 3, "warning")])
def test_takes_only_the_very_same_slice_for_the_same_work(conn, other):
    first = pycortex.sql.spawn_report_populate(conn, 7, 3, "info")

    again = pycortex.sql.spawn_report_populate(conn, 7, 3, "info")
    another = pycortex.sql.spawn_report_populate(conn, *other)

    assert (again.uuid, again.created) == (first.uuid, False)
    assert another.created


def test_does_not_mistake_another_kind_with_the_same_scope(conn, make_job):
    make_job(kind="mine", debounce_scope={"corpus_id": 7, "service_id": 3, "severity": "info"})

    assert pycortex.sql.spawn_report_populate(conn, 7, 3, "info").created


def test_gives_fifty_callers_at_once_one_job(connect):
    conns = [connect(autocommit=True) for _ in range(25)] * 2

    with ThreadPoolExecutor(25) as pool:
        rows = list(pool.map(lambda conn: conn.execute(SPAWN, [1, 1, "error"]).fetchone(), conns))

    assert len({uuid for uuid, _ in rows}) == 1
    assert sum(created for _, created in rows) == 1


@pytest.mark.parametrize("severity", ["", "INFO", "warn", "info ", "x" * 100_000])
def test_refuses_an_unknown_severity_and_names_the_known_ones(conn, severity):
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        conn.execute(SPAWN, [1, 1, severity])

    assert "warning" in caught.value.diag.message_hint


@pytest.mark.parametrize("arguments", [(None, 1, "info"), (1, None, "info"), (1, 1, None)])
def test_refuses_null(conn, arguments):
    with pytest.raises(psycopg.errors.NullValueNotAllowed):
        conn.execute(SPAWN, arguments)


def test_is_not_offered_without_schema_corpus(empty_database):
    install(empty_database, corpus=False)

    with psycopg.connect(empty_database) as conn, pytest.raises(psycopg.errors.FeatureNotSupported):
        pycortex.sql.spawn_report_populate(conn, 1, 1, "info")
