"""A backup with jobs in it, restored as another database."""

from __future__ import annotations

import psycopg
import pytest

from pycortex.install import install
from tests.conftest import fresh_name
from tests.factories import make_job, make_runner
from tests.schema import run_tool
from tests.servers import EmbeddedServer, LocalServer, Unavailable
from tests.sql.bodies import ended, make_bodies, spawn

END = "select status from cortex.find_job(%s)"


@pytest.fixture(scope="module")
def tooled(server):
    """A server that came with psql and pg_dump: the run's own, or else the embedded."""
    if isinstance(server, LocalServer) and (server.bindir / "pg_dump").exists():
        yield server
        return
    try:
        opened = EmbeddedServer()
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield opened
    opened.close()


@pytest.fixture
def restored(tooled):
    """A copy of a database with a job that ran and one that waited: (connection, both uuids)."""
    before, after = fresh_name("before"), fresh_name("restored")
    url = tooled.create(before)
    install(url)
    with psycopg.connect(url, autocommit=True) as conn:
        runner = make_runner(conn, silent_for="1 hour")
        running, waiting = make_job(conn, "running", runner=runner), make_job(conn, "queued")
        make_bodies(conn)
    backup = run_tool(tooled, "pg_dump", "--dbname", url)
    url = tooled.create(after)
    run_tool(tooled, "psql", "--no-psqlrc", "--quiet", "--dbname", url, stdin=backup)
    with psycopg.connect(url, autocommit=True) as conn:
        yield conn, running, waiting
    tooled.drop(before)
    tooled.drop(after)


def test_a_job_that_ran_is_ended_and_not_executed_again(restored):
    """C11"""
    conn, running, waiting = restored

    conn.execute("select * from cortex.maintain()")

    assert conn.execute(END, [running]).fetchone() == ("interrupted",)
    assert conn.execute(END, [waiting]).fetchone() == ("queued",)


def test_new_jobs_get_numbers_of_their_own(restored):
    """C11"""
    conn, *_ = restored

    conn.execute("select * from cortex.spawn_job('after')")

    [newest] = conn.execute("select kind from cortex.job order by id desc limit 1").fetchone()
    assert newest == "after"


def test_a_body_in_sql_is_found_by_its_name(restored):
    """Whatever number the restored routine has in the catalogue."""
    conn, *_ = restored
    jobs = [spawn(conn, kind) for kind in ("note", "commit_thrice")]

    conn.execute("call cortex.work(9)")

    assert [ended(conn, job)[0] for job in jobs] == ["succeeded"] * 2
