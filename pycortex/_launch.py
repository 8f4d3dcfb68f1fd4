"""Starts fresh processes, each in a session of its own, and ends them with what they started."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import resource_tracker, spawn
from typing import Any, TextIO

__all__ = ["Process", "launch", "main_module", "socket_pair"]

ORPHAN_LIMIT = 2.0
"""Seconds to wait for the killed orphans that a container's first process gets for children."""


class Process:
    """
    A process that leads its own session, hence its own group.

    Attributes:
        pid: Its number, and its group's.
        code: Once it is over: its exit code, below 0 for a signal; None if nobody knows.
    """

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        self._over = False
        self._listed = True
        self.pid = popen.pid
        self.code: int | None = None

    def over(self) -> bool:
        """Look, and leave it on the system's list, so that its number isn't given away."""
        if self._over:
            return True
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            self.code = self._popen.poll()
            self._over = self.code is not None
            self._listed = not self._over
            return self._over
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # this program ignores SIGCHLD, or waits for whatever ends
            self._over, self._listed = True, False
        else:
            if found is not None:
                self.code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
                self._over = True
        return self._over

    def signal(self, number: signal.Signals) -> None:
        """Signal it and what it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def bury(self) -> None:
        """After its end: end what it has left, and take all of it off the system's list."""
        if self._listed or not _exists(self.pid):  # its group keeps the number too
            self.signal(signal.SIGKILL)
        self._popen.wait()
        until = time.monotonic() + ORPHAN_LIMIT
        with suppress(ChildProcessError):
            while time.monotonic() < until:
                if os.waitpid(-self.pid, os.WNOHANG) == (0, 0):
                    time.sleep(0.01)


def launch(start: Any, end: socket.socket, name: str) -> Process:
    """
    Start a process in which ``start._bootstrap`` is called; it inherits *end*.

    Raises:
        OSError: The system gives none.
    """
    tracker = resource_tracker.getfd()
    assert tracker is not None  # noqa: S101 - it runs now
    reader, writer = (_above_standard(fd) for fd in os.pipe())
    command = spawn.get_command_line(tracker_fd=tracker, pipe_handle=reader)
    if not getattr(sys, "frozen", False):
        command.append(name)  # for people who look at the processes
    try:
        popen = subprocess.Popen(  # noqa: S603 - this Python
            command,
            stdin=subprocess.DEVNULL,
            stdout=_inherited(sys.__stdout__),
            stderr=_inherited(sys.__stderr__),
            pass_fds=[reader, tracker, end.fileno()],
            start_new_session=True,
            cwd=_folder(),
        )
    except BaseException:
        os.close(writer)
        raise
    finally:
        os.close(reader)
    with suppress(BrokenPipeError), open(writer, "wb") as orders:
        orders.write(pickle.dumps(_surroundings(name)) + pickle.dumps(start))
    return Process(popen)


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Open a pair of sockets, neither in the place of a standard stream that is closed."""
    one, two = socket.socketpair()
    return (
        socket.socket(fileno=_above_standard(one.detach())),
        socket.socket(fileno=_above_standard(two.detach())),
    )


def main_module() -> dict[str, str]:
    """Say how another process can import this one's main module; empty if it can't."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", None)
    if name is not None:
        # The main module of a package or an archive runs whenever it is imported.
        return {} if name.rpartition(".")[2] == "__main__" else {"init_main_from_name": name}
    path = getattr(main, "__file__", None)
    if path is None or getattr(sys, "frozen", False):
        return {}
    return {"init_main_from_path": os.path.normpath(os.path.join(_first_folder(), path))}


def _surroundings(name: str) -> dict[str, Any]:
    """Collect what multiprocessing sets up in a fresh process, without the main module."""
    method = multiprocessing.get_start_method(allow_none=True)
    return {
        "name": name,
        "sys_path": [path or _first_folder() for path in sys.path],
        "sys_argv": sys.argv,
        "orig_dir": _first_folder() or None,
        **({} if method is None else {"start_method": method}),
    }


def _first_folder() -> str:
    folder: str | None = multiprocessing.process.ORIGINAL_DIR  # type: ignore[attr-defined]
    return folder or ""


def _folder() -> str | None:
    """Say where to start a process: here, unless this folder was deleted, where Python may fail."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return "/"
    return None


def _inherited(stream: TextIO | None) -> int | None:
    """Pass a standard stream on, if there is one; else some file may have taken its place."""
    return subprocess.DEVNULL if stream is None or stream.closed else None


def _above_standard(fd: int) -> int:
    """Move a file off the place of a standard stream."""
    if fd > 2:
        return fd
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(fd)
    return moved


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
