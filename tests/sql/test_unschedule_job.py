"""cortex.unschedule_job where pg_cron is not; more of it in tests/cron/test_schedule_job.py."""

import pycortex.sql
from tests.sql.asking import refused
from tests.sql.test_list_schedules import INSERT


def test_forgets_what_a_restore_brought(conn):
    conn.execute(INSERT)

    assert pycortex.sql.unschedule_job(conn, "restored") is True
    assert pycortex.sql.unschedule_job(conn, "restored") is False


def test_refuses_null(conn):
    with refused(conn, "22004"):
        conn.execute("select cortex.unschedule_job(null)")
