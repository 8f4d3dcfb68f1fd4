"""Every example in README and docs that is marked sql, python or sh runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(language):
    return [
        pytest.param(text, id=f"{page.name}-{number}")
        for page in PAGES
        for number, (marked, text) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1)
        if marked == language
    ]


@pytest.mark.parametrize("example", examples("sql"))
def test_sql_examples_run(database, example):
    with psycopg.connect(database, autocommit=True) as conn:
        for line in example.strip().splitlines():
            assert conn.execute(line).description is not None


@pytest.mark.parametrize("example", examples("python"))
def test_python_examples_run(database, example):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        env={"PYCORTEX_DATABASE_URL": database, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


PAGES_WITH_COMMANDS = [page for page in PAGES if "```sh\n" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_of_a_page_run_one_after_the_other(database, tmp_path, page):
    script = "".join(
        text for marked, text in BLOCK.findall(page.read_text(encoding="utf-8")) if marked == "sh"
    )

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={
            "PYCORTEX_DATABASE_URL": database,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_links_between_the_pages_lead_somewhere():
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]

    assert not broken


def test_every_test_that_the_promises_name_is_there():
    page = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)

    missing = [
        f"{path}::{name}"
        for path, name in named
        if f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")
    ]

    assert len(named) > 30
    assert not missing
