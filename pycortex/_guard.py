"""A small process that ends the bodies' processes when their runner is gone, however it went.

A body that hangs in compiled code can't look after its runner itself; and what a body has started
would stay when the system ended the body alone. Run as a program, this file is the guard: each line
of its input names a process group to watch (+) or to forget (-).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress

__all__ = ["Guard"]

GLANCE = 0.5
"""Seconds between two looks; not only the end of the input tells, a fork may hold it open."""


class Guard:
    """Tells the guard which processes there are; starts it with the first."""

    def __init__(self) -> None:
        self._guard: subprocess.Popen[bytes] | None = None
        self._watched: set[int] = set()
        self._lock = threading.Lock()

    def watch(self, pid: int) -> None:
        """See to it that *pid* and its group end with this process."""
        with self._lock:
            self._watched.add(pid)
            if not self._say(b"+%d\n" % pid):
                self._start()

    def forget(self, pid: int) -> None:
        """Let a process go that has ended."""
        with self._lock:
            self._watched.discard(pid)
            self._say(b"-%d\n" % pid)

    def _say(self, line: bytes) -> bool:
        if self._guard is None or self._guard.stdin is None or self._guard.poll() is not None:
            return False
        try:
            self._guard.stdin.write(line)
            self._guard.stdin.flush()
        except OSError:
            return False
        return True

    def _start(self) -> None:
        os.register_at_fork(after_in_child=self.__init__)  # type: ignore[misc]
        self._guard = subprocess.Popen(  # noqa: S603 - this file, and numbers
            [sys.executable, "-I", "-S", __file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for pid in self._watched:
            self._say(b"+%d\n" % pid)


def _main(owner: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it goes last
    watched: dict[int, str] = {}
    rest = b""
    while os.getppid() == owner:
        if not select.select([0], [], [], GLANCE)[0]:
            continue
        data = os.read(0, 65536)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            pid = int(line[1:])
            if line.startswith(b"+"):
                watched[pid] = _began(pid)
            else:
                watched.pop(pid, None)
    for pid, began in watched.items():
        if _began(pid) in (began, ""):  # another process may have the number now
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _began(pid: int) -> str:
    """When a process began, in the system's own count; empty if it is gone or nobody says."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


if __name__ == "__main__":
    _main(int(sys.argv[1]))
