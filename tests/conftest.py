"""The fixtures that every test may use: servers, databases, connections, rows."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests import factories
from tests.faults import figures
from tests.servers import LocalServer, Server, Unavailable, open_server
from tests.servers import own_server as new_server

REQUIRE_ALL = "PYCORTEX_REQUIRE_ALL"
"""Set in CI: a test that is skipped has failed."""

_numbers = itertools.count(1)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(figures)
    # What a developer's shell says about databases must not leak into tests.
    for name in list(os.environ):
        if name.startswith("PG") or name == "PYCORTEX_DATABASE_URL":
            del os.environ[name]
    # Nor that a shell has started this in the background: programs would not hear Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("waits") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report: pytest.TestReport = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get(REQUIRE_ALL):
        report.outcome = "failed"
        report.longrepr = f"skipped, but {REQUIRE_ALL} is set: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    report: pytest.CollectReport = yield
    if report.skipped and os.environ.get(REQUIRE_ALL):
        report.outcome = "failed"
        report.longrepr = f"skipped, but {REQUIRE_ALL} is set: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(report: Any) -> Any:
    """Lone surrogates, which some tests play with, can't go from one process to another."""
    return _as_utf8((yield))


def _as_utf8(value: Any) -> Any:
    match value:
        case str():
            return value.encode(errors="backslashreplace").decode()
        case dict():
            return {_as_utf8(key): _as_utf8(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(map(_as_utf8, value))
    return value


def pytest_report_header(config: pytest.Config) -> str:
    wanted = os.environ.get("PYCORTEX_TEST_TIER") or "the first that can be had"
    if os.environ.get("PYCORTEX_TEST_DSN"):
        wanted = "given by PYCORTEX_TEST_DSN"
    return (
        f"pycortex: server {wanted}; skips {'fail' if os.environ.get(REQUIRE_ALL) else 'allowed'}"
    )


def fresh_name(prefix: str) -> str:
    """A database name that no other test process uses."""
    return f"pycortex_{os.getpid()}_{prefix}_{next(_numbers)}"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The server of this run; tests make databases in it, and never stop it."""
    try:
        opened = open_server()
    except Unavailable as reason:
        if os.environ.get("PYCORTEX_TEST_TIER") or os.environ.get("PYCORTEX_TEST_DSN"):
            pytest.exit(f"the server that was asked for can't be had: {reason}", returncode=4)
        pytest.skip(str(reason))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def template(server: Server) -> Iterator[str]:
    """The name of a database in which everything is installed, to be cloned."""
    from pycortex.install import install

    name = fresh_name("template")
    install(server.create(name))
    yield name
    server.drop(name)


@pytest.fixture
def database(server: Server, template: str) -> Iterator[str]:
    """The URL of a fresh database with everything installed; for tests that commit."""
    name = fresh_name("test")
    yield server.create(name, template)
    server.drop(name)


@pytest.fixture
def empty_database(server: Server) -> Iterator[str]:
    """The URL of a fresh database in which nothing is installed."""
    name = fresh_name("empty")
    yield server.create(name)
    server.drop(name)


@pytest.fixture
def connect(database: str) -> Iterator[Callable[..., psycopg.Connection[Any]]]:
    """
    Opens sessions in `database`: connect(autocommit=True, …).

    They are closed after the test.
    """
    opened: list[psycopg.Connection[Any]] = []

    def open_one(conninfo: str = database, **kwargs: Any) -> psycopg.Connection[Any]:
        opened.append(psycopg.connect(conninfo, **kwargs))
        return opened[-1]

    yield open_one
    for conn in opened:
        conn.close()


@pytest.fixture
def committed(connect: Callable[..., psycopg.Connection[Any]]) -> factories.Factory:
    """make_job and make_runner that commit, into `database`; also `.conn`, in autocommit."""
    return factories.Factory(connect(autocommit=True))


@pytest.fixture(scope="session")
def shared_database(server: Server, template: str) -> Iterator[str]:
    """The URL of one clone for every test that rolls back."""
    name = fresh_name("shared")
    yield server.create(name, template)
    server.drop(name)


@pytest.fixture
def conn(shared_database: str) -> Iterator[psycopg.Connection[Any]]:
    """A session in a transaction that is rolled back after the test."""
    with psycopg.connect(shared_database) as opened:
        yield opened
        opened.rollback()


@pytest.fixture
def make_job(conn: psycopg.Connection[Any]) -> Callable[..., UUID]:
    """Inserts a job in a named state through `conn`; see tests.factories.make_job."""
    return partial(factories.make_job, conn)


@pytest.fixture
def make_runner(conn: psycopg.Connection[Any]) -> Callable[..., UUID]:
    """Inserts a runner through `conn`; see tests.factories.make_runner."""
    return partial(factories.make_runner, conn)


@pytest.fixture(scope="module")
def own_server() -> Iterator[LocalServer]:
    """A server that the module's tests may stop, crash and start again."""
    try:
        opened = new_server()
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def _own_template(own_server: LocalServer) -> str:
    from pycortex.install import install

    name = fresh_name("template")
    install(own_server.create(name))
    return name


@pytest.fixture
def own_database(own_server: LocalServer, _own_template: str) -> str:
    """The URL of a fresh database in `own_server` with everything installed."""
    return own_server.create(fresh_name("own"), _own_template)
