"""cortex.attach_backend: a session says that it runs a job's SQL."""

from uuid import uuid4

import psycopg
import pytest

from tests.factories import make_job as insert_job
from tests.owners import owned_database
from tests.sql.asking import job_of, refused, value

ATTACH = "select cortex.attach_backend(job => %s)"
OWN_START = "select backend_start from pg_stat_activity where pid = pg_backend_pid()"


def test_ties_the_calling_session_to_a_running_job(conn, make_job):
    job = make_job("running", silent_for="1 hour")
    before = job_of(conn, job)

    conn.execute(ATTACH, [job])

    assert job_of(conn, job) == before | {
        "backend_pid": conn.info.backend_pid,
        "backend_start": value(conn, OWN_START),
    }


def test_may_be_repeated(conn, make_job):
    job = make_job("running")
    conn.execute(ATTACH, [job])
    before = job_of(conn, job)

    conn.execute(ATTACH, [job])

    assert job_of(conn, job) == before


def test_lets_the_last_session_count(conn, make_job):
    job = make_job("running", backend_pid=1, backend_start="2020-01-01 00:00:00+00")

    conn.execute(ATTACH, [job])

    assert job_of(conn, job)["backend_pid"] == conn.info.backend_pid


def test_lets_one_session_run_several_jobs_after_each_other(conn, make_job):
    jobs = [make_job("running") for _ in range(2)]
    for job in jobs:
        conn.execute(ATTACH, [job])
        conn.execute("select cortex.finish_job(%s, 'succeeded')", [job])

    assert [job_of(conn, job)["backend_pid"] for job in jobs] == [None, None]


def test_is_no_heartbeat(conn, make_job):
    job = make_job("running", silent_for="3 hours")

    conn.execute(ATTACH, [job])

    assert value(conn, "select cortex.reap_stale()") == 1


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_is_over_when_the_job_is(conn, make_job, status):
    job = make_job("running")
    conn.execute(ATTACH, [job])

    conn.execute("select cortex.finish_job(%s, %s)", [job, status])

    row = job_of(conn, job)
    assert (row["backend_pid"], row["backend_start"]) == (None, None)


def test_is_over_when_another_attempt_starts(conn, make_job):
    job = make_job("queued", attempt=1, backend_pid=1, backend_start="2020-01-01 00:00:00+00")

    conn.execute("select cortex.set_running(%s)", [job])

    assert job_of(conn, job)["backend_pid"] is None


@pytest.mark.parametrize("status", ["queued", "succeeded", "failed", "interrupted", "cancelled"])
def test_refuses_a_job_that_does_not_run(conn, make_job, status):
    job = make_job(status)
    before = job_of(conn, job)

    with refused(conn, "JC201"):
        conn.execute(ATTACH, [job])

    assert job_of(conn, job) == before


def test_refuses_a_job_that_never_was(conn):
    with refused(conn, "JC101"):
        conn.execute(ATTACH, [uuid4()])


def test_refuses_null(conn):
    with refused(conn, "22004"):
        conn.execute(ATTACH, [None])


def test_takes_any_style_of_times(conn, make_job):
    job = make_job("running")
    conn.execute("set local datestyle = 'SQL, DMY'; set local timezone = 'Asia/Kolkata'")

    conn.execute(ATTACH, [job])

    conn.execute("set local datestyle = 'ISO'")
    assert job_of(conn, job)["backend_start"] == value(conn, OWN_START)


# Where the owner of the schema is no superuser, and somebody else logs in


@pytest.fixture(scope="module")
def owned(server):
    with owned_database(server) as database:
        yield database


@pytest.fixture
def job(owned):
    """A running job in the database of an ordinary owner."""
    with psycopg.connect(owned.admin, autocommit=True) as admin:
        yield insert_job(admin, "running")


def stored(owned, job):
    with psycopg.connect(owned.admin) as admin:
        return job_of(admin, job)


def test_works_for_an_application_that_the_owner_may_not_look_into(owned, job):
    """I10: the caller itself reads when its session began."""
    with psycopg.connect(owned.app, autocommit=True) as app:
        app.execute(ATTACH, [job])
        start, pid = value(app, OWN_START), app.info.backend_pid

    row = stored(owned, job)
    assert (row["backend_pid"], row["backend_start"]) == (pid, start)


def test_warns_where_the_session_may_not_see_itself(owned, job):
    """After set role a session has no right to its own row of pg_stat_activity."""
    warnings = []
    with psycopg.connect(owned.app, autocommit=True) as app:
        app.add_notice_handler(lambda notice: warnings.append(notice.severity_nonlocalized))
        app.execute("set role cortex_runner")
        app.execute(ATTACH, [job])

    assert warnings == ["WARNING"]
    assert stored(owned, job)["backend_pid"] is None


def test_lets_a_caller_name_no_session_but_its_own(owned, job):
    """Nobody gets the owner to end a stranger's session."""
    with psycopg.connect(owned.app, autocommit=True) as app:
        app.execute(
            "select cortex.attach_session(%s, backend_start => '2020-01-01 00:00:00+00')", [job]
        )
        pid = app.info.backend_pid

    assert stored(owned, job)["backend_pid"] == pid
