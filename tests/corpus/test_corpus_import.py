"""The body of kind corpus_import, against the tables it fills."""

from __future__ import annotations

import shutil
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pycortex import corpus_import as module
from pycortex._data import data_path
from pycortex.corpus_import import corpus_import
from pycortex.errors import JobFailed
from tests.corpus.rows import SEVERITIES, Progress, Scope, cached, make_scope

LOGS = data_path("latexml-logs")
HEAD = "latexml (LaTeXML version 0.8.7) processing x.tex\n"


@pytest.fixture
def own(connect) -> psycopg.Connection[Any]:
    return connect(autocommit=True)


def run(conn: psycopg.Connection[Any], path: Path, **params: Any) -> dict[str, Any]:
    return corpus_import(Progress(conn, {"path": str(path), "corpus": "sample", **params}))


def scope(result: dict[str, Any]) -> Scope:
    return Scope(result["corpus_id"], result["service_id"])


def tasks(conn: psycopg.Connection[Any]) -> dict[str, int]:
    return dict(conn.execute("select entry, status from corpus.tasks").fetchall())


def contents(conn: psycopg.Connection[Any]) -> list[Counter[Any]]:
    """Tasks and messages as the import should leave them, whichever way and however often."""
    names = "select entry, status from corpus.tasks"
    logs = (
        "select entry, category, what, details from corpus.log_{}s"
        " join corpus.tasks as t on t.id = task_id"
    )
    return [
        Counter(conn.execute(query).fetchall())
        for query in (names, *(logs.format(severity) for severity in SEVERITIES))
    ]


def messages(conn: psycopg.Connection[Any]) -> dict[str, int]:
    return {
        severity: conn.execute(f"select count(*) from corpus.log_{severity}s").fetchone()[0]
        for severity in SEVERITIES
    }


def test_loads_the_real_logs(own):
    result = run(own, LOGS)

    assert result["documents"] == 40
    assert result["statuses"] == {
        "no_problem": 6, "warning": 9, "error": 19, "fatal": 6, "invalid": 0,
    }  # fmt: skip
    assert result["messages"] == messages(own)
    assert messages(own) == {"info": 44, "warning": 76, "error": 172, "fatal": 6, "invalid": 0}
    assert Counter(tasks(own).values()) == {-1: 6, -2: 9, -3: 19, -4: 6}


def test_loads_an_archive_like_the_folder(own, tmp_path):
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as tar:
        tar.add(LOGS, arcname=".")

    run(own, LOGS)
    folder = contents(own)
    own.execute("truncate corpus.corpora cascade")
    run(own, tmp_path / "logs.tar.gz")

    assert contents(own) == folder


def test_ends_with_the_same_tables_when_it_is_run_again(own):
    run(own, LOGS)
    before = contents(own)

    result = run(own, LOGS)

    assert result["replaced"] == result["documents"] == 40
    assert contents(own) == before
    assert own.execute("select count(*) from corpus.historical_tasks").fetchone() == (0,)


def test_replaces_a_document_and_remembers_what_its_status_was(own, tmp_path):
    log = tmp_path / "a.log"
    log.write_text(HEAD + "Error:a:b c\nWarning:d:e f\n")
    run(own, tmp_path)
    log.write_text(HEAD + "Info:g:h i\n")

    result = run(own, tmp_path)

    assert result["replaced"] == 1
    assert tasks(own) == {"a.log": -1}
    assert messages(own) == {"info": 1, "warning": 0, "error": 0, "fatal": 0, "invalid": 0}
    assert own.execute("select status from corpus.historical_tasks").fetchall() == [(-3,)]


def test_leaves_documents_that_are_gone_from_the_folder(own, tmp_path):
    (tmp_path / "a.log").write_text(HEAD)
    (tmp_path / "b.log").write_text(HEAD)
    run(own, tmp_path)
    (tmp_path / "a.log").unlink()

    run(own, tmp_path)

    assert tasks(own) == {"a.log": -1, "b.log": -1}


def test_keeps_documents_of_one_name_in_two_folders_apart(own, tmp_path):
    for folder, line in (("one", "Error:a:b c\n"), ("two", "")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "main.log").write_text(HEAD + line)

    run(own, tmp_path)

    assert tasks(own) == {"one/main.log": -3, "two/main.log": -1}


def test_makes_an_invalid_task_of_what_is_no_log_and_goes_on(own, tmp_path):
    shutil.copy(LOGS / "latex_ptptex_template.log", tmp_path)
    (tmp_path / "README.md").write_text("# About\n")
    (tmp_path / "empty.log").touch()
    (tmp_path / "gone.log").symlink_to("nowhere")

    result = run(own, tmp_path)

    assert tasks(own) == {
        "README.md": -5, "empty.log": -5, "gone.log": -5, "latex_ptptex_template.log": -2,
    }  # fmt: skip
    assert result["statuses"]["invalid"] == result["messages"]["invalid"] == 3
    reasons = own.execute(
        "select entry, category, what, details from corpus.log_invalids"
        " join corpus.tasks t on t.id = task_id order by entry"
    ).fetchall()
    assert reasons == [
        ("README.md", "import", "not_a_log", "the file is not a conversion log of LaTeXML"),
        ("empty.log", "import", "empty", "the file is empty"),
        ("gone.log", "import", "unreadable", "the file can't be read: No such file or directory"),
    ]


def test_takes_the_later_of_two_members_of_one_name(own, tmp_path):
    path = tmp_path / "logs.tar"
    for line in ("Error:a:b c\n", "Info:a:b c\n"):
        (tmp_path / "x.log").write_text(HEAD + line)
        with tarfile.open(path, "a") as tar:
            tar.add(tmp_path / "x.log", arcname="x.log")

    run(own, path)

    assert tasks(own) == {"x.log": -1}
    assert messages(own)["error"] == 0


def test_steps_once_per_document(own, tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.log").write_text(HEAD)
    progress = Progress(own, {"path": str(tmp_path), "corpus": "c"})

    corpus_import(progress)

    assert progress.steps[1:] == [
        (0, 3, "importing a.log"),
        (1, 3, "importing b.log"),
        (2, 3, "importing c.log"),
        (3, 3, "3 imported"),
    ]


def test_keeps_the_batches_that_were_done_when_it_ends_early(own, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BATCH_DOCUMENTS", 2)
    for name in "abcde":
        (tmp_path / f"{name}.log").write_text(HEAD)
    progress = Progress(own, {"path": str(tmp_path), "corpus": "c"})
    step = progress.step

    def stop_at_the_last(current: int, total: int | None = None, message: str = "") -> None:
        if current == 4:
            raise KeyboardInterrupt
        step(current, total, message)

    progress.step = stop_at_the_last

    with pytest.raises(KeyboardInterrupt):
        corpus_import(progress)

    assert list(tasks(own)) == ["a.log", "b.log", "c.log", "d.log"]


def test_drops_the_reports_of_its_scope_and_no_other(own, tmp_path):
    ours = scope(run(own, LOGS))
    other = make_scope(own)
    for each in (ours, other):
        own.execute("select corpus.populate_scope(%s, %s, %s)", each.slice("error"))

    run(own, LOGS)

    assert cached(own, ours, "error") == []
    assert cached(own, other, "error") == [("total", None, None, 0, 0)]


def test_takes_a_service_by_name(own, tmp_path):
    (tmp_path / "a.log").write_text(HEAD)

    first, second = run(own, tmp_path), run(own, tmp_path, service="latexml-next")

    assert first["service"] == "latexml"
    assert first["corpus_id"] == second["corpus_id"]
    assert first["service_id"] != second["service_id"]
    assert own.execute("select count(*) from corpus.tasks").fetchone() == (2,)


def test_reports_an_empty_folder_as_no_documents(own, tmp_path):
    progress = Progress(own, {"path": str(tmp_path), "corpus": "c"})

    result = corpus_import(progress)

    assert result["documents"] == 0
    assert progress.steps[-1] == (0, 0, "no documents found")


@pytest.mark.parametrize(
    "params",
    [
        {"path": None},
        {"path": ""},
        {"path": 7},
        {"path": "nowhere/at/all"},
        {"corpus": None},
        {"corpus": " "},
        {"corpus": "x" * 201},
        {"service": []},
    ],
)
def test_fails_with_a_sentence_and_changes_nothing_on_bad_params(own, tmp_path, params):
    good = {"path": str(tmp_path), "corpus": "c"}

    with pytest.raises(JobFailed) as caught:
        corpus_import(Progress(own, good | params))

    assert str(caught.value)
    assert own.execute("select count(*) from corpus.corpora").fetchone() == (0,)


def test_lets_two_imports_of_the_same_documents_run_side_by_side(connect, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    conns = [connect(autocommit=True) for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda conn: run(conn, LOGS), conns))

    assert [result["documents"] for result in results] == [40] * 4
    assert messages(conns[0]) == results[0]["messages"]
