"""Documents parsed in processes of their own: the same tables, and no process left."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pycortex import JobCancelled, _parsing, corpus_import
from pycortex._data import data_path
from pycortex._documents import Document, Unusable
from pycortex.errors import JobFailed
from tests.corpus.rows import Progress
from tests.corpus.test_corpus_import import HEAD, contents, run, tasks
from tests.isolation.processes import children, state

LOGS = data_path("latexml-logs")


@pytest.fixture
def own(connect) -> psycopg.Connection[Any]:
    return connect(autocommit=True)


@pytest.fixture
def apart(monkeypatch) -> None:
    """Has few documents parsed in two processes, a few at a time."""
    monkeypatch.setattr(_parsing, "ENOUGH", 1)
    monkeypatch.setattr(_parsing, "_processors", lambda: 2)
    monkeypatch.setattr(_parsing, "BATCH", 3)


def parsers(pid: int | None = None) -> list[int]:
    """The processes that parse for *pid*."""
    found = children(pid or os.getpid())
    return [number for number, command in found.items() if "pycortex parser" in command]


def write_logs(folder: Path, count: int) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(count):
        (folder / f"{number:05}.log").write_text(HEAD + f"Error:a:b{number} c\n\tat x; line 1\n")


@pytest.fixture
def zoo(tmp_path) -> Path:
    """A folder in which little is as it should be."""
    folder = tmp_path / "zoo"
    shutil.copytree(LOGS, folder)
    (folder / "empty.log").touch()
    (folder / "no log.md").write_text("# About\n")
    (folder / "binary.log").write_bytes(bytes(range(256)) * 100)
    (folder / "cut.log").write_bytes((HEAD + "Error:ä:ö ü").encode()[:-1])
    (folder / "latin1.log").write_bytes((HEAD + "Error:ä:ö ü\n").encode("latin-1"))
    (folder / "utf16.log").write_text(HEAD, encoding="utf-16")
    (folder / "nul.log").write_bytes(HEAD.encode() + b"Error:a\0b:c\0 d\0\n")
    (folder / "odd.log").write_text(HEAD + "Error:a\\b:\\c\td\\N\\.\n\t\\.\n\t\\n\n")
    (folder / "cr.log").write_bytes(HEAD.encode() + b"Error:a:b c\r\n\td\re\r\n\tf\r\n")
    (folder / "one line.log").write_bytes(HEAD.encode() + b"x" * 10_000_000)
    (folder / "self.log").symlink_to("self.log")
    (folder / "nowhere.log").symlink_to("gone")
    (folder / "loop").symlink_to(folder)
    (folder / "x.log").mkdir()
    (folder / "x.log" / "x.log").write_text(HEAD)
    os.mkfifo(folder / "pipe.log")
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.log"))).write_text(HEAD)
    return folder


def test_parses_in_processes_what_it_would_parse_here(own, zoo, monkeypatch, request):
    here = run(own, zoo)
    before = contents(own)
    own.execute("truncate corpus.corpora cascade")

    request.getfixturevalue("apart")
    there = run(own, zoo)

    assert contents(own) == before
    ids = {"corpus_id", "service_id"}
    assert {k: v for k, v in there.items() if k not in ids} == {
        k: v for k, v in here.items() if k not in ids
    }
    assert there["statuses"]["invalid"] == 7
    assert parsers() == []


def test_parses_an_archive_in_processes_like_the_folder(own, apart, tmp_path):
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as tar:
        tar.add(LOGS, arcname=".")

    run(own, LOGS)
    folder = contents(own)
    own.execute("truncate corpus.corpora cascade")
    result = run(own, tmp_path / "logs.tar.gz")

    assert contents(own) == folder
    assert result["documents"] == 40


def test_starts_no_process_for_few_documents(own, monkeypatch):
    monkeypatch.setattr(_parsing, "launch", None)

    assert run(own, LOGS)["documents"] == 40


def test_parses_here_where_the_system_gives_no_process(own, apart, monkeypatch, caplog):
    def refuse(*_):
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(_parsing, "launch", refuse)
    with caplog.at_level(logging.WARNING, "pycortex"):
        result = run(own, LOGS)

    assert result["documents"] == 40
    assert "no process could be had for parsing" in caplog.text


def test_parses_in_processes_where_multiprocessing_may_have_no_children(database, tmp_path):
    write_logs(tmp_path / "logs", 20)
    program = """
import multiprocessing, sys
import psycopg
from pycortex import _parsing, corpus_import
from tests.corpus.rows import Progress
from tests.corpus.test_parsing import parsers

def body():
    assert multiprocessing.current_process().daemon
    _parsing.ENOUGH = 1
    with psycopg.connect(sys.argv[1], autocommit=True) as conn:
        seen = Progress(conn, {"path": sys.argv[2], "corpus": "c"})
        step, used = seen.step, []
        seen.step = lambda *values: used.extend(parsers()) or step(*values)
        assert corpus_import.corpus_import(seen)["documents"] == 20
    assert used

process = multiprocessing.get_context("fork").Process(target=body, daemon=True)
process.start()
process.join()
sys.exit(process.exitcode)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, database, str(tmp_path / "logs")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr


def test_names_the_documents_of_a_process_that_was_killed(own, apart, tmp_path):
    write_logs(tmp_path / "logs", 400)
    seen = Progress(own, {"path": str(tmp_path / "logs"), "corpus": "sample"})
    step = seen.step

    def kill_all(current, total=None, message=""):
        if current == 30:
            for pid in parsers():
                os.kill(pid, signal.SIGKILL)
        step(current, total, message)

    seen.step = kill_all
    with pytest.raises(JobFailed, match=r"was ended by SIGKILL; it had \d{5}.log, \d{5}.log"):
        corpus_import.corpus_import(seen)

    assert parsers() == []
    run(own, tmp_path / "logs")
    assert len(tasks(own)) == 400
    assert own.execute("select count(*) from corpus.log_errors").fetchone() == (400,)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_leaves_signals_to_a_whole_group_to_the_one_that_started_them(own, apart, tmp_path, number):
    write_logs(tmp_path / "logs", 100)
    seen = Progress(own, {"path": str(tmp_path / "logs"), "corpus": "sample"})
    step = seen.step

    def signal_all(current, total=None, message=""):
        if current == 30:
            for pid in parsers():
                os.kill(pid, number)
        step(current, total, message)

    seen.step = signal_all

    assert corpus_import.corpus_import(seen)["documents"] == 100


def test_gives_signs_of_life_while_a_process_takes_long(own, apart, tmp_path):
    write_logs(tmp_path / "logs", 100)
    seen = Progress(own, {"path": str(tmp_path / "logs"), "corpus": "sample"})
    step, stopped, beats = seen.step, [], []

    def stop_for_a_while(current, total=None, message=""):
        if current == 10 and not stopped:
            stopped.extend(parsers())
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
        elif seen.steps[-1:] == [(current, total, message)]:
            beats.append(current)
            if len(beats) == 3:
                for pid in stopped:
                    os.kill(pid, signal.SIGCONT)
        step(current, total, message)

    seen.step = stop_for_a_while

    assert corpus_import.corpus_import(seen)["documents"] == 100
    assert len(beats) >= 3
    assert seen.steps[-1] == (100, 100, "100 imported")


def test_gives_no_more_signs_of_life_of_a_document_that_hangs(own, apart, tmp_path, monkeypatch):
    monkeypatch.setattr(_parsing, "PATIENCE", 0.0)
    monkeypatch.setattr(_parsing, "GLANCE", 0.01)
    write_logs(tmp_path / "logs", 100)
    seen = Progress(own, {"path": str(tmp_path / "logs"), "corpus": "sample"})
    step, looks = seen.step, []

    def look(_):
        looks.append(len(seen.steps))
        return len(looks) > 20

    verdict = property(look, lambda *_: None)
    monkeypatch.setattr(Progress, "cancel_requested", verdict, raising=False)

    def stop(current, total=None, message=""):
        if len(looks) > 20:
            raise JobCancelled
        if current == 10 and not looks:
            for pid in parsers():
                os.kill(pid, signal.SIGSTOP)
        step(current, total, message)

    seen.step = stop
    with pytest.raises(JobCancelled):
        corpus_import.corpus_import(seen)

    assert len(set(looks[-20:])) == 1
    assert parsers() == []


def test_raises_what_reading_ahead_runs_into(apart):
    def read() -> Iterator[Document]:
        for number in range(7):
            yield Document(f"{number}.log", lambda _: HEAD.encode())
        raise Unusable("it is gone")

    with pytest.raises(Unusable, match="it is gone"):
        list(_parsing.parse_all(read(), 7, lambda: None, lambda: False))

    assert parsers() == []


def test_gives_no_more_signs_of_life_while_reading_hangs_and_hears_a_cancel(apart, monkeypatch):
    monkeypatch.setattr(_parsing, "GLANCE", 0.01)
    hangs, looks, beats = threading.Event(), [], []

    def read() -> Iterator[Document]:
        hangs.wait()
        yield Document("x.log", lambda _: b"")

    def stopped() -> bool:
        looks.append(len(beats))
        return len(looks) > 20

    def beat() -> None:
        beats.append(len(looks))
        if len(looks) > 20:
            hangs.set()
            raise JobCancelled

    with pytest.raises(JobCancelled):
        list(_parsing.parse_all(read(), 1, beat, stopped))

    assert set(looks) == {1}
    assert beats == [0, 21]


def test_reads_no_further_ahead_than_it_may(apart, monkeypatch):
    monkeypatch.setattr(_parsing, "AHEAD", 1)
    read = []

    def documents() -> Iterator[Document]:
        for number in range(1000):
            read.append(number)
            yield Document(f"{number}.log", lambda _: HEAD.encode())

    ready = _parsing.parse_all(documents(), 1000, lambda: None, lambda: False)
    next(ready)
    ready.close()

    # Batches of three: those of two processes, what is read ahead, one in the hands of the reader.
    assert len(read) <= 3 * (2 + 1 + _parsing.READ_AHEAD + 2)
    assert parsers() == []


def test_a_cancel_ends_the_processes(own, apart, tmp_path):
    write_logs(tmp_path / "logs", 100)
    seen = Progress(own, {"path": str(tmp_path / "logs"), "corpus": "sample"})
    step, started = seen.step, []

    def cancel(current, total=None, message=""):
        if current == 5:
            started.extend(parsers())
            raise JobCancelled
        step(current, total, message)

    seen.step = cancel
    with pytest.raises(JobCancelled):
        corpus_import.corpus_import(seen)

    assert len(started) == 2
    assert [state(pid) for pid in started] == ["", ""]


def test_goes_on_when_documents_vanish_and_come_meanwhile(own, apart, tmp_path, monkeypatch):
    monkeypatch.setattr(_parsing, "AHEAD", 1)
    write_logs(tmp_path / "logs", 60)
    for number in range(60, 70):
        (tmp_path / "logs" / f"sub{number}").mkdir()
        write_logs(tmp_path / "logs" / f"sub{number}", 1)
    seen = Progress(own, {"path": str(tmp_path / "logs"), "corpus": "sample"})
    step = seen.step

    def change(current, total=None, message=""):
        if current == 1 and (tmp_path / "logs" / "00050.log").exists():
            (tmp_path / "logs" / "00050.log").unlink()
            shutil.rmtree(tmp_path / "logs" / "sub65")
            (tmp_path / "logs" / "00040.log").unlink()
            (tmp_path / "logs" / "00040.log").mkdir()
            write_logs(tmp_path / "logs" / "sub69", 20)
        step(current, total, message)

    seen.step = change
    result = corpus_import.corpus_import(seen)

    found = tasks(own)
    assert found["00050.log"] == found["00040.log"] == found["sub65"] == -5
    assert result["documents"] == len(found) == 89
    assert all(current <= total for current, total, _ in seen.steps[1:])


def test_makes_an_invalid_task_of_a_log_with_too_many_messages(own, tmp_path, monkeypatch):
    monkeypatch.setattr("pycortex.latexml.WHOLE_LIMIT", 2000)
    monkeypatch.setattr("pycortex.latexml._USUAL", 2000)
    monkeypatch.setattr("pycortex.latexml.MESSAGES_LIMIT", 20_000)
    (tmp_path / "a.log").write_text(HEAD + "Info:a:b c\n" * 10_000)
    (tmp_path / "b.log").write_text(HEAD + "Info:a:b c\n")

    run(own, tmp_path)

    assert tasks(own) == {"a.log": -5, "b.log": -1}
    assert own.execute("select what from corpus.log_invalids").fetchall() == [("too_long",)]


PROGRAM = """
import resource, sys
import psycopg
from pycortex import _parsing, corpus_import
from tests.corpus.rows import Progress
_parsing.ENOUGH = 1
with psycopg.connect(sys.argv[1], autocommit=True) as conn:
    seen = Progress(conn, {"path": sys.argv[2], "corpus": "c"})
    seen.step = lambda *_: None
    print(corpus_import.corpus_import(seen)["documents"])
kb = 1 if sys.platform != "darwin" else 1024
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // kb)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // kb)
"""


def peaks(database: str, folder: Path) -> tuple[int, int]:
    """Import in a fresh process; the most memory that it and one of its processes took, in kB."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, database, str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    _, own, child = map(int, done.stdout.split())
    return own, child


def test_takes_no_more_memory_for_many_documents_than_for_few(database, tmp_path):
    write_logs(tmp_path / "few", 500)
    shutil.copytree(tmp_path / "few", tmp_path / "many")
    for number in range(11):
        shutil.copytree(tmp_path / "few", tmp_path / "many" / str(number))

    few, many = peaks(database, tmp_path / "few"), peaks(database, tmp_path / "many")

    assert many[0] < few[0] + 12_000
    assert many[1] < few[1] + 12_000


def test_takes_little_memory_for_a_huge_file_without_a_line_end(database, tmp_path):
    for name in ("few", "huge"):
        write_logs(tmp_path / name, 10)
    with (tmp_path / "huge" / "huge.log").open("wb") as file:
        file.write(HEAD.encode())
        file.truncate(2**30)

    few, huge = peaks(database, tmp_path / "few"), peaks(database, tmp_path / "huge")

    assert huge[0] < few[0] + 40_000
    assert huge[1] < few[1] + 40_000


def test_reads_only_below_the_folder_for_imports(own, tmp_path, monkeypatch):
    inside, outside = tmp_path / "in", tmp_path / "out"
    write_logs(inside, 2)
    write_logs(outside, 2)
    (inside / "link.log").symlink_to(outside / "00000.log")
    (inside / "near.log").symlink_to("00000.log")
    (inside / "way").symlink_to(outside)
    monkeypatch.setenv(corpus_import.FOLDER, str(inside))

    for path in [outside, inside / "way", inside / ".." / "out", "/etc", "../out", tmp_path]:
        with pytest.raises(JobFailed, match="where this process reads documents"):
            run(own, path)

    run(own, inside)
    assert tasks(own) == {"00000.log": -3, "00001.log": -3, "link.log": -5, "near.log": -3}
    assert run(own, Path("."))["documents"] == 4
