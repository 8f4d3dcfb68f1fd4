"""A server with pg_cron, which lives in database cronhome; and databases in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import fresh_name
from tests.containers import DockerServer
from tests.servers import LocalServer, Server, Unavailable, find_bindir, require_extension
from tests.waiting import wait_until

HOME = "cronhome"


@pytest.fixture(scope="session")
def cron_server() -> Iterator[Server]:
    """A server of our own that has pg_cron loaded: local programs, or else our Docker image."""
    try:
        opened = local_server()
    except Unavailable as no_local:
        try:
            opened = DockerServer(CRON_DATABASE=HOME)
        except Unavailable as no_docker:
            pytest.skip(f"{no_local}; and {no_docker}")
    yield opened
    opened.close()


def local_server() -> Server:
    """A server that has pg_cron loaded, to live in a database that is yet to be made."""
    bindir = find_bindir()
    require_extension(bindir, "pg_cron")
    return LocalServer(
        bindir,
        shared_preload_libraries="pg_cron",
        cron__database_name=HOME,
        cron__use_background_workers="on",
        max_worker_processes="20",
    )


@pytest.fixture(scope="session")
def cron_template(cron_server: Server) -> str:
    """The name of a database on `cron_server` in which everything is installed."""
    from pycortex.install import install

    name = fresh_name("template")
    install(cron_server.create(name))
    return name


@pytest.fixture(scope="session")
def cron_home(cron_server: Server, cron_template: str) -> str:
    """The URL of the database in which pg_cron lives; pycortex is installed there as well."""
    url = cron_server.create(HOME, cron_template)
    cron_server.execute("create extension pg_cron", HOME)
    with psycopg.connect(url, autocommit=True) as conn:
        runs = "select from pg_stat_activity where application_name = 'pg_cron scheduler'"
        wait_until(lambda: conn.execute(runs).rowcount == 1, what="pg_cron's scheduler runs")
    return url


@pytest.fixture
def home(cron_home: str) -> Iterator[psycopg.Connection[Any]]:
    """A session where pg_cron lives, in a transaction that is rolled back after the test."""
    with psycopg.connect(cron_home) as opened:
        yield opened
        opened.rollback()


@pytest.fixture
def apart(cron_server: Server, cron_home: str, cron_template: str) -> Iterator[str]:
    """The URL of a fresh database on the same server, where pg_cron doesn't live."""
    name = fresh_name("apart")
    yield cron_server.create(name, cron_template)
    with psycopg.connect(cron_home) as conn:  # a scheduler in it would keep it from being dropped
        conn.execute("select cron.unschedule(jobid) from cron.job where database = %s", [name])
    cron_server.drop(name)


@pytest.fixture
def entries(cron_home: str) -> Iterator[Any]:
    """Reads what pg_cron has committed for a database: entries("app") -> [(id, name, schedule)]."""
    with psycopg.connect(cron_home, autocommit=True) as conn:

        def read(database: str) -> list[tuple[int, str, str]]:
            return conn.execute(
                "select jobid, jobname, schedule from cron.job where database = %s order by jobid",
                [database],
            ).fetchall()

        yield read
