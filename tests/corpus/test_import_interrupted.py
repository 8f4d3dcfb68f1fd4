"""An import that was interrupted at any point and is repeated ends with the same tables."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pycortex import JobStatus, builtin, corpus_import, sql
from pycortex._data import data_path
from tests.corpus.rows import Progress
from tests.corpus.test_corpus_import import contents, run
from tests.corpus.test_parsing import parsers
from tests.isolation.processes import children, ended
from tests.runners import ROOT, new_runner
from tests.waiting import wait_until

__all__ = ["new_runner"]

LOGS = data_path("latexml-logs")
POINTS = ["open_corpus", "put_tasks", "copy_messages", "invalidate_scope", "commit", "parse"]
"""Before what an import is stopped, at whichever time; commit: after all of a batch is written."""

# Runs an import that says when it comes to a point for the nth time, and waits there.
PROGRAM = """
import sys, time
import psycopg
from pycortex import _parsing, corpus_import, sql
from tests.corpus.rows import Progress

database, logs, point, times = sys.argv[1:]
left = int(times)
_parsing.ENOUGH, _parsing._processors, _parsing.BATCH = 1, lambda: 2, 5
corpus_import.BATCH_DOCUMENTS = 20

def come(name):
    global left
    if name == point:
        left -= 1
        if left == 0:
            print(name, flush=True)
            time.sleep(600)

def stopping(name, call):
    def stop(*args):
        come(name)
        result = call(*args)
        come("commit" if name == "invalidate_scope" else "")
        return result
    return stop

for module, name in [(sql, "open_corpus"), (sql, "put_tasks"), (sql, "invalidate_scope"),
                     (corpus_import, "copy_messages")]:
    setattr(module, name, stopping(name, getattr(module, name)))

with psycopg.connect(database, autocommit=True) as conn:
    seen = Progress(conn, {"path": logs, "corpus": "sample"})
    seen.step = lambda *_: come("parse")
    corpus_import.corpus_import(seen)
print("done", flush=True)
"""


@pytest.fixture
def own(connect) -> psycopg.Connection[Any]:
    return connect(autocommit=True)


@pytest.fixture
def start(database) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts an import that stops at a point, and waits until it has come there."""
    programs: list[subprocess.Popen[str]] = []

    def start(logs: Path, point: str, times: int) -> subprocess.Popen[str]:
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, database, str(logs), point, str(times)],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        programs.append(program)
        assert program.stdout is not None
        assert program.stdout.readline().strip() == point, program.communicate()[1]
        return program

    yield start
    for program in programs:
        program.kill()
        program.communicate()


@pytest.fixture
def logs(tmp_path) -> Path:
    """A folder with eighty logs."""
    for number in range(2):
        shutil.copytree(LOGS, tmp_path / "logs" / str(number))
    return tmp_path / "logs"


@pytest.fixture
def expected(own, logs) -> list[Any]:
    """What the tables hold when nothing comes between; they are empty again."""
    run(own, logs)
    whole = contents(own)
    own.execute("truncate corpus.corpora cascade")
    assert sum(map(len, contents(own))) == 0
    return whole


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_import_that_is_repeated_ends_with_the_same_tables(
    own, start, logs, expected, point, times
):
    times = 1 if point == "open_corpus" else times
    program = start(logs, point, times)
    helpers = children(program.pid)

    program.kill()

    wait_until(lambda: ended(program.pid, *helpers))
    parsing = [command for command in helpers.values() if "pycortex parser" in command]
    assert len(parsing) == (0 if point == "open_corpus" or (point, times) == ("parse", 1) else 2)
    run(own, logs)
    assert contents(own) == expected
    assert own.execute("select count(*) from corpus.historical_tasks").fetchone() == (0,)


def test_an_import_killed_time_and_again_ends_with_the_same_tables(own, start, logs, expected):
    for point in POINTS[1:]:
        start(logs, point, 2).kill()

    run(own, logs)

    assert contents(own) == expected


@pytest.mark.parametrize("point", POINTS[1:-1])
def test_an_import_that_lost_its_session_ends_with_the_same_tables(
    own, connect, logs, expected, monkeypatch, point
):
    monkeypatch.setattr(corpus_import, "BATCH_DOCUMENTS", 20)
    lost = connect(autocommit=True)
    module = corpus_import if point == "copy_messages" else sql
    name = "invalidate_scope" if point == "commit" else point
    call, calls = getattr(module, name), []

    def lose(*args):
        calls.append(args)
        result = call(*args) if point == "commit" else None
        if len(calls) == 3:
            own.execute("select pg_terminate_backend(%s)", [lost.info.backend_pid])
            wait_until(lambda: _is_gone(own, lost.info.backend_pid))
        return result if point == "commit" else call(*args)

    monkeypatch.setattr(module, name, lose)
    with pytest.raises(psycopg.OperationalError):
        run(lost, logs)
    monkeypatch.undo()

    assert parsers() == []
    run(own, logs)
    assert contents(own) == expected


def _is_gone(conn: psycopg.Connection[Any], pid: int) -> bool:
    query = "select from pg_stat_activity where pid = %s"
    return conn.execute(query, [pid]).fetchone() is None


@pytest.mark.parametrize("table", ["log_errors", "tasks", "log_infos"])
def test_an_import_that_the_server_had_no_room_for_ends_with_the_same_tables(
    own, logs, expected, monkeypatch, table
):
    monkeypatch.setattr(corpus_import, "BATCH_DOCUMENTS", 20)
    own.execute(
        "create function public.no_room() returns trigger language plpgsql as $$ begin"
        " if (select count(*) from corpus.tasks) >= 40 then"
        " raise exception 'could not extend file' using errcode = '53100'; end if;"
        " return new; end $$"
    )
    own.execute(f"create trigger no_room before insert on corpus.{table}"
                " for each row execute function public.no_room()")  # fmt: skip

    with pytest.raises(psycopg.errors.DiskFull):
        run(own, logs)
    stored = own.execute("select count(*) from corpus.tasks").fetchone()
    own.execute("drop function public.no_room() cascade")

    assert stored in [(20,), (40,)]
    run(own, logs)
    assert contents(own) == expected


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_an_import_amid_which_the_server_restarts_ends_with_the_same_tables(
    own_server, own_database, logs, monkeypatch, mode
):
    monkeypatch.setattr(corpus_import, "BATCH_DOCUMENTS", 20)
    with psycopg.connect(own_database, autocommit=True) as conn:
        run(conn, logs)
        expected = contents(conn)
        conn.execute("truncate corpus.corpora cascade")
        seen = Progress(conn, {"path": str(logs), "corpus": "sample"})

        def restart(current, total=None, message=""):
            if current == 50:
                own_server.restart(mode)

        seen.step = restart
        with pytest.raises(psycopg.OperationalError):
            corpus_import.corpus_import(seen)

    with psycopg.connect(own_database, autocommit=True) as conn:
        run(conn, logs)
        assert contents(conn) == expected


@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_a_cancelled_job_that_is_run_again_ends_with_the_same_tables(
    own, new_runner, logs, expected, isolation
):
    for number in range(2, 14):
        shutil.copytree(LOGS, logs / f"n{number}")
    job = builtin.corpus_import
    params = {"path": str(logs), "corpus": "sample"}
    runner = new_runner(isolation=isolation)

    # Holds a batch up, so that the job is not over before it is cancelled.
    with psycopg.connect(own.info.dsn, autocommit=False) as holder:
        holder.execute("lock table corpus.log_errors in exclusive mode")
        handle = runner.spawn("corpus_import", job, params=params)
        wait_until(lambda: _waits(own))
        own.execute("select cortex.cancel_job(%s, hard => true)", [handle.uuid])
        assert handle.wait(timeout=60).status is JobStatus.CANCELLED

    again = runner.spawn("corpus_import", job, params=params).wait(timeout=120)

    assert again.status is JobStatus.SUCCEEDED
    assert again.result["documents"] == 40 * 14
    kept = own.execute("select entry, status from corpus.tasks where entry ~ '^[01]/'").fetchall()
    assert sorted(kept) == sorted(expected[0])


def _waits(conn: psycopg.Connection[Any]) -> bool:
    query = (
        "select from pg_locks where not granted and relation = 'corpus.log_errors'::regclass"
        " and database = (select oid from pg_database where datname = current_database())"
    )
    return conn.execute(query).fetchone() is not None
