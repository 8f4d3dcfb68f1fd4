"""Each benchmark runs on a real server, and yields every figure that it promises."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from benchmarks import __main__ as suite
from benchmarks import alone, machine
from benchmarks.harness import Sheet
from benchmarks.scale import TINY
from benchmarks.server import Bench, fill, open_bench
from tests.servers import LocalServer

ROOT = Path(__file__).parents[2]

REASONS = re.compile(
    r"without pgbench|not installed|has no batched finishes|takes the steps of several jobs"
    r"|left out of the quick run"
)
"""What may be missing on a machine, or in this version; anything else has failed."""


@pytest.fixture(scope="module")
def bench(own_server: LocalServer) -> Bench:
    return Bench(own_server, TINY)


@pytest.mark.parametrize("name", suite.MODULES)
def test_the_module_yields_all_its_figures(bench, name):
    module = importlib.import_module(f"benchmarks.{name}")
    sheet = Sheet(module.TITLE, module.WANTED)

    module.run(bench, sheet)

    assert [figure.wanted for figure in sheet.figures] == module.WANTED
    for figure in sheet.figures:
        if figure.spread is None:
            assert REASONS.search(figure.note), (figure.wanted.key, figure.note)
        else:
            assert 0 <= figure.spread.least <= figure.spread.median <= figure.spread.most


@pytest.mark.parametrize("name", suite.ALONE)
def test_the_program_of_its_own_yields_all_its_figures(name):
    sheet = alone.sheet(name)

    alone.run(name, TINY, sheet)

    missing = {figure.wanted.key for figure in sheet.figures if figure.spread is None}
    assert missing <= {"imports.again_ratio"}


def test_a_module_that_fails_says_so_for_each_of_its_figures(bench, monkeypatch):
    module = importlib.import_module("benchmarks.bare")

    def fail(*_: object) -> None:
        raise ArithmeticError("on fire")

    monkeypatch.setattr(module, "run", fail)

    sheet = suite.one("bare", bench, left=1)

    assert len(sheet.figures) == len(module.WANTED)
    assert {figure.verdict for figure in sheet.figures} == {"not measured"}
    assert {figure.note for figure in sheet.figures} == {"failed: ArithmeticError: on fire"}


def test_what_no_time_was_left_for_says_so(bench):
    sheet = suite.one("flat", bench, left=-1)

    assert {figure.verdict for figure in sheet.figures} == {"not measured"}
    assert all("no time was left" in figure.note for figure in sheet.figures)


def test_the_command_prints_the_table_and_writes_the_figures(tmp_path):
    path = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--scale", "tiny", "--only", "flat"]

    done = subprocess.run(
        [*command, "--json", path], cwd=ROOT, capture_output=True, text=True, check=True
    )

    [group] = json.loads(path.read_text())["groups"]
    assert "## Flat as history grows" in done.stdout
    assert all(f"| {figure['name']} |" in done.stdout for figure in group["figures"])
    assert "not measured 0" in done.stdout


@pytest.fixture(scope="module")
def durable() -> Iterator[Bench]:
    with open_bench(TINY) as opened:
        yield opened


def test_the_server_is_durable_and_on_a_disk_and_the_record_says_so(durable):
    described = machine.describe(durable)

    settings = described["settings"]
    assert {settings[name] for name in ("fsync", "synchronous_commit", "full_page_writes")} == {
        "on"
    }
    assert settings["wal_level"] == "replica"
    assert "tmpfs" not in described["disk"]
    assert described["syncs_per_second"] > 0


def test_a_server_that_was_careless_is_durable_again(durable):
    with durable.careless(), durable.server.connect() as conn:
        assert conn.execute("show fsync").fetchone() == ("off",)

    with durable.server.connect() as conn:
        assert conn.execute("show fsync").fetchone() == ("on",)


def test_a_filled_table_has_all_its_indexes_again(bench):
    query = (
        "select indexdef from pg_indexes where schemaname = 'cortex' and tablename = 'job'"
        " order by 1"
    )
    with bench.database("filled") as url, psycopg.connect(url, autocommit=True) as conn:
        before = conn.execute(query).fetchall()
        fill(conn, 100, 20)

        assert conn.execute(query).fetchall() == before
        assert conn.execute(
            "select status::text, count(*) from cortex.job group by 1 order by 1"
        ).fetchall() == [("failed", 5), ("queued", 10), ("running", 10), ("succeeded", 95)]
