"""The built-in kinds from spawn to end: spawned in SQL, run by a worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

import pycortex.builtin
import pycortex.sql
from pycortex import Job, JobStatus, Runner, Worker, registry
from pycortex._data import data_path
from tests.corpus.rows import cached, make_scope, make_task
from tests.corpus.test_spawn_reindex import USUAL
from tests.waiting import wait_until

KINDS = ["analyze", "corpus_import", "populate_report", "refresh_reports", "reindex"]


@pytest.fixture
def own(connect) -> psycopg.Connection[Any]:
    return connect(autocommit=True)


@pytest.fixture
def ended(own, database) -> Iterator[Callable[[UUID], Job]]:
    """Waits for a job to end, which a worker runs meanwhile."""
    stop = threading.Event()

    def finished(uuid: UUID) -> Job | None:
        job = pycortex.sql.find_job(own, uuid)
        return job if job is not None and job.status.terminal else None

    with Runner(database, max_workers=2) as runner:
        worker = Worker(runner, KINDS, poll_interval=0.2)
        thread = threading.Thread(target=worker.run, args=(stop,))
        thread.start()
        try:
            yield lambda uuid: wait_until(lambda: finished(uuid), what=f"job {uuid} ends")
        finally:
            stop.set()
            thread.join()


def test_registers_a_body_for_each_built_in_kind():
    assert set(KINDS) <= set(registry.kinds())


def test_imports_the_sample_and_counts_a_report_of_it(own, ended):
    params = {"path": str(data_path("latexml-logs")), "corpus": "sample"}
    spawned = pycortex.sql.spawn_job(own, "corpus_import", params=params, debounce_scope={})

    job = ended(spawned.uuid)

    assert job.status is JobStatus.SUCCEEDED, job.message
    assert job.result["documents"] == 40
    assert (job.progress_current, job.progress_total) == (40, 40)
    corpus_id, service_id = job.result["corpus_id"], job.result["service_id"]
    populate = pycortex.sql.spawn_report_populate(own, corpus_id, service_id, "error")
    job = ended(populate.uuid)
    rows = pycortex.sql.report_slice(own, corpus_id, service_id, "error")
    assert job.status is JobStatus.SUCCEEDED, job.message
    assert job.result == {"populated": "error", "rows": len(rows)}
    assert (rows[0].task_count, rows[0].message_count) == (19, 158)


def test_fails_an_import_from_nowhere_with_a_sentence(own, ended):
    params = {"path": "/nowhere/at/all", "corpus": "sample"}
    spawned = pycortex.sql.spawn_job(own, "corpus_import", params=params)

    job = ended(spawned.uuid)

    assert job.status is JobStatus.FAILED
    assert "/nowhere/at/all" in job.message
    assert "Traceback" not in job.message


def test_fails_the_count_of_a_corpus_that_is_not_there(own, ended):
    spawned = pycortex.sql.spawn_report_populate(own, 4711, 1, "error")

    job = ended(spawned.uuid)

    assert (job.status, job.message) == (JobStatus.FAILED, "no such corpus: 4711")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"corpus_id": "1", "service_id": 1, "severity": "info"},
        {"corpus_id": 2**40, "service_id": 1, "severity": "info"},
        {"corpus_id": 1, "service_id": True, "severity": "info"},
        {"corpus_id": 1, "service_id": 1, "severity": 5},
        {"corpus_id": 1, "service_id": 1, "severity": "bogus"},
    ],
)
def test_fails_a_count_whose_params_name_no_slice(own, ended, params):
    spawned = pycortex.sql.spawn_job(own, "populate_report", params=params)

    job = ended(spawned.uuid)

    assert job.status is JobStatus.FAILED
    assert not job.message.startswith("Traceback")
    assert "Error:" not in job.message


def test_forgets_all_reports(own, ended):
    scope = make_scope(own)
    make_task(own, scope, -2, [("warning", "c", "w")])
    pycortex.sql.populate_scope(own, *scope.slice("warning"))

    job = ended(pycortex.sql.spawn_report_refresh(own).uuid)

    assert job.status is JobStatus.SUCCEEDED, job.message
    assert job.result == {"status": "cache-invalidated"}
    assert cached(own, scope, "warning") == []


@pytest.mark.parametrize(("kind", "done"), [("reindex", "reindexed"), ("analyze", "analyzed")])
def test_maintains_the_usual_tables(own, ended, kind, done):
    spawn = getattr(pycortex.sql, f"spawn_{kind}")

    job = ended(spawn(own).uuid)

    assert job.status is JobStatus.SUCCEEDED, job.message
    assert job.result[done] == USUAL
    assert [row["table"] for row in job.result["tables"]] == USUAL
    assert {row["outcome"] for row in job.result["tables"]} == {"done"}
    assert (job.progress_current, job.progress_total) == (7, 7)


def test_ends_a_reindex_failed_that_lost_a_table_on_the_way(own, ended):
    own.execute("create table public.short_lived (a int primary key)")
    with own.transaction():
        tables = ["corpus.tasks", "public.short_lived", "corpus.log_infos"]
        spawned = pycortex.sql.spawn_reindex(own, tables=tables)
        own.execute("drop table public.short_lived")

    job = ended(spawned.uuid)

    assert job.status is JobStatus.FAILED
    assert "public.short_lived" in job.message
    assert "reindexed: corpus.tasks, corpus.log_infos" in job.message
    assert job.result["reindexed"] == ["corpus.tasks", "corpus.log_infos"]
    assert [row["outcome"] for row in job.result["tables"]] == ["done", "failed", "done"]
