"""The body of kind dataset_export: what is in the file, which is there whole or not at all."""

from __future__ import annotations

import csv
import errno
import fcntl
import gzip
import hashlib
import io
import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pycortex import JobCancelled, _newfile
from pycortex._data import data_path
from pycortex.corpus_import import corpus_import
from pycortex.dataset_export import dataset_export
from pycortex.errors import JobFailed
from tests.corpus.rows import SEVERITIES, Progress, make_scope, make_task

COLUMNS = ["entry", "status", "severity", "category", "what", "details"]
ODD = [
    'quote " and ""',
    "comma, semicolon; tab\there",
    "one line\nanother\r\nthird\rfourth",
    "\\. \\N \\n \\\\",
    "emoji 😀 and \u2028 and Ω",
    " blanks around ",
    "\x01\x02\x1f\x7f",
    "\\.",
    "=1+1",
    "null",
    "NULL",
    "x" * 2000,
]


@pytest.fixture
def own(connect) -> psycopg.Connection[Any]:
    return connect(autocommit=True)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where this process may write files."""
    path = tmp_path / "exports"
    path.mkdir()
    monkeypatch.setenv(_newfile.FOLDER, str(path))
    return path


@pytest.fixture
def scope(own):
    scope = make_scope(own)
    task = make_task(own, scope, -3, entry="b.log")
    other = make_task(own, scope, -2, entry='a "dir"/ä.log')
    for values in [
        (task, "undefined", "\\foo", "The token\n at x.tex"),
        (other, None, "", None),
        (other, "", None, ""),
    ]:
        own.execute("insert into corpus.log_errors (task_id, category, what, details)"
                    " values (%s, %s, %s, %s)", values)  # fmt: skip
    own.execute("insert into corpus.log_infos (task_id, category) values (%s, 'i')", [task])
    make_task(own, make_scope(own), -3, [("error", "elsewhere", "x")])
    return scope


def export(conn, scope, path: str | Path, **params: Any) -> dict[str, Any]:
    return dataset_export(progress(conn, scope, path, **params))


def progress(conn, scope, path, **params):
    ids = {"corpus": scope.corpus_id, "service": scope.service_id}
    return Progress(conn, {"path": str(path), **ids, **params})


def lines(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True))


def objects(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def test_writes_a_line_of_csv_for_each_message_of_the_scope(own, scope, folder):
    result = export(own, scope, folder / "x.csv.gz")

    assert lines(folder / "x.csv.gz") == [
        COLUMNS,
        ["b.log", "-3", "info", "i", "", ""],
        ["b.log", "-3", "error", "undefined", "\\foo", "The token\n at x.tex"],
        ['a "dir"/ä.log', "-2", "error", "", "", ""],
        ['a "dir"/ä.log', "-2", "error", "", "", ""],
    ]
    data = (folder / "x.csv.gz").read_bytes()
    assert result["rows"] == 4
    assert result["bytes"] == len(data)
    assert result["sha256"] == hashlib.sha256(data).hexdigest()
    assert result["messages"] == {"info": 1, "warning": 0, "error": 3, "fatal": 0, "invalid": 0}


def test_tells_nothing_and_empty_apart_in_csv_by_quotes(own, scope, folder):
    export(own, scope, folder / "x.csv", severity="error", compression="none")

    text = (folder / "x.csv").read_bytes()
    assert text.endswith(
        b'"a ""dir""/\xc3\xa4.log",-2,error,,"",\r\n"a ""dir""/\xc3\xa4.log",-2,error,"",,""\r\n'
    )


def test_writes_an_object_a_line_with_the_same_keys_in_the_same_order(own, scope, folder):
    export(own, scope, folder / "x.jsonl.gz", format="jsonl", severity="error")

    found = objects(folder / "x.jsonl.gz")
    assert [list(each) for each in found] == [COLUMNS] * 3
    assert [list(each.values()) for each in found] == [
        ["b.log", -3, "error", "undefined", "\\foo", "The token\n at x.tex"],
        ['a "dir"/ä.log', -2, "error", None, "", None],
        ['a "dir"/ä.log', -2, "error", "", None, ""],
    ]


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_gives_odd_values_back_as_they_were(own, folder, format_):
    scope = make_scope(own)
    task = make_task(own, scope, -3, entry=ODD[0])
    for value in ODD:
        own.execute(
            "insert into corpus.log_fatals (task_id, category, what, details)"
            " values (%s, %s, %s, %s)",
            [task, value[:100], value[:200], value],
        )

    export(own, scope, folder / "x", format=format_)

    if format_ == "csv":
        rows = lines(folder / "x")[1:]
    else:
        rows = [list(each.values()) for each in objects(folder / "x")]
    assert [row[0] for row in rows] == [ODD[0]] * len(ODD)
    assert [row[3:] for row in rows] == [[value[:100], value[:200], value] for value in ODD]


def test_csv_goes_back_into_a_table_as_it_was(own, scope, folder):
    export(own, scope, folder / "x.csv", severity="error", compression="none")

    own.execute("create temp table back"
                " (entry text, status integer, severity text, category text, what text,"
                " details text)")  # fmt: skip
    with own.cursor().copy("copy back from stdin (format csv, header)") as copy:
        copy.write((folder / "x.csv").read_bytes())

    assert (
        own.execute("select category, what, details from back").fetchall()
        == own.execute(
            "select category, what, details from corpus.log_errors"
            " where category is distinct from 'elsewhere' order by id"
        ).fetchall()
    )


def test_writes_the_real_logs_the_same_each_time(own, folder):
    done = corpus_import(Progress(own, {"path": str(data_path("latexml-logs")), "corpus": "c"}))

    results = [
        dataset_export(Progress(own, {"path": name, "corpus": "c", "service": "latexml"}))
        for name in ("one.csv.gz", "two.csv.gz")
    ]

    assert results[0]["messages"] == done["messages"]
    assert results[0]["sha256"] == results[1]["sha256"]
    assert len(lines(folder / "one.csv.gz")) == results[0]["rows"] + 1


def test_writes_a_file_without_messages_for_an_empty_scope(own, folder):
    scope = make_scope(own)

    assert export(own, scope, "x.csv.gz")["rows"] == 0
    assert export(own, scope, "x.jsonl", format="jsonl", compression="none")["bytes"] == 0
    assert lines(folder / "x.csv.gz") == [COLUMNS]


def test_counts_rows_as_it_goes(own, scope, folder, monkeypatch):
    monkeypatch.setattr("pycortex.dataset_export.STEP", 1)
    seen = progress(own, scope, "x")

    dataset_export(seen)

    assert seen.steps[1:] == [
        (0, 4, "exporting info messages"),
        (1, 4, "exporting error messages"),
        (2, 4, "exporting error messages"),
        (3, 4, "exporting error messages"),
        (4, 4, "all written, to be put in its place"),
        (4, 4, "4 exported"),
    ]


def test_is_of_one_moment_whatever_is_committed_meanwhile(own, connect, scope, folder):
    other = connect(autocommit=True)
    seen = progress(own, scope, "x.csv.gz")
    step = seen.step

    def meanwhile(current, total=None, message=""):
        if total is not None and current == 0:
            other.execute("delete from corpus.tasks where corpus_id = %s", [scope.corpus_id])
        step(current, total, message)

    seen.step = meanwhile
    result = dataset_export(seen)

    assert result["rows"] == 4
    assert len(lines(folder / "x.csv.gz")) == 5
    assert own.execute("select count(*) from corpus.log_errors").fetchone() == (1,)


def test_leaves_the_session_able_to_write(own, scope, folder):
    export(own, scope, "x")

    make_scope(own)
    assert own.execute("show transaction_isolation").fetchone() == ("read committed",)


def test_keeps_a_file_that_is_there_unless_told(own, scope, folder):
    (folder / "x").write_text("precious")

    with pytest.raises(JobFailed, match="there already"):
        export(own, scope, "x")

    assert (folder / "x").read_text() == "precious"
    assert os.listdir(folder) == ["x"]
    assert export(own, scope, "x", overwrite=True)["rows"] == 4
    assert len(lines(folder / "x")) == 5


def test_keeps_a_file_that_appears_meanwhile(own, scope, folder):
    seen = progress(own, scope, "x")
    seen.step = lambda current, total=None, message="": total and (folder / "x").write_text("new")

    with pytest.raises(JobFailed, match="there already"):
        dataset_export(seen)

    assert (folder / "x").read_text() == "new"
    assert os.listdir(folder) == ["x"]


@pytest.mark.parametrize("end", [JobCancelled("x"), KeyboardInterrupt(), RuntimeError("x")])
def test_leaves_nothing_and_the_old_file_when_it_ends_early(own, scope, folder, end):
    (folder / "x").write_text("old")
    seen = progress(own, scope, "x", overwrite=True)

    def stop(current, total=None, message=""):
        if total is not None:
            assert len(os.listdir(folder)) == 2
            raise end

    seen.step = stop
    with pytest.raises(type(end)):
        dataset_export(seen)

    assert os.listdir(folder) == ["x"]
    assert (folder / "x").read_text() == "old"
    assert own.execute("select 1").fetchone() == (1,)


def test_writes_over_what_a_killed_process_left(own, scope, folder):
    with _newfile.NewFile("x", overwrite=False) as file:
        file.write(b"y" * 100_000)
        [part] = os.listdir(folder)
        left = (folder / part).read_bytes()
    (folder / part).write_bytes(left)

    export(own, scope, "x")

    assert os.listdir(folder) == ["x"]
    assert len(lines(folder / "x")) == 5


def test_removes_what_killed_processes_left_in_the_folder_and_nothing_else(own, scope, folder):
    kept = [".young.pycortex-part", ".held.pycortex-part", ".linked.pycortex-part", "old.csv.gz"]
    for name in [".old.pycortex-part", *kept]:
        (folder / name).write_bytes(b"half")
        if "young" not in name:
            os.utime(folder / name, (1, 1))
    os.link(folder / ".linked.pycortex-part", folder / "precious")
    (folder / ".link.pycortex-part").symlink_to("old.csv.gz")
    (folder / ".folder.pycortex-part").mkdir()
    os.mkfifo(folder / ".pipe.pycortex-part")
    before = set(os.listdir(folder))

    with (folder / ".held.pycortex-part").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        export(own, scope, "x")

    assert before - set(os.listdir(folder)) == {".old.pycortex-part"}
    assert len(lines(folder / "x")) == 5


def test_writes_over_no_unfinished_file_of_another_export(own, scope, folder):
    with _newfile.NewFile("x", overwrite=False) as other:
        other.write(b"other's")
        [part] = os.listdir(folder)
        with pytest.raises(JobFailed, match="unfinished"):
            export(own, scope, part, overwrite=True)
        other.commit()

    assert (folder / "x").read_bytes() == b"other's"


def test_refuses_to_write_what_another_process_writes(own, scope, folder):
    with _newfile.NewFile("x", overwrite=True) as other:
        other.write(b"other's")
        with pytest.raises(JobFailed, match="being written by another"):
            export(own, scope, "x", overwrite=True)
        other.commit()

    assert (folder / "x").read_bytes() == b"other's"
    assert os.listdir(folder) == ["x"]


def test_two_exports_to_one_path_leave_one_whole_file(connect, scope, folder):
    results: list[object] = []

    def run(conn):
        try:
            results.append(export(conn, scope, "x", overwrite=True)["rows"])
        except JobFailed as error:
            results.append(str(error))

    threads = [threading.Thread(target=run, args=[connect(autocommit=True)]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 4 in results
    assert all(each == 4 or "being written" in str(each) for each in results)
    assert os.listdir(folder) == ["x"]
    assert len(lines(folder / "x")) == 5


@pytest.mark.parametrize("call", ["write", "fsync", "open", "replace"])
def test_says_what_the_system_said_and_leaves_nothing(own, scope, folder, monkeypatch, call):
    real = getattr(os, call)

    def full(*args, **kwargs):
        if call != "open" or str(args[0]).endswith("-part"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*args, **kwargs)

    monkeypatch.setattr(_newfile.os, call, full)
    with pytest.raises(JobFailed, match="x can't be written: No space left on device"):
        export(own, scope, "x", overwrite=True)
    monkeypatch.undo()

    assert os.listdir(folder) == []
    assert own.execute("select 1").fetchone() == (1,)


def test_refuses_a_path_that_is_no_file_to_write(own, scope, folder):
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")

    for path, said in [
        ("folder", "it is a folder"),
        ("pipe", "not a file"),
        ("missing/x", "no such folder"),
        ("folder/", "not the name of a file"),
        ("pipe/x", "no folder"),
        ("y" * 300, "File name too long"),
    ]:
        with pytest.raises(JobFailed, match=said):
            export(own, scope, path, overwrite=True)

    assert sorted(os.listdir(folder)) == ["folder", "pipe"]


def test_leads_nobody_out_of_the_folder_for_exports(own, scope, folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("old")
    (folder / "link").symlink_to(outside)
    (folder / "file").symlink_to(outside / "precious")

    for path in [
        "../outside/x",
        "a/../../outside/x",
        str(outside / "x"),
        f"{folder}/../outside/x",
        f"{folder}-not/x",
        "link/x",
        "link/precious",
        "/etc/cron.d/x",
        "",
        "..",
        ".",
        "/",
        str(folder),
        "nul\0",
        "~/x",
    ]:
        with pytest.raises(JobFailed):
            export(own, scope, path, overwrite=True)

    assert os.listdir(outside) == ["precious"]
    export(own, scope, "file", overwrite=True)
    assert (outside / "precious").read_text() == "old"  # the link went, not what it leads to
    assert (folder / "file").is_file()
    assert not (folder / "file").is_symlink()


def test_writes_below_the_folder_by_either_name(own, scope, folder):
    (folder / "inner").mkdir()

    for path in ["inner/a", f"{folder}/inner/b", "./inner//c", f"{os.path.realpath(folder)}/d"]:
        export(own, scope, path)

    assert sorted(os.listdir(folder / "inner")) == ["a", "b", "c"]


def test_writes_nothing_where_no_folder_is_named(own, scope, tmp_path, monkeypatch):
    monkeypatch.delenv(_newfile.FOLDER, raising=False)

    with pytest.raises(JobFailed, match="PYCORTEX_EXPORT_DIR"):
        export(own, scope, tmp_path / "x")

    assert os.listdir(tmp_path) == []


def test_takes_no_unfinished_file_of_somebody_else(own, scope, folder):
    with _newfile.NewFile("x", overwrite=False):
        [part] = os.listdir(folder)
    (folder / "precious").write_text("old")
    os.link(folder / "precious", folder / part)

    with pytest.raises(JobFailed, match="somebody else's"):
        export(own, scope, "x")

    assert (folder / "precious").read_text() == "old"
    (folder / part).unlink()
    (folder / part).symlink_to(folder / "precious")
    with pytest.raises(JobFailed):
        export(own, scope, "x")
    assert (folder / "precious").read_text() == "old"


@pytest.mark.parametrize(
    "params",
    [
        {"path": None},
        {"path": 7},
        {"path": " "},
        {"corpus": None},
        {"corpus": "no such"},
        {"corpus": True},
        {"corpus": 2**40},
        {"service": "no such"},
        {"service": []},
        {"severity": "warn"},
        {"severity": None},
        {"format": "parquet"},
        {"compression": "zip"},
        {"overwrite": "yes"},
    ],
)
def test_fails_with_a_sentence_and_writes_nothing_on_bad_params(own, scope, folder, params):
    with pytest.raises(JobFailed) as caught:
        export(own, scope, "x", **params) if "path" not in params else dataset_export(
            Progress(own, {"corpus": scope.corpus_id, "service": scope.service_id, **params})
        )

    assert re.match(r"params|there is no", str(caught.value))
    assert os.listdir(folder) == []
    assert own.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_takes_one_severity_of_whatever_documents(own, folder, severity):
    scope = make_scope(own)
    for status in range(-5, 0):
        make_task(own, scope, status, [(each, each, str(status)) for each in SEVERITIES])

    export(own, scope, "x", severity=severity, format="jsonl")

    found = objects(folder / "x")
    assert {(each["severity"], each["category"]) for each in found} == {(severity, severity)}
    assert sorted(each["status"] for each in found) == [-5, -4, -3, -2, -1]


def test_is_valid_gzip_without_a_time_in_it(own, scope, folder):
    export(own, scope, "x")

    data = (folder / "x").read_bytes()
    assert data[:4] == b"\x1f\x8b\x08\x00"
    assert data[4:8] == b"\0\0\0\0"
    assert (
        io.BytesIO(gzip.decompress(data)).readline()
        == b",".join(name.encode() for name in COLUMNS) + b"\r\n"
    )
