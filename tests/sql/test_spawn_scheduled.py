"""cortex.spawn_scheduled; more of it in tests/cron/test_schedule_job.py."""

import pycortex.sql
from tests.sql.asking import value
from tests.sql.test_list_schedules import INSERT


def test_spawns_the_job_and_remembers_it(conn):
    conn.execute(INSERT)

    spawned = pycortex.sql.spawn_scheduled(conn, "restored")

    assert spawned.created
    assert value(conn, "select last_job from cortex.list_schedules()") == spawned.uuid
    assert value(conn, "select last_job_status from cortex.list_schedules()") == "queued"
