"""cortex.list_schedules where pg_cron is not; more of it in tests/cron/test_schedule_job.py."""

import pycortex.sql

INSERT = (
    "insert into cortex.schedule"
    " (name, line, kind, actor, params, debounce_scope, debounce_on, priority)"
    " values ('restored', '0 3 * * *', 'export', '', '{}', '{}', 'active', 0)"
)


def test_lists_what_a_restore_brought_as_not_active(conn):
    """C11, P17."""
    conn.execute(INSERT)

    [found] = pycortex.sql.list_schedules(conn)

    assert (found.name, found.schedule, found.active) == ("restored", "0 3 * * *", False)
    assert (found.next_run_at, found.last_run_at, found.last_job) == (None, None, None)
