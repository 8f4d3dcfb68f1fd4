"""The command as tests call it: in this process, as a process of its own, on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pycortex.cli import main
from tests.cli.screens import Emulator
from tests.servers import quick_tmp
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def place() -> Iterator[Path]:
    """
    A folder for embedded servers.

    Not tmp_path: as root the server is another user, and every pytest that starts on this machine
    closes the way to tmp_path for other users.
    """
    with tempfile.TemporaryDirectory(
        prefix="pycortex-test-", dir=quick_tmp(), ignore_cleanup_errors=True
    ) as name:
        yield Path(name)


@pytest.fixture
def nowhere(place: Path) -> dict[str, str]:
    """An environment in which no database is named, and home is an empty folder."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    home = place / "home"
    home.mkdir()
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}


@pytest.fixture
def cli(database: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command on `database` in this process: cli("list", "--json")."""
    monkeypatch.setenv("PYCORTEX_DATABASE_URL", database)
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*arguments: str, **kwargs: Any) -> Result:
        result = CliRunner().invoke(main, arguments, prog_name="pycortex", **kwargs)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return run


@pytest.fixture
def cli_json(cli: Callable[..., Result]) -> Callable[..., Any]:
    """Runs a command with --json and returns what it printed, parsed."""

    def run(*arguments: str) -> Any:
        result = cli(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return run


@dataclass
class Command:
    """Starts the command as processes of their own."""

    environment: dict[str, str]
    folder: Path

    def __call__(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        text: bool = True,
        timeout: float = 60,
        **kwargs: Any,
    ) -> subprocess.CompletedProcess[Any]:
        """Run it to its end."""
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        return subprocess.run(
            self._line(arguments),
            env=self.environment | dict(env or {}),
            cwd=self.folder,
            text=text,
            timeout=timeout,
            check=False,
            **kwargs,
        )

    def start(
        self, *arguments: str, env: Mapping[str, str] | None = None, **kwargs: Any
    ) -> subprocess.Popen[str]:
        """Start it; the caller ends it."""
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(
            self._line(arguments),
            env=self.environment | dict(env or {}),
            cwd=self.folder,
            text=True,
            **kwargs,
        )

    def on_terminal(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] = (80, 24),
        typed: Sequence[tuple[str, str]] = (),
        timeout: float = 60,
    ) -> Screen:
        """
        Run it to its end on a terminal of so many columns and lines.

        Args:
            typed: What to wait for on the screen, and what to type then.
        """
        outside, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        process = subprocess.Popen(
            self._line(arguments),
            env=self.environment | dict(env or {}),
            cwd=self.folder,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(inside)
        try:
            return _converse(process, outside, list(typed), timeout)
        finally:
            process.kill()
            process.wait()
            os.close(outside)

    def on_screen(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] = (100, 24),
    ) -> Emulator:
        """Start it on a terminal whose screen can be looked at; a context, which ends it."""
        return Emulator(
            self._line(arguments),
            env=self.environment | dict(env or {}),
            cwd=self.folder,
            size=size,
        )

    def _line(self, arguments: Sequence[str]) -> list[str]:
        return [sys.executable, "-m", "pycortex", *arguments]


@dataclass(frozen=True)
class Screen:
    """What a command wrote to its terminal, and how it ended."""

    raw: str
    returncode: int

    @property
    def text(self) -> str:
        """Without the control sequences."""
        return ESCAPES.sub("", self.raw).replace("\r", "")

    @property
    def lines(self) -> list[str]:
        """What stood on each line, every redrawing of it by itself; not the echo of Ctrl-C."""
        raw = self.raw.replace("^C", "")
        return [ESCAPES.sub("", line) for line in re.split(r"[\r\n]+", raw)]


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _converse(
    process: subprocess.Popen[Any], outside: int, typed: list[tuple[str, str]], timeout: float
) -> Screen:
    seen = b""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        readable, _, _ = select.select([outside], [], [], 0.05)
        if readable:
            try:
                seen += os.read(outside, 65536)
            except OSError:  # the last process closed its end
                break
        if typed and typed[0][0] in seen.decode(errors="replace"):
            os.write(outside, typed.pop(0)[1].encode())
    else:
        raise AssertionError(f"still running after {timeout} s: {seen.decode(errors='replace')}")
    return Screen(seen.decode(errors="replace"), process.wait(10))


@pytest.fixture
def pycortex(database: str, nowhere: dict[str, str], tmp_path: Path) -> Command:
    """The command on `database`, as processes of their own in an empty folder."""
    return Command(nowhere | {"PYCORTEX_DATABASE_URL": database}, tmp_path)


@pytest.fixture
def bare_pycortex(nowhere: dict[str, str], tmp_path: Path) -> Command:
    """The command where no database is named."""
    return Command(nowhere, tmp_path)


@pytest.fixture
def worker(pycortex: Command) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `pycortex worker`, waits until it is ready; ended after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **kwargs: Any) -> subprocess.Popen[str]:
        process = pycortex.start("worker", *arguments, **kwargs)
        started.append(process)
        assert process.stderr is not None
        said = [process.stderr.readline()]
        while said[-1] and " is ready for " not in said[-1]:
            said.append(process.stderr.readline())
        assert said[-1], f"the worker ended before it was ready: {said}"
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()


def ended(process: subprocess.Popen[str], timeout: float = 30) -> int:
    """Wait for a process and return its exit code."""
    wait_until(lambda: process.poll() is not None, timeout, what="the process ends")
    assert process.returncode is not None
    return process.returncode
