"""I11: one application per database; two databases of one server know nothing of each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import fresh_name
from tests.factories import make_job, make_runner

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def neighbours(server, template) -> Iterator[list[psycopg.Connection[Any]]]:
    """A session in each of two databases of one server."""
    names = [fresh_name("neighbour") for _ in range(2)]
    conns = [psycopg.connect(server.create(name, template), autocommit=True) for name in names]
    yield conns
    for conn, name in zip(conns, names, strict=True):
        conn.close()
        server.drop(name)


def test_upkeep_in_one_database_does_not_keep_it_from_another(neighbours):
    one, other = neighbours

    with one.transaction():
        assert one.execute("select ran from cortex.maintain()").fetchone() == (True,)

        assert other.execute("select ran from cortex.maintain()").fetchone() == (True,)


def test_upkeep_and_sweeps_end_jobs_of_their_own_database_alone(neighbours):
    one, other = neighbours
    jobs = [make_job(conn, "running", silent_for="3 hours") for conn in neighbours]

    other.execute("select from cortex.maintain()")
    other.execute("select from cortex.list_recent()")
    other.execute("select cortex.interrupt_orphans()")

    status = "select status::text from cortex.jobs where uuid = %s"
    assert other.execute(status, [jobs[1]]).fetchone() == ("interrupted",)
    assert one.execute(status, [jobs[0]]).fetchone() == ("running",)


def test_the_same_lease_in_another_database_makes_no_runner_alive(neighbours):
    """Numbers of leases are the same everywhere; the locks behind them are the database's."""
    one, other = neighbours
    one.execute("select cortex.register_runner('r', 'h', 1)")
    pid, lease = one.execute("select backend_pid, lease from cortex.runner").fetchone() or (0, 0)
    dead = make_runner(other, alive=False, backend_pid=pid)
    other.execute(
        "update cortex.runner set lease = default where uuid = %s and lease <> %s", [dead, lease]
    )

    assert other.execute("select lease from cortex.runner").fetchone() == (lease,)
    assert other.execute("select alive from cortex.runners").fetchone() == (False,)


def test_each_database_has_an_entry_of_its_own_in_pg_cron(neighbours):
    """Its names are unique per user over all databases."""
    entries = {conn.execute("select cortex.cron_entry()").fetchone() for conn in neighbours}

    assert len(entries) == 2


@pytest.mark.parametrize("page", ["operations", "security"])
def test_the_docs_say_one_application_per_database(page):
    text = " ".join((DOCS / f"{page}.md").read_text(encoding="utf-8").split())

    assert "One application per database" in text
