"""Every kind of server that the tests can run on is what it says, and carries a job's life."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pycortex.install import install
from pycortex.schedule import schedule
from tests.containers import LABEL, DockerServer, docker_client
from tests.lives import live_a_life
from tests.servers import (
    EmbeddedServer,
    GivenServer,
    LocalServer,
    Server,
    Unavailable,
    find_bindir,
    to_url,
)
from tests.waiting import wait_until

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module", params=[LocalServer, DockerServer, EmbeddedServer])
def tier(request: pytest.FixtureRequest) -> Iterator[Server]:
    """One server of each kind."""
    try:
        opened = request.param()
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield opened
    opened.close()


def test_carries_a_jobs_whole_life(tier):
    url = tier.create("life")
    install(url)

    life = live_a_life(url)

    assert life == ("succeeded", "done", 3)


def test_serves_at_least_the_oldest_version_that_we_promise(tier):
    assert tier.version() >= 14


def test_can_be_given_to_the_tests_as_a_dsn(tier):
    given = GivenServer(tier.url())

    given.create("given")
    given.drop("given")

    assert given.version() == tier.version()


def test_refuses_a_given_role_that_may_not_create_databases(tier):
    tier.execute("create role guest login password 'guest'")

    with pytest.raises(Unavailable, match="CREATEDB"):
        GivenServer(tier.url(user="guest", password="guest"))


def test_runs_pg_cron_in_a_container():
    try:
        server = DockerServer(CRON_DATABASE="app")
    except Unavailable as reason:
        pytest.skip(str(reason))
    try:
        url = server.create("app")
        install(url)
        server.execute("create extension pg_cron", "app")

        number = schedule(url)

        with psycopg.connect(url) as conn:
            assert conn.execute("select jobid from cron.job").fetchall() == [(number,)]
        client = docker_client()
        ours = client.containers.list(filters={"label": LABEL})
        assert server.container.get_wrapped_container().id in {each.id for each in ours}
    finally:
        server.close()
    assert server.container.get_wrapped_container().id not in {
        each.id for each in client.containers.list(all=True, filters={"label": LABEL})
    }
    client.close()


def test_leaves_no_server_behind_when_the_tests_are_killed():
    try:
        find_bindir()
    except Unavailable as reason:
        pytest.skip(str(reason))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.servers"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYCORTEX_TEST_TIER": "local", "PYCORTEX_TEST_DSN": ""},
    )  # fmt: skip
    with process:
        url = process.stdout.readline().strip()
        with psycopg.connect(url) as conn:
            (data,) = conn.execute("show data_directory").fetchone()

        process.send_signal(signal.SIGKILL)

    wait_until(lambda: not Path(data).exists(), what="the guard has removed the cluster")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=5)


@pytest.mark.parametrize(
    "params",
    [
        {"host": "127.0.0.1", "port": "5433", "user": "a", "dbname": "b"},
        {
            "host": "::1",
            "port": "5433",
            "user": "u@er",
            "password": "p@ss/w:rd#%?",
            "dbname": "ü b",
        },
        {"host": "/tmp/a b", "user": "a", "dbname": "b"},
        {"dbname": "b", "options": "-c timezone=UTC"},
    ],
)
def test_writes_a_url_that_means_the_same_as_the_parameters(params):
    assert conninfo_to_dict(to_url(params)) == params


def test_counts_a_skip_as_a_failure_where_all_is_required(tmp_path):
    done = _run_pytest(tmp_path, PYCORTEX_REQUIRE_ALL="1")

    assert done.returncode == 1
    assert "1 failed, 1 error" in done.stdout
    assert "skipped, but PYCORTEX_REQUIRE_ALL is set" in done.stdout


def test_lets_a_skip_pass_elsewhere(tmp_path):
    done = _run_pytest(tmp_path, PYCORTEX_REQUIRE_ALL="")

    assert "2 skipped" in done.stdout


def _run_pytest(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_skipping.py").write_text(
        "import pytest\n\n\n"
        "def test_is_skipped_inside():\n    pytest.skip('no tool')\n\n\n"
        "@pytest.mark.skipif(True, reason='no tool')\ndef test_is_skipped_by_mark():\n    pass\n"
    )
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", folder],
        cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip
