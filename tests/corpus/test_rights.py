"""Who may do what in schema corpus."""

from __future__ import annotations

import psycopg
import pytest

import pycortex.sql
from pycortex._data import data_path
from pycortex.corpus_import import corpus_import
from pycortex.dataset_export import dataset_export
from tests.corpus.rows import Progress, make_scope, make_task

ROLES = ["cortex_reader", "cortex_producer", "cortex_runner", "cortex_admin"]


@pytest.mark.parametrize("role", ROLES[2:])
def test_lets_whoever_runs_jobs_import_and_count(connect, role):
    conn = connect(autocommit=True)
    conn.execute(f"set role {role}")

    result = corpus_import(Progress(conn, {"path": str(data_path("latexml-logs")), "corpus": "c"}))

    slice_ = (result["corpus_id"], result["service_id"], "error")
    assert pycortex.sql.populate_scope(conn, *slice_) > 1
    assert pycortex.sql.report_slice(conn, *slice_)
    assert pycortex.sql.invalidate_all(conn) > 1


@pytest.mark.parametrize("role", ROLES[2:])
def test_lets_whoever_runs_jobs_export(connect, role, tmp_path, monkeypatch):
    monkeypatch.setenv("PYCORTEX_EXPORT_DIR", str(tmp_path))
    conn = connect(autocommit=True)
    scope = make_scope(conn)
    make_task(conn, scope, -2, [("warning", "c", "w")])
    conn.execute(f"set role {role}")

    ids = {"corpus": scope.corpus_id, "service": scope.service_id}
    result = dataset_export(Progress(conn, {"path": "x.csv.gz", **ids}))

    assert result["rows"] == 1
    assert (tmp_path / "x.csv.gz").exists()


@pytest.mark.parametrize("role", ROLES)
def test_lets_everybody_with_a_role_read(conn, role):
    scope = make_scope(conn)
    make_task(conn, scope, -2, [("warning", "c", "w")])
    pycortex.sql.populate_scope(conn, *scope.slice("warning"))
    conn.execute(f"set local role {role}")

    rows = pycortex.sql.report_slice(conn, *scope.slice("warning"))

    assert len(rows) == 3
    assert conn.execute("select count(*) from corpus.log_warnings").fetchone() == (1,)


@pytest.mark.parametrize("role", ROLES[:2])
@pytest.mark.parametrize(
    "statement",
    [
        "insert into corpus.corpora (name) values ('x')",
        "delete from corpus.report_grain_cache",
        "select corpus.populate_scope(1, 1, 'info')",
        "select corpus.invalidate_all()",
        "select corpus.open_corpus('x')",
    ],
)
def test_lets_readers_and_producers_change_nothing(conn, role, statement):
    conn.execute(f"set local role {role}")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute(statement)


@pytest.mark.parametrize("role", ROLES)
def test_lets_nobody_write_behind_the_routines(conn, role):
    conn.execute(f"set local role {role}")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute("update corpus.tasks set status = 0")
