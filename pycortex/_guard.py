"""Has the bodies' processes ended when this one is gone, however it went; see _watchman."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from multiprocessing import spawn
from pathlib import Path

from pycortex import _watchman
from pycortex._goodbye import afterwards
from pycortex._log import logger

__all__ = ["Guard"]

LEAVE_LIMIT = 2.0
"""Seconds for the watchman to leave when there is nothing to watch any more."""

START_EVERY = 2.0
"""Seconds, at least, between two starts, also of one that can't run here."""


class Guard:
    """Tells a watchman which processes there are; starts it with the first."""

    def __init__(self) -> None:
        self._watchman: subprocess.Popen[bytes] | None = None
        self._watched: dict[int, str] = {}
        self._lock = threading.Lock()
        self._remembered = False
        self._next_start = 0.0

    def watch(self, pid: int) -> None:
        """See to it that *pid* and its group end with this process."""
        with self._lock:
            self._watched[pid] = began = _watchman.began(pid)
            if not self._say(f"+{pid} {began}\n"):
                self._start()

    def forget(self, pid: int) -> None:
        """Let a process go that has ended."""
        with self._lock:
            self._watched.pop(pid, None)
            self._say(f"-{pid}\n")

    def tend(self) -> None:
        """Start the watchman anew, should somebody have ended it."""
        with self._lock:
            if self._watched and (self._watchman is None or self._watchman.poll() is not None):
                self._start()

    def stop(self) -> None:
        """Let the watchman leave, if there is nothing to watch."""
        with self._lock:
            watchman = self._watchman
            if watchman is None or watchman.stdin is None or self._watched:
                return
            watchman.stdin.close()
            try:
                watchman.wait(LEAVE_LIMIT)
            except subprocess.TimeoutExpired:
                watchman.kill()
                watchman.wait()
            self._watchman = None

    def _say(self, line: str) -> bool:
        if self._watchman is None or self._watchman.stdin is None:
            return False
        try:
            return self._watchman.stdin.write(line.encode()) is not None  # None: it reads nothing
        except OSError:
            return False

    def _start(self) -> None:
        now = time.monotonic()
        if now < self._next_start or getattr(sys, "frozen", False):  # frozen: no Python to run it
            return
        self._next_start = now + START_EVERY
        if not self._remembered:
            self._remembered = True
            os.register_at_fork(after_in_child=self._disown)
            afterwards(self.stop)
        before = self._watchman
        if before is not None and before.stdin is not None:
            logger.warning("process %d ended, which ends bodies if this one dies", before.pid)
            before.stdin.close()
            before.kill()  # or it is stopped
            before.wait()
        self._watchman = None
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        words = os.fdopen(writer, "wb", 0)
        for pid, began in self._watched.items():  # it finds them, should this process die meanwhile
            words.write(f"+{pid} {began}\n".encode())
        try:
            watchman = subprocess.Popen(  # noqa: S603 - this Python, our file
                [spawn.get_executable(), "-I", "-S", Path(_watchman.__file__), str(os.getpid())],
                bufsize=0,
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:  # a system at its limits; bodies run all the same
            words.close()
            logger.warning("nobody can end bodies if this process dies: %s", error)
            return
        finally:
            os.close(reader)
        watchman.stdin = words
        self._watchman = watchman

    def _disown(self) -> None:
        """In a fork: the watchman and what it watches are another process's."""
        if self._watchman is not None and self._watchman.stdin is not None:
            self._watchman.returncode = 0  # nothing to wait for here
            self._watchman.stdin.close()
        self._watchman = None
        self._watched = {}
        self._next_start = 0.0
        self._lock = threading.Lock()
