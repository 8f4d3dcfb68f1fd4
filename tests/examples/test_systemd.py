"""The units of examples/systemd: systemd takes every line, and the worker takes its command."""

from __future__ import annotations

import configparser
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pycortex.runner import FAREWELL_LIMIT
from pycortex.worker import LEAVE
from tests.cli.conftest import ended

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "systemd"
UNITS = sorted(path.name for path in FOLDER.iterdir() if path.suffix != ".md")
PROGRAM = "/opt/shop/venv/bin/pycortex"
EXPOSED = "20"
"""Tenths: a service that reaches more of the machine than this is not what the unit promises."""


@pytest.fixture
def analyze(tmp_path):
    """Runs systemd-analyze on our units, in a folder where their program exists."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze isn't installed: on Debian, the package systemd")
    for name in UNITS:
        text = (FOLDER / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace(PROGRAM, sys.executable), encoding="utf-8")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["systemd-analyze", *arguments],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    return run


def setting(name: str, unit: str = "pycortex-worker.service") -> str:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(FOLDER / unit, encoding="utf-8")
    return parser["Service"][name]


def command(unit: str = "pycortex-worker.service") -> list[str]:
    program, *arguments = shlex.split(setting("ExecStart", unit))
    assert program == PROGRAM
    return arguments


def option(arguments: list[str], name: str) -> str:
    return arguments[arguments.index(name) + 1]


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_understands_every_line(analyze, unit):
    done = analyze("verify", "--man=no", f"./{unit}")

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_worker_can_reach_little_of_the_machine(analyze):
    done = analyze(
        "security", "--offline=yes", f"--threshold={EXPOSED}", "./pycortex-worker.service"
    )

    assert done.returncode == 0, done.stdout[-500:]


def test_stopping_takes_as_long_as_the_worker_may(analyze):
    grace = float(option(command()[1:], "--grace"))

    assert float(setting("TimeoutStopSec")) > grace + FAREWELL_LIMIT + LEAVE
    assert setting("KillMode") == "mixed"


def test_the_command_starts_a_worker_that_the_check_finds(command_of_shop):
    process = command_of_shop.start(*command())
    try:
        while " is ready for " not in (line := process.stderr.readline()):
            assert line, "the worker ended before it was ready"

        found = command_of_shop(*command("pycortex-worker-check.service"))
        process.send_signal(signal.SIGTERM)

        assert (found.returncode, ended(process)) == (0, 0)
        gone = command_of_shop(*command("pycortex-worker-check.service"))
        assert gone.returncode == 1
    finally:
        process.kill()
        process.communicate()
