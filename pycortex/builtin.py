"""The bodies of the built-in kinds; importing this module registers them."""

from __future__ import annotations

from typing import Any

import psycopg

from pycortex import _maintenance, sql
from pycortex._populate import BATCH, populate
from pycortex.corpus_import import corpus_import as _corpus_import
from pycortex.dataset_export import dataset_export as _dataset_export
from pycortex.errors import JobFailed
from pycortex.progress import JobProgress
from pycortex.registry import job

__all__ = [
    "analyze",
    "corpus_import",
    "dataset_export",
    "populate_report",
    "refresh_reports",
    "reindex",
]


@job("corpus_import")
def corpus_import(progress: JobProgress) -> dict[str, object]:
    """Load conversion logs as tasks and messages; see pycortex.corpus_import."""
    return _corpus_import(progress)


@job("dataset_export")
def dataset_export(progress: JobProgress) -> dict[str, object]:
    """Write the messages of one scope to a file; see pycortex.dataset_export."""
    return _dataset_export(progress)


@job("populate_report")
def populate_report(progress: JobProgress) -> dict[str, object]:
    """
    Count one slice of the reports, in ranges of its tasks.

    Params:
        corpus_id, service_id, severity: Which slice, as spawn_report_populate stored it.

    Raises:
        JobFailed: There is no such slice.
    """
    severity = progress.params.get("severity")
    if not isinstance(severity, str):
        raise JobFailed('params: "severity" must be a text')
    corpus_id, service_id = _id(progress, "corpus_id"), _id(progress, "service_id")
    with _maintenance.session(progress):
        try:
            rows = populate(progress, corpus_id, service_id, severity)
        except psycopg.errors.InvalidParameterValue as error:
            raise JobFailed(error.diag.message_primary or str(error)) from None
    return {"populated": severity, "rows": rows}


@job("refresh_reports")
def refresh_reports(progress: JobProgress) -> dict[str, object]:
    """Drop all cached reports; each is counted anew when somebody asks for it."""
    with _maintenance.session(progress) as conn:
        progress.step(0, 1, "invalidating the report cache")
        sql.invalidate_all(conn)
        while sql.clear_runs(conn, batch_size=BATCH) >= BATCH:
            progress.step(0, 1, "clearing away what nobody needs any more")
        progress.step(1, 1, "report cache invalidated")
    return {"status": "cache-invalidated"}


@job("reindex")
def reindex(progress: JobProgress) -> dict[str, Any]:
    """Rebuild the indexes of the tables in the params online; see pycortex._maintenance."""
    return _maintenance.maintain(progress, _maintenance.REINDEX)


@job("analyze")
def analyze(progress: JobProgress) -> dict[str, Any]:
    """Refresh the planner's statistics of the tables in the params."""
    return _maintenance.maintain(progress, _maintenance.ANALYZE)


def _id(progress: JobProgress, name: str) -> int:
    value: Any = progress.params.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
        raise JobFailed(f'params: "{name}" must be the number of one, not {value!r:.100}')
    return value
