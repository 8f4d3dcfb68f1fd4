"""Every command of the program, found by walking it, under every circumstance."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import psycopg
import pytest

from pycortex.cli import main

ROOT = Path(__file__).parents[2]
SECRET = "geheim"
AWAY = f"postgresql://ada:{SECRET}@127.0.0.1:1/db"
JOB = "0b5f2c1e-7a34-4b7e-9c55-6f0c1f3f8a10"
HOSTILE = "k\x1b[31m\u202e\u0007\u200b🙂漢\u0301\n\r\tend"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f\u200b\u202e]")

WITHOUT_DATABASE = {"sql", "completion"}
APART = {
    "demo": "runs for a minute; tests/cli/test_demo.py",
    "embedded": "a server of its own; tests/cli/test_embedded.py",
}
INSTEAD = {
    "worker": "worker --drain",  # its example has no end
    "watch": f"watch {JOB}",  # nor has its
    "corpus export": "corpus export sample latexml --output errors.csv.gz --force",
}


def leaves(group: click.Group = main, path: tuple[str, ...] = ()) -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found |= leaves(command, (*path, name))
        else:
            found[" ".join((*path, name))] = command
    return found


COMMANDS = {
    path: command for path, command in leaves().items() if path.partition(" ")[0] not in APART
}


def call_of(path: str) -> list[str]:
    """A call that makes sense: the example in the command's help."""
    line = INSTEAD.get(path) or COMMANDS[path].example.splitlines()[0].partition("|")[0]
    words = shlex.split(line)
    words = words[1:] if words[0] == "pycortex" else words
    if "--database-url" in words:  # the environment says which
        place = words.index("--database-url")
        del words[place : place + 2]
    return words


def takes_json(path: str) -> bool:
    return any("--json" in param.opts for param in COMMANDS[path].params)


@pytest.fixture
def sweep(nowhere, tmp_path, database):
    """Runs calls under the same circumstances; what became of each."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")

    def run(
        calls: list[list[str]],
        *,
        url: str = database,
        env: dict[str, str] | None = None,
        stdin: str = "null",
        stdout: str = "file",
        columns: int = 80,
    ) -> list[dict[str, Any]]:
        told = {"calls": calls, "stdin": stdin, "stdout": stdout, "columns": columns, "seconds": 30}
        done = subprocess.run(
            [sys.executable, "-m", "tests.cli.sweep"],
            input=json.dumps(told),
            env=nowhere | {"PYCORTEX_DATABASE_URL": url} | (env or {}),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers: list[dict[str, Any]] = json.loads(done.stdout)
        return answers

    return run


@pytest.fixture
def hostile(database, committed):
    """A database with jobs whose texts would harm a terminal, and the job of the examples."""
    with psycopg.connect(database, autocommit=True) as conn:
        for status in ("succeeded", "failed"):
            committed.make_job(status, kind=HOSTILE, message=HOSTILE, actor=HOSTILE)
        conn.execute(
            "insert into cortex.job"
            " (uuid, kind, status, attempt, started_at, finished_at, message) values"
            " (%s, 'corpus_import', 'succeeded', 1, clock_timestamp(), clock_timestamp(), %s)",
            [JOB, HOSTILE],
        )
        conn.execute("select cortex.register_runner(%s, 'h', 1)", [HOSTILE])
        conn.execute("select cortex.configure_kind(%s, max_attempts => 3)", [HOSTILE])
    return database


def assert_all_answer(answers: list[dict[str, Any]], codes: set[int]) -> None:
    wrong = [
        answer
        for answer in answers
        if answer["code"] not in codes
        or "Traceback" in answer["stderr"] + answer["stdout"]
        or "Broken pipe" in answer["stderr"]
    ]
    assert not wrong, json.dumps(wrong, indent=1)


# What others show is imported first.
COMMANDS = {
    path: COMMANDS[path]
    for path in sorted(COMMANDS, key=lambda path: path not in ("install", "corpus import"))
}
CALLS = [call_of(path) for path in COMMANDS]


def test_says_that_the_database_is_away_in_one_sentence_with_3(sweep):
    answers = sweep(CALLS, url=AWAY)

    for path, answer in zip(COMMANDS, answers, strict=True):
        assert answer["code"] == (0 if path in WITHOUT_DATABASE else 3), answer
        if path not in WITHOUT_DATABASE:
            assert answer["stdout"] == "", answer
            assert len(answer["stderr"].splitlines()) == 1, answer
            assert "out of reach" in answer["stderr"], answer
        assert SECRET not in answer["stderr"], answer


def test_tells_no_password_when_it_tells_all(sweep):
    """Also not in a traceback."""
    answers = sweep([["--verbose", *call] for call in CALLS], url=AWAY)

    for path, answer in zip(COMMANDS, answers, strict=True):
        assert SECRET not in answer["stderr"] + answer["stdout"], answer
        assert ("Traceback" in answer["stderr"]) == (path not in WITHOUT_DATABASE), answer


@pytest.mark.parametrize(
    ("circumstances", "environment"),
    [
        ({"stdin": "closed"}, {"TERM": "dumb"}),
        ({"stdin": "closed", "stdout": "closed"}, {}),
        ({"stdout": "broken"}, {}),
        ({"stdout": "terminal", "columns": 40}, {"TERM": "dumb"}),
        ({"stdout": "terminal", "columns": 40}, {"NO_COLOR": "1"}),
        ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        ({}, {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "COLUMNS": "17"}),
    ],
    ids=["no stdin", "no stdout", "nobody reads", "dumb 40", "no colour 40", "C locale", "file"],
)
def test_ends_without_a_traceback_and_sends_nothing_that_a_terminal_would_obey(
    sweep, hostile, circumstances, environment
):
    """N05, N06, N07"""
    answers = sweep(CALLS, env=environment, **circumstances)

    assert_all_answer(answers, {0, 1})
    for path, answer in zip(COMMANDS, answers, strict=True):
        written = answer["stdout"].replace("\r\n", "\n") + answer["stderr"]
        # Programs, for programs; so are metrics where they go to no terminal.
        if path not in ("sql", "completion") and not (
            path == "metrics" and circumstances.get("stdout") != "terminal"
        ):
            assert not CONTROL.search(written), answer
        if "LC_ALL" in environment and path != "sql":
            assert written.isascii(), answer


def test_prints_one_document_of_plain_ascii_with_json(sweep, hostile):
    paths = [path for path in COMMANDS if takes_json(path)]
    calls = [[*call_of(path), *([] if path == "worker" else ["--json"])] for path in paths]
    calls[paths.index("worker")] = ["worker", "--check", "--json"]

    answers = sweep(calls)

    assert_all_answer(answers, {0, 1})
    for answer in answers:
        assert answer["stdout"].isascii(), answer
        if answer["code"] == 0:
            json.loads(answer["stdout"])
        elif answer["stdout"]:
            with contextlib.suppress(IndexError):
                json.loads(answer["stdout"])


def test_every_command_that_prints_data_takes_json():
    talkers = {"worker", "completion", "sql", "metrics", "watch"}

    assert {path for path in COMMANDS if not takes_json(path)} <= talkers


def test_examples_run(sweep, hostile):
    """All of them do what they say; those that need pg_cron say so where it isn't."""
    answers = sweep(CALLS)

    failed = []
    for path, answer in zip(COMMANDS, answers, strict=True):
        without_cron = ("pg_cron", "no such schedule: nightly")
        needs_cron = answer["code"] == 1 and any(word in answer["stderr"] for word in without_cron)
        if not (answer["code"] == 0 or ("schedule" in path and needs_cron)):
            failed.append(answer)
    assert not failed, json.dumps(failed, indent=1)


def test_help_says_all_that_a_manual_page_says():
    for path, command in leaves().items():
        context = click.Context(main, info_name="pycortex", **main.context_settings)
        for name in path.split():
            group = context.command
            assert isinstance(group, click.Group)
            context = click.Context(group.commands[name], info_name=name, parent=context)
        text = command.get_help(context)
        for heading in ("Usage:", "Options:", "Exit codes:", "Example:", "See also:"):
            assert heading in text, (path, heading)
        for param in command.params:
            if isinstance(param, click.Option):
                assert param.help, (path, param.name)
                assert param.help.split("  [")[0].endswith("."), (path, param.name)
        if any(isinstance(param, click.Argument) for param in command.params):
            described = text.partition("Arguments:")[2].partition("Options:")[0]
            assert described.count(".") >= 1, path
            from pycortex.cli._help import argument_help

            for param in command.params:
                if isinstance(param, click.Argument):
                    assert argument_help(path, param.name or ""), (path, param.name)
