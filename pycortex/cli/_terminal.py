"""The whole terminal for one view: taken, kept through resizes and suspensions, given back sane."""

import contextlib
import os
import select
import shutil
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any

__all__ = ["Terminal", "in_one_go"]

# The second screen, no cursor, and no line that goes on in the next where a character is wider
# than thought.
TAKE = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J\x1b[H"
GIVE_BACK = "\r\x1b[0m\x1b[2J\x1b[H\x1b[?7h\x1b[?1049l\x1b[?25h\r"
CLEAR = "\x1b[2J"


@contextmanager
def in_one_go() -> Iterator[None]:
    """Hold Ctrl-C back: what is drawn by half would be drawn again, behind itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        # Not by a mask: another thread would get the signal, and this one its exception.
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, signal.SIG_DFL if handler is None else handler)
        for late in came:
            signal.raise_signal(late)


class Terminal:
    """
    The terminal that *stream* is, as a context.

    Args:
        redraw: Called when what stands there is no longer right.
    """

    def __init__(self, stream: IO[str], redraw: Callable[[], None]) -> None:
        self._stream = stream
        self._redraw = redraw
        self._resized = False
        self._before: dict[int, Any] = {}
        self._typing: tuple[int, list[Any]] | None = None
        self._bell: tuple[int, int] | None = None

    def __enter__(self) -> "Terminal":
        with in_one_go():
            if threading.current_thread() is threading.main_thread():
                self._bell = os.pipe()
                for end in self._bell:
                    os.set_blocking(end, False)
                self._before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, self._on_resize)
                self._before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._on_suspend)
            self._take()
        return self

    def __exit__(self, *exc: object) -> None:
        with in_one_go():
            for number, handler in self._before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
            self._give_back()
            for end in self._bell or ():
                os.close(end)
            self._bell = None

    def draw(self, lines: list[str]) -> None:
        """Write *lines* from the top, over whatever stands there."""
        rest = "\x1b[K\r\n".join(lines)
        with in_one_go():
            self._write(f"\r\x1b[H{rest}\x1b[K\x1b[J")

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines; COLUMNS and LINES count until the terminal is resized."""
        told = [os.environ.get(name, "") for name in ("COLUMNS", "LINES")]
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            size = shutil.get_terminal_size()
        found = [size.columns or 80, size.lines or 24]
        for place, text in enumerate(told):
            if text.isdigit() and int(text) and not self._resized:
                found[place] = int(text)
        return found[0], found[1]

    def pause(self, seconds: float) -> bool:
        """Wait; draw anew at once after a resize. Tells whether q was typed."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            sources = [self._bell[0]] if self._bell else []
            if self._typing is not None:
                sources.append(self._typing[0])
            if not sources:
                time.sleep(left)
                break
            ready, _, _ = select.select(sources, [], [], left)
            if self._bell and self._bell[0] in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._bell[0], 4096)
                self._write(CLEAR)
                self._redraw()
            if self._typing is not None and self._typing[0] in ready:
                typed = os.read(self._typing[0], 1024)
                if not typed:  # nobody will type any more
                    self._typing = None
                elif b"q" in typed or b"Q" in typed:
                    return True
        return False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _take(self) -> None:
        self._write(TAKE)
        self._typing = self._quiet_keys()

    def _give_back(self) -> None:
        self._write(GIVE_BACK)
        if self._typing is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._typing[0], termios.TCSAFLUSH, self._typing[1])
            self._typing = None

    @staticmethod
    def _quiet_keys() -> tuple[int, list[Any]] | None:
        """Have what is typed not shown, and heard at once; where we are the ones typed to."""
        try:
            keys = sys.stdin.fileno()
            if not os.isatty(keys) or os.tcgetpgrp(keys) != os.getpgrp():
                return None
            before = termios.tcgetattr(keys)
            quiet = termios.tcgetattr(keys)
            quiet[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(keys, termios.TCSANOW, quiet)
        except (OSError, ValueError, AttributeError, termios.error):
            return None
        return keys, before

    def _on_resize(self, _number: int, _frame: FrameType | None) -> None:
        self._resized = True
        self._ring()

    def _on_suspend(self, _number: int, _frame: FrameType | None) -> None:
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()
        self._ring()

    def _ring(self) -> None:
        if self._bell is not None:
            with contextlib.suppress(BlockingIOError):
                os.write(self._bell[1], b"!")
