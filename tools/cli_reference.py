"""
docs/cli-reference.md, from the commands themselves.

    python -m tools.cli_reference             write it anew (make docs)
    python -m tools.cli_reference --check     say whether it is up to date (make check)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pycortex.cli import main

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "cli-reference.md"

INTRODUCTION = """\
# Command reference

Made from the help of the commands by `make docs`; change those, not this page. The same text is
what `pycortex COMMAND --help` prints.

Data goes to standard output, everything else to standard error. Tables are for people and fit the
terminal; with `--json` a command prints one document, in ASCII, with the names of the view's or
routine's columns: times in ISO 8601 with their offset, lengths of time in seconds. `events -f
--json` never ends, so it prints an object per line. `list --all --json` is one array, written
while it is read. Colours only on a terminal, and not with `NO_COLOR` (set and not empty) or
`TERM=dumb`.

The database is the one of `--database-url`, else of `PYCORTEX_DATABASE_URL`, else of libpq's own
variables (`PGHOST`, `PGSERVICE`, ...), else the embedded server. A password in `--database-url`
can be seen in the system's list of processes: put it into the environment, or into libpq's
password file. No message shows it, nor does a traceback.

A refused connection ends a command at once, with exit code 3, and a host of which nothing comes
back ends it within a second, unless `connect_timeout` in the URL or `PGCONNECT_TIMEOUT` says how
long to wait. Of a host that takes the connection and then is silent it says after a second what it
waits for, and gives up after 10. A `worker`, a `watch` or `events -f` that has begun waits out what
comes later. `--verbose` adds the SQLSTATE and the traceback to an error.
"""

WITHOUT_COMMAND = {
    "what a runner calls, job by job; `worker` is one": (
        "register_runner keep_runner retire_runner claim_jobs set_running step step_jobs"
        " finish_job begin_body note_end attach_backend"
    ),
    "shown by `watch`": "overview",
    "many jobs in one statement, for a program that has them; from a shell, `spawn` in a loop": (
        "spawn_jobs"
    ),
    "newest first without filters; `list` calls `list_jobs`": "list_recent",
    "`report show` looks itself": "report_populate_active",
    "what `corpus import` calls": "open_corpus open_service put_tasks",
    "what `report` and its jobs call, slice by slice": (
        "populate_scope refresh_slice count_now slice_is_stale begin_run count_range keep_range"
        " next_width finish_run drop_run clear_runs forget_grains invalidate_scope invalidate_all"
        " report_slice"
    ),
}
"""Functions of pycortex.sql that no command stands for, by the reason."""


def without_command() -> Iterator[str]:
    """The table of those."""
    yield "## What has no command\n"
    yield "Some functions of `pycortex.sql` are for programs alone.\n"
    yield "| functions | why |\n| --- | --- |"
    for why, names in WITHOUT_COMMAND.items():
        listed = ", ".join(f"`{name}`" for name in names.split())
        yield f"| {listed} | {why} |"
    yield ""


def commands(group: click.Group, context: click.Context) -> Iterator[click.Context]:
    """Every command below *group*, in the order of the help."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context, terminal_width=88)
        yield inner
        if isinstance(command, click.Group):
            yield from commands(command, inner)


def page() -> str:
    """The whole of it."""
    root = click.Context(main, info_name="pycortex", terminal_width=88, **main.context_settings)
    parts = [INTRODUCTION, f"## pycortex\n\n```text\n{main.get_help(root)}\n```\n"]
    for context in commands(main, root):
        text = context.command.get_help(context)
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        parts.append(f"## {context.command_path}\n\n```text\n{lines}\n```\n")
    parts.extend(without_command())
    return "\n".join(parts)


def run() -> None:
    """Write the page, or compare it."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/cli-reference.md is out of date; run: make docs")


if __name__ == "__main__":
    run()
