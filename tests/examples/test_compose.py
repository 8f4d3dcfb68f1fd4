"""The example in containers: its jobs, and all of it on a real Docker."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from pycortex.runner import FAREWELL_LIMIT
from pycortex.worker import LEAVE
from tests.containers import docker_client
from tests.servers import Unavailable
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "compose"
CONTENT = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
WORKERS = sorted(name for name in CONTENT["services"] if name.startswith("worker"))
LINES = [
    {"item": "tea", "price": "9.90", "quantity": 2},
    {"item": "cup", "price": "5", "quantity": 1},
]


def test_has_two_workers_with_a_health_check():
    assert len(WORKERS) == 2
    for name in WORKERS:
        service = CONTENT["services"][name]
        assert service["healthcheck"]["test"] == ["CMD", "pycortex", "worker", "--check"]
        assert service["depends_on"]["install"]["condition"] == "service_completed_successfully"


def test_docker_waits_as_long_as_a_worker_may_take():
    for name in WORKERS:
        service = CONTENT["services"][name]
        arguments = shlex.split(service["command"])
        grace = float(arguments[arguments.index("--grace") + 1])

        assert (
            float(service["stop_grace_period"].removesuffix("s")) > grace + FAREWELL_LIMIT + LEAVE
        )


def test_the_worker_of_the_file_runs_the_jobs_of_the_shop(command_of_shop, database):
    process = command_of_shop.start(*shlex.split(CONTENT["services"][WORKERS[0]]["command"]))
    try:
        with psycopg.connect(database, autocommit=True) as conn:
            spawn(conn, "invoice", {"lines": LINES})
            spawn(conn, "invoice", {"lines": [{"item": "tea", "price": "1", "quantity": 0}]})
            spawn(conn, "thumbnails", {"pages": 3, "seconds_per_page": 0})

            rows = wait_until(lambda: over(conn, 3), what="the jobs are over")
    finally:
        process.kill()
        process.communicate()
    assert rows == [
        ("invoice", "succeeded", {"total": "24.80"}, ""),
        ("invoice", "failed", None, "line 1 orders 0 of tea"),
        ("thumbnails", "succeeded", {"pages": 3}, ""),
    ]


def spawn(conn: psycopg.Connection[Any], kind: str, params: dict[str, Any]) -> None:
    conn.execute("select cortex.spawn_job(%s, params => %s)", [kind, json.dumps(params)])


def over(conn: psycopg.Connection[Any], number: int) -> list[Any] | None:
    rows = conn.execute(
        "select kind, status::text, result, message from cortex.jobs order by created_at"
    ).fetchall()
    done = len(rows) == number and all(row[1] not in ("queued", "running") for row in rows)
    return rows if done else None


class Compose:
    """docker compose on the example, under a project name of this process."""

    def __init__(self, program: list[str], folder: Path, *files: Path) -> None:
        self._program = [*program, "--project-name", f"pycortextest{os.getpid()}"]
        for file in (FOLDER / "compose.yaml", *files):
            self._program += ["--file", str(file)]
        self._environment = os.environ | {"POSTGRES_PASSWORD": "it's / a \\ secret"}
        self._folder = folder

    def __call__(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self._program, *arguments],
            cwd=self._folder, env=self._environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
        assert not check or done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done

    def psql(self, statement: str) -> str:
        psql = "psql --no-psqlrc --tuples-only --no-align --username=app app --command"
        return self("exec", "-T", "database", *shlex.split(psql), statement).stdout.strip()

    def check(self, worker: str) -> int:
        return self("exec", "-T", worker, "pycortex", "worker", "--check", check=False).returncode


def find_compose() -> list[str]:
    """
    How compose is called here.

    Raises:
        Unavailable: It isn't installed.
    """
    for program in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(program[0]):
            done = subprocess.run([*program, "version"], capture_output=True, check=False)
            if done.returncode == 0:
                return program
    raise Unavailable("compose isn't installed: on Debian, the package docker-compose")


def trusted_by_pip() -> str:
    """The file with the certificates that pip trusts here, where it was given one."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    given = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return os.environ.get("PIP_CERT") or given.get("global.cert", "").strip("'")


def trusting_base(client: Any, folder: Path, certificates: str) -> str:
    """Build an image on which pip trusts what it trusts here."""
    tag = "pycortex-test-app-base"
    shutil.copy(certificates, folder / "certificates.pem")
    (folder / "Dockerfile").write_text(
        "FROM debian:bookworm-slim\nCOPY certificates.pem /etc/ssl/certificates.pem\n"
    )
    client.images.build(path=str(folder), tag=tag, rm=True)
    return tag


@pytest.fixture(scope="module")
def compose(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """All services, up."""
    try:
        client, program = docker_client(), find_compose()
    except Unavailable as reason:
        pytest.skip(str(reason))
    folder = tmp_path_factory.mktemp("compose")
    files = []
    if certificates := trusted_by_pip():
        base = folder / "base"
        base.mkdir()
        build = {
            "args": {
                "BASE": trusting_base(client, base, certificates),
                "PIP_CERT": "/etc/ssl/certificates.pem",
            }
        }
        files = [folder / "override.yaml"]
        services = {name: {"build": build} for name in ("install", *WORKERS)}
        files[0].write_text(yaml.safe_dump({"services": services}))
    client.close()
    run = Compose(program, folder, *files)
    try:
        run("build")
        run("up", "--detach")
        yield run
    finally:
        run("down", "--volumes", "--timeout", "1", check=False)


@pytest.mark.waits
@pytest.mark.timeout(1800)
def test_stands_outages_and_stops_in_time(compose):
    for worker in WORKERS:
        wait_until(lambda it=worker: compose.check(it) == 0, 60, what=f"{worker} is healthy")
    compose.psql(
        "select cortex.spawn_jobs('thumbnails', array_fill(jsonb '{\"pages\": 20}', array[8]))"
    )
    wait_until(
        lambda: compose.psql("select count(*) from cortex.jobs where status = 'running'") == "8"
    )

    compose("stop", WORKERS[0])
    compose("stop", "database")
    away = compose.check(WORKERS[1])
    compose("start", "database")

    assert away == 3
    wait_until(
        lambda: (
            compose.psql("select string_agg(distinct status::text, ',') from cortex.jobs")
            == "succeeded"
        ),
        60,
        what="all jobs have succeeded, on the worker that was stopped too",
    )
    wait_until(lambda: compose.check(WORKERS[1]) == 0, 60, what="the worker beats again")
    stopped = compose("ps", "--all", "--quiet", WORKERS[0]).stdout.split()
    states = subprocess.run(
        ["docker", "inspect", "--format", "{{.State.ExitCode}} {{.State.OOMKilled}}", *stopped],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert states == ["0", "false"]
    assert compose.psql("select schedule from cron.job") == "* * * * *"
