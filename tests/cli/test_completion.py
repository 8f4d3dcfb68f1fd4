"""Completion: what the shells are given, quickly or not at all."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

SHELLS = ["bash", "fish", "zsh"]


def offered(command, *words, **kwargs):
    """What is offered for the last word, in zsh's way: (value, help)."""
    line = " ".join(["pycortex", *words])
    env = {
        "_PYCORTEX_COMPLETE": "zsh_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
    }
    result = command(env=env | kwargs.pop("env", {}), **kwargs)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    return dict(zip(lines[1::3], lines[2::3], strict=True))


def test_offers_uuids_with_kind_and_status(pycortex, committed):
    job = committed.make_job("running", kind="imp\x1bort")
    committed.conn.execute(
        "insert into cortex.job (uuid, kind) values ('ffffffff-0000-4000-8000-000000000000', 'x')"
    )

    assert offered(pycortex, "show", str(job)[:8]) == {str(job): r"imp\x1bort running"}
    assert str(job) in offered(pycortex, "wait", "''")
    assert offered(pycortex, "show", "zz") == {}


def test_offers_kinds_commands_options_and_choices(pycortex, committed):
    committed.make_job("failed", kind="import_corpus")
    committed.make_job("failed", kind="bad\nkind")

    assert list(offered(pycortex, "list", "--kind", "imp")) == ["import_corpus"]
    assert list(offered(pycortex, "watch", "--kind", "imp")) == ["import_corpus"]
    assert "bad\nkind" not in offered(pycortex, "list", "--kind", "''")
    assert list(offered(pycortex, "worker", "--kinds", "a,imp")) == ["a,import_corpus"]
    assert list(offered(pycortex, "interrupt")) == ["interrupt-orphans"]
    assert "--dry-run" in offered(pycortex, "purge", "--d")
    assert list(offered(pycortex, "list", "--status", "fai")) == ["failed"]


def test_is_silent_when_the_database_is_away(pycortex):
    away = {"PYCORTEX_DATABASE_URL": "postgresql://127.0.0.1:1/db"}

    assert offered(pycortex, "show", "0", env=away) == {}


def test_does_not_wait_for_a_host_that_does_not_answer(pycortex):
    """The command would wait for connect_timeout, which is an hour here."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"postgresql://127.0.0.1:{mute.getsockname()[1]}/db?connect_timeout=3600"

        assert offered(pycortex, "show", "0", env={"PYCORTEX_DATABASE_URL": url}) == {}


def test_starts_no_embedded_server(bare_pycortex):
    assert offered(bare_pycortex, "show", "0") == {}

    assert list(Path(bare_pycortex.environment["HOME"]).iterdir()) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_asks_the_program(pycortex, shell):
    script = pycortex("completion", shell)

    assert script.returncode == 0
    assert f"_PYCORTEX_COMPLETE={shell}_complete" in script.stdout
    path = shutil.which(shell)
    if path is not None:
        checked = subprocess.run(
            [path, "-n"], input=script.stdout, capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (0, "")


IN_BASH = """
eval "$(pycortex completion bash)"
complete_line() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _pycortex_completion pycortex
    printf '%s\\n' "${COMPREPLY[@]}"
}
"""
IN_FISH = """
pycortex completion fish | source
function complete_line; complete -C "$argv" | string split -f 1 \\t; end
"""
# What the script hands to the line editor, which an interactive zsh would draw.
IN_ZSH = """
compdef() { : }
_describe() { local found; for found in "${(@P)3}"; do print -r -- "${found%%:*}"; done }
compadd() { print -r -l -- "${(@P)@[-1]}" }
eval "$(pycortex completion zsh)"
complete_line() { words=("$@"); CURRENT=$#; _pycortex_completion }
"""


@pytest.mark.parametrize(
    ("shell", "script"),
    [(["bash", "--norc"], IN_BASH), (["fish", "--no-config"], IN_FISH), (["zsh", "-f"], IN_ZSH)],
    ids=SHELLS,
)
def test_a_real_shell_completes_a_uuid_a_kind_and_a_command(
    pycortex, committed, tmp_path, shell, script
):
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed; on Debian: apt-get install {shell[0]}")
    job = str(committed.make_job("queued", kind="import_corpus"))
    program = tmp_path / "pycortex"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pycortex "$@"\n')
    program.chmod(0o755)
    lines = f"""
        complete_line pycortex show {job[:4]}
        complete_line pycortex list --kind impo
        complete_line pycortex reap
    """

    done = subprocess.run(
        [*shell, "-c", script + lines],
        env=pycortex.environment | {"PATH": f"{tmp_path}:{pycortex.environment['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout.split(), done.stderr) == ([job, "import_corpus", "reap"], "")
