"""Readers in repeatable read and serializable, where another session changes jobs meanwhile."""

from __future__ import annotations

import pytest
from psycopg import IsolationLevel

from tests.factories import make_job

SLICE = {"corpus_id": 1, "service_id": 1, "severity": "error"}


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("select count(*) from cortex.list_recent()", 1),
        ("select count(*) from cortex.list_recent(active_only => true)", 1),
        ("select count(*) from cortex.list_jobs()", 1),
        ("select cortex.report_populate_active(1, 1, 'error')", True),
    ],
)
@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_show_what_the_snapshot_shows_and_do_not_fail(committed, connect, level, call, answer):
    """What they would close has changed since: nothing that somebody who looks must hear of."""
    job = make_job(
        committed.conn, "running", kind="populate_report", silent_for="3 hours", params=SLICE
    )
    reader = connect()
    reader.isolation_level = level
    reader.execute("select from cortex.jobs")
    committed.conn.execute("select cortex.step(%s, 1)", [job])

    assert reader.execute(call).fetchone() == (answer,)

    reader.commit()
    assert committed.conn.execute("select status from cortex.job").fetchone() == ("running",)


@pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
def test_close_zombies_as_ever_where_nobody_is_in_the_way(committed, connect, level):
    make_job(committed.conn, "running", silent_for="3 hours")
    reader = connect()
    reader.isolation_level = level

    assert reader.execute("select status from cortex.list_recent()").fetchone() == ("interrupted",)
