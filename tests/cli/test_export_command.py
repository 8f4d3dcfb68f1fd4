"""pycortex corpus export: run here, or only queued for a worker that says where files may go."""

from __future__ import annotations

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from pycortex import JobStatus, _newfile, builtin
from pycortex._data import data_path
from tests.corpus.test_corpus_import import run
from tests.isolation.processes import ended
from tests.runners import ROOT, new_runner
from tests.waiting import wait_until

__all__ = ["new_runner"]


@pytest.fixture
def sample(connect):
    """A corpus named sample."""
    return run(connect(autocommit=True), data_path("latexml-logs"))


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    monkeypatch.setattr(_newfile, "_allowed", {})
    monkeypatch.delenv(_newfile.FOLDER, raising=False)


def test_writes_the_file_here_and_ends_with_0(cli, sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = cli("corpus", "export", "sample", "latexml", "--severity", "error", "-o", "x.csv.gz")

    assert result.exit_code == 0, result.output
    with gzip.open(tmp_path / "x.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sample["messages"]["error"]
    assert {row["severity"] for row in rows} == {"error"}


def test_keeps_a_file_that_is_there_unless_forced(cli, sample, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("precious")
    command = ["corpus", "export", "sample", "latexml", "--format", "jsonl", "--no-gzip",
               "-o", str(path)]  # fmt: skip

    result = cli(*command)
    assert result.exit_code == 1
    assert "there already" in result.stdout
    assert path.read_text() == "precious"

    job = json.loads(cli(*command, "--force", "--json").stdout)
    assert (
        job["result"]["rows"]
        == len(path.read_text().splitlines())
        == sum(sample["messages"].values())
    )


def test_names_a_corpus_that_is_not_there(cli, tmp_path):
    result = cli("corpus", "export", "nowhere", "latexml", "-o", str(tmp_path / "x"))

    assert result.exit_code == 1
    assert "there is no corpus nowhere" in result.stdout
    assert os.listdir(tmp_path) == []


def test_only_queues_one_export_for_each_path(cli, committed, tmp_path):
    command = ["corpus", "export", "sample", "latexml", "--queue", "-o"]

    first, again, other = (cli(*command, path).stdout for path in ("a.gz", "a.gz", "b.gz"))

    assert first == again != other
    assert committed.conn.execute(
        "select params ->> 'path' from cortex.jobs order by created_at"
    ).fetchall() == [("a.gz",), ("b.gz",)]


def test_runs_no_export_of_somebody_else_to_another_place(cli, sample, committed, tmp_path):
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    committed.conn.execute(
        "select cortex.spawn_job('dataset_export', params => %s, debounce_scope => %s)",
        [
            json.dumps({"path": str(theirs), "corpus": "sample", "service": "latexml"}),
            json.dumps({"path": str(mine)}),
        ],
    )

    result = cli("corpus", "export", "sample", "latexml", "-o", str(mine))

    assert result.exit_code == 1
    assert os.listdir(tmp_path) == []


def test_lets_no_job_of_somebody_else_replace_a_file_without_force(
    cli, sample, committed, tmp_path
):
    path = tmp_path / "x"
    path.write_text("precious")
    theirs = {"path": str(path), "corpus": "sample", "overwrite": True}
    committed.conn.execute(
        "select cortex.spawn_job('dataset_export', params => %s, debounce_scope => %s)",
        [json.dumps(theirs), json.dumps({"path": str(path)})],
    )

    result = cli("corpus", "export", "sample", "latexml", "-o", str(path))

    assert result.exit_code == 1
    assert path.read_text() == "precious"


@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_a_worker_writes_only_in_the_folder_for_exports(
    cli, sample, new_runner, tmp_path, monkeypatch, isolation
):
    folder = tmp_path / "exports"
    folder.mkdir()
    runner = new_runner(isolation=isolation)
    params = {"corpus": "sample", "service": "latexml"}

    def job(path):
        given = params | {"path": str(path)}
        return runner.spawn("dataset_export", builtin.dataset_export, params=given).wait(60)

    refused = job(tmp_path / "x")
    assert refused.status is JobStatus.FAILED
    assert _newfile.FOLDER in refused.message

    monkeypatch.setenv(_newfile.FOLDER, str(folder))
    assert job(tmp_path / "x").status is JobStatus.FAILED
    assert job("x").status is JobStatus.SUCCEEDED
    assert os.listdir(folder) == ["x"]
    assert sorted(os.listdir(tmp_path)) == ["exports"]


PROGRAM = """
import sys, time
from pycortex import dataset_export
from pycortex.cli import main
write = dataset_export.NewFile.commit

def stop(file):
    print("here", flush=True)
    time.sleep(600)

dataset_export.NewFile.commit = stop
sys.argv[0] = "pycortex"
main()
"""


def test_the_next_export_replaces_what_a_killed_one_left(cli, sample, database, tmp_path):
    command = ["corpus", "export", "sample", "latexml", "-o", str(tmp_path / "x")]
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *command],
        cwd=ROOT,
        env=os.environ | {"PYCORTEX_DATABASE_URL": database},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert program.stdout.readline() == "here\n"
    [left] = os.listdir(tmp_path)

    program.send_signal(signal.SIGKILL)
    program.communicate()
    wait_until(lambda: ended(program.pid))
    assert os.listdir(tmp_path) == [left]
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("select cortex.interrupt_orphans()")

    assert cli(*command).exit_code == 0
    assert os.listdir(tmp_path) == ["x"]
    assert gzip.decompress(Path(tmp_path / "x").read_bytes()).startswith(b"entry,status,")
