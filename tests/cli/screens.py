"""A terminal that understands what is written to it, so that tests compare screens, not bytes."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyte


class Emulator:
    """
    A command on a terminal of so many columns and lines, whose screen can be looked at.

    Attributes:
        raw: All that was written so far.
    """

    def __init__(
        self,
        line: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        size: tuple[int, int] = (100, 24),
    ) -> None:
        self._outside, inside = pty.openpty()
        self._resize(size)
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.before = termios.tcgetattr(inside)
        self.process = subprocess.Popen(
            line,
            env=dict(env),
            cwd=cwd,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        self._inside = inside  # kept open, so that what was set can be read when it has ended

    def __enter__(self) -> Emulator:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._inside)
        os.close(self._outside)

    @property
    def lines(self) -> list[str]:
        """What stands on each line, without the blanks at its end."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(self.lines).rstrip()

    @property
    def is_sane(self) -> bool:
        """Whether the terminal is as it was: cursor, wrapping, first screen, echo."""
        last = {
            mode: self.raw.rfind(b"\x1b[?%dh" % mode) > self.raw.rfind(b"\x1b[?%dl" % mode)
            for mode in (7, 25, 1049)
        }
        return (
            last == {7: True, 25: True, 1049: False}
            and termios.tcgetattr(self._inside)[3] == self.before[3]
        )

    def colour_of(self, words: str) -> str:
        """The colour in which *words* stand on the screen."""
        for number, line in enumerate(self.screen.display):
            if words in line:
                colour: str = self.screen.buffer[number][line.index(words)].fg
                return colour
        raise AssertionError(f"{words!r} isn't there:\n{self.text}")

    def read(self, seconds: float = 0.0) -> None:
        """Take in what is written in that time."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(deadline - time.monotonic(), 0)
            if select.select([self._outside], [], [], left)[0]:
                with suppress(OSError):
                    written = os.read(self._outside, 65536)
                    self.raw += written
                    self._stream.feed(written)
                    continue
            if left == 0:
                return

    def wait_for(self, wanted: str | Callable[[], Any], timeout: float = 60) -> None:
        """Wait until *wanted* stands on the screen, or holds."""
        deadline = time.monotonic() + timeout
        while not (wanted in self.text if isinstance(wanted, str) else wanted()):
            assert time.monotonic() < deadline, f"no {wanted} in:\n{self.text}"
            self.read(0.05)

    def resize(self, size: tuple[int, int]) -> None:
        """Make the terminal so wide and high, as somebody who pulls at its window."""
        self.screen.resize(lines=size[1], columns=size[0])
        self._resize(size)

    def _resize(self, size: tuple[int, int]) -> None:
        fcntl.ioctl(self._outside, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def type(self, keys: str) -> None:
        """Type *keys*."""
        os.write(self._outside, keys.encode())

    def end(self, timeout: float = 60) -> int:
        """Wait until the command has ended, and return its exit code."""
        self.wait_for(lambda: self.process.poll() is not None, timeout)
        self.read(0.05)
        return self.process.returncode


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
