"""reindex, analyze, report and corpus import: run here, or only queued."""

from __future__ import annotations

import json
import tarfile

import pytest

from pycortex._data import data_path

LOG = """\
Warning:missing_file:a.sty Can't find package a
\tat one.tex; line 1
Error:undefined:\\foo The token is not defined.
Conversion complete: 1 warning; 1 error
"""


@pytest.fixture
def logs(tmp_path):
    """A folder with two logs and a file that is none."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "one.log").write_text(LOG)
    (folder / "two.log").write_text("Conversion complete: No obvious problems\n")
    (folder / "three.log").write_text("")
    return folder


def kinds(committed) -> list[tuple[str, str]]:
    return committed.conn.execute(
        "select kind, status::text from cortex.jobs order by created_at"
    ).fetchall()


@pytest.mark.parametrize("command", ["reindex", "analyze"])
def test_runs_maintenance_here_and_ends_with_0(cli, committed, command):
    result = cli(command)

    assert result.exit_code == 0
    assert " succeeded" in result.stdout
    assert f"succeeded {command} 7/7" in result.stderr
    assert kinds(committed) == [(command, "succeeded")]


@pytest.mark.parametrize("command", ["reindex", "analyze"])
def test_only_queues_maintenance_when_told(cli, committed, command):
    result = cli(command, "corpus.tasks", "--queue")

    assert len(result.stdout.strip()) == 36
    assert kinds(committed) == [(command, "queued")]


def test_prints_the_finished_job_for_programs(cli):
    job = json.loads(cli("analyze", "corpus.tasks", "--json", "--actor", "ada").stdout)

    assert (job["status"], job["actor"]) == ("succeeded", "ada")


@pytest.mark.parametrize("name", ["corpus.nosuch", "tasks; drop table x", "", 'corpus."tasks_idx"'])
def test_refuses_a_table_that_is_none_and_spawns_nothing(cli, committed, name):
    result = cli("reindex", name)

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert kinds(committed) == []


def test_runs_a_job_that_waits_already(cli, committed):
    queued = cli("analyze", "--queue").stdout.strip()

    result = cli("analyze")

    assert result.stdout.split() == [queued, "succeeded"]
    assert len(kinds(committed)) == 1


def test_follows_a_job_that_runs_elsewhere(pycortex, committed):
    runner = committed.make_runner()
    job = committed.make_job(
        "running", kind="analyze", runner=runner, debounce_scope={}, message="elsewhere"
    )
    process = pycortex.start("analyze")
    line = process.stderr.readline()
    while "elsewhere" not in line:
        line = process.stderr.readline()

    committed.conn.execute(
        "select cortex.finish_job(job => %s, status => 'failed', message => 'no luck')", [job]
    )

    out, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert out == f"{job} failed no luck\n"


def test_imports_counts_and_shows_a_report(cli, cli_json, logs):
    imported = cli_json("corpus", "import", str(logs), "--corpus", "small")
    place = (str(imported["result"]["corpus_id"]), str(imported["result"]["service_id"]))

    assert cli("report", "populate", *place, "error").exit_code == 0

    shown = cli("report", "show", *place, "error").stdout.splitlines()
    assert [line.split() for line in shown] == [
        ["CATEGORY", "WHAT", "TASKS", "MESSAGES"],
        ["total", "1", "1"],
        ["undefined", "1", "1"],
        ["\\foo", "1", "1"],
    ]
    rows = cli_json("report", "show", *place, "error")
    assert [(row["grain"], row["message_count"]) for row in rows] == [
        ("total", 1),
        ("category", 1),
        ("what", 1),
    ]


def test_refresh_forgets_what_was_counted(cli, cli_json, logs):
    result = cli_json("corpus", "import", str(logs))["result"]
    place = (str(result["corpus_id"]), str(result["service_id"]), "warning")
    cli("report", "populate", *place)

    assert cli("report", "refresh").exit_code == 0

    shown = cli("report", "show", *place, "--budget", "0")
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "pycortex report populate" in shown.stderr


def test_imports_an_archive_and_names_the_corpus_after_it(cli_json, logs, tmp_path):
    with tarfile.open(tmp_path / "papers.tar.gz", "w:gz") as archive:
        archive.add(logs, "papers")

    job = cli_json("corpus", "import", str(tmp_path / "papers.tar.gz"))

    assert job["result"]["corpus"] == "papers"
    assert job["result"]["documents"] == 3


def test_imports_the_sample(cli_json):
    job = cli_json("corpus", "import", str(data_path("latexml-logs")), "--corpus", "sample")

    assert job["status"] == "succeeded"
    assert job["progress_current"] == job["progress_total"] > 30


def test_refuses_a_path_that_is_not_there(cli, committed, tmp_path):
    result = cli("corpus", "import", str(tmp_path / "nosuch"))

    assert result.exit_code == 2
    assert kinds(committed) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "populate", "1", "1", "awful"),
        ("report", "populate", "0", "1", "error"),
        ("report", "populate", "x", "1", "error"),
        ("report", "show", "1", "99999999999", "error"),
    ],
)
def test_refuses_a_slice_that_makes_no_sense(cli, committed, arguments):
    assert cli(*arguments).exit_code == 2
    assert kinds(committed) == []


def test_says_that_there_is_no_such_corpus(cli):
    populated = cli("report", "populate", "4711", "1", "error")
    shown = cli("report", "show", "4711", "1", "error")

    assert (populated.exit_code, shown.exit_code) == (1, 1)
    assert "4711" in populated.stdout
    assert "4711" in shown.stderr


def test_import_refuses_a_path_that_no_job_can_carry(cli, tmp_path, committed):
    """E03"""
    logs = tmp_path / "\udcff"
    logs.mkdir()

    result = cli("corpus", "import", str(logs))

    assert result.exit_code == 2
    assert committed.conn.execute("select count(*) from cortex.job").fetchone() == (0,)
