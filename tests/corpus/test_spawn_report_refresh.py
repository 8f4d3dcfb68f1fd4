"""cortex.spawn_report_refresh asks for all reports to be forgotten, one such job at a time."""

from __future__ import annotations

import psycopg
import pytest

import pycortex.sql
from pycortex.install import install


def test_queues_one_job_however_often_it_is_called(conn):
    first = pycortex.sql.spawn_report_refresh(conn, actor="ada")

    second = pycortex.sql.spawn_report_refresh(conn, actor="bob")

    job = pycortex.sql.find_job(conn, first.uuid)
    assert (first.created, second.created, second.uuid) == (True, False, first.uuid)
    assert (job.kind, job.actor, job.params) == ("refresh_reports", "ada", {})


def test_is_not_offered_without_schema_corpus(empty_database):
    install(empty_database, corpus=False)

    with psycopg.connect(empty_database) as conn, pytest.raises(psycopg.errors.FeatureNotSupported):
        pycortex.sql.spawn_report_refresh(conn)
