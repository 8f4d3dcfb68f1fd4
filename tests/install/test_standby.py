"""A standby: what reads works and closes nothing; what writes says so, and pretends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pycortex.doctor import examine
from tests.install.standby import make_standby
from tests.servers import LocalServer

READERS = {
    "select status from cortex.list_recent()": "running",
    "select status from cortex.list_recent(active_only => true)": "running",
    "select status from cortex.find_job((select uuid from cortex.jobs))": "running",
    "select jobs from cortex.status_counts() where status = 'running'": 1,
    "select cortex.count_recent_with_status('running', 100)": 1,
    "select cortex.report_populate_active(1, 1, 'error')": True,
    "select cortex.metrics() like '%%cortex_jobs_active%%running\"} 1%%'": True,
    "select cortex.db_now() > '2020-01-01'": True,
    "select cortex.schema_version() <> ''": True,
    "select cortex.cron_entry() <> ''": True,
    "select alive from cortex.runners": False,
    "select count(*) from cortex.job_events": 1,
    "select count(*) from cortex.job_activity": 0,
    "select count(*) from cortex.waiting": 0,
    "select count(*) from cortex.configuration": 1,
    "select count(*) from cortex.kinds": 1,
    "select count(*) from cortex.upkeep_record": 1,
}
JOB = "(select uuid from cortex.jobs)"
RUNNER = "(select uuid from cortex.runners)"
WRITERS = [
    "cortex.spawn_job('x')",
    "cortex.spawn_job('x', debounce_scope => '{}')",
    "cortex.spawn_jobs('x', array['{}']::jsonb[])",
    f"cortex.cancel_job({JOB})",
    f"cortex.step({JOB}, 1)",
    f"cortex.finish_job({JOB}, 'failed')",
    f"cortex.attach_backend({JOB})",
    "cortex.register_runner('r', 'h', 1)",
    f"cortex.keep_runner({RUNNER})",
    f"cortex.retire_runner({RUNNER})",
    f"cortex.claim_jobs({RUNNER}, '{{x}}')",
    "cortex.reap_stale()",
    "cortex.interrupt_orphans()",
    f"cortex.interrupt_orphans({RUNNER})",
    "cortex.purge_jobs('1 second')",
    "cortex.maintain()",
    "cortex.configure(keep => '1 day')",
    "cortex.configure_kind('x', keep => '1 day')",
]


@pytest.fixture(scope="module")
def standby(own_server: LocalServer) -> str:
    """The URL of a database with a stale job, of a runner that is gone, on a standby."""
    return make_standby(own_server)


@pytest.fixture(params=["standby", "read-only transaction"])
def reading(request: pytest.FixtureRequest, standby: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(standby) as conn:
        if request.param != "standby":
            conn.read_only = True
        yield conn
        conn.rollback()


@pytest.mark.parametrize("call", READERS)
def test_reads_and_closes_nothing(reading, call):
    notices: list[str] = []
    reading.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))

    assert reading.execute(call).fetchone() == (READERS[call],)
    assert notices == []


@pytest.mark.parametrize("call", WRITERS)
def test_says_that_it_can_not_write(reading, call):
    """And never that there was nothing to do."""
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        reading.execute(f"select {call}")


def test_the_doctor_looks_at_it_and_changes_nothing(standby):
    found = {check.name: check for check in examine(standby)}

    assert "standby" in found["server"].message
    with psycopg.connect(standby) as conn:
        assert conn.execute("select status from cortex.jobs").fetchone() == ("running",)
