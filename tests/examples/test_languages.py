"""A job's life from psql, Node and PHP: the examples run as they stand."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import scalar_row

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NODE_MODULES = ROOT / ".venv" / "node" / "node_modules"


def psql(_: Path) -> list[str | Path]:
    if not shutil.which("psql"):
        pytest.skip("psql isn't installed: on Debian, the package postgresql-client")
    script = EXAMPLES / "psql" / "job.sql"
    return ["psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--file", script]


def node(folder: Path) -> list[str | Path]:
    if not shutil.which("node"):
        pytest.skip("Node isn't installed: on Debian, the packages nodejs and npm")
    if not NODE_MODULES.is_dir():
        pytest.skip("the npm package pg isn't there: make node")
    (folder / "node_modules").symlink_to(NODE_MODULES)
    return ["node", Path(shutil.copy(EXAMPLES / "node" / "job.mjs", folder))]


def php(_: Path) -> list[str | Path]:
    if not shutil.which("php"):
        pytest.skip("PHP isn't installed: on Debian, the packages php-cli and php-pgsql")
    modules = subprocess.run(["php", "-m"], capture_output=True, text=True, check=True).stdout
    if "pgsql" not in modules.splitlines():
        pytest.skip("PHP has no PostgreSQL: on Debian, the package php-pgsql")
    return ["php", EXAMPLES / "php" / "job.php"]


@pytest.mark.parametrize("language", [psql, node, php])
def test_spawns_watches_and_finishes_a_job(
    language: Callable[[Path], list[str | Path]], database: str, tmp_path: Path
) -> None:
    command = language(tmp_path)
    if language is psql:
        command += ["--dbname", database]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYCORTEX_DATABASE_URL": database,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    with psycopg.connect(database, row_factory=scalar_row) as conn:
        job = conn.execute("select uuid from cortex.jobs").fetchone()
        assert conn.execute(
            "select to_jsonb(j) - array(select jsonb_object_keys(to_jsonb(j)) except values"
            " ('kind'), ('status'), ('actor'), ('params'), ('progress_current'), ('result'))"
            " from cortex.jobs as j"
        ).fetchone() == {
            "kind": "greet",
            "status": "succeeded",
            "actor": language.__name__,
            "params": {"name": "Ada"},
            "progress_current": 1,
            "result": {"text": "Hello Ada"},
        }
    for status in ("running", "succeeded"):
        assert f"{job} {status}" in done.stdout, "it heard of every change"


@pytest.mark.parametrize("path", ["psql/job.sql", "node/job.mjs", "php/job.php"])
def test_an_example_is_short(path: str) -> None:
    lines = (EXAMPLES / path).read_text(encoding="utf-8").splitlines()

    calls = [line for line in lines if "cortex." in line and not line.startswith(("//", "--"))]

    assert len(calls) == 5
