"""Stops an embedded server when the last of its users has gone, however they went.

A process of its own, started beside the server: a user who is killed can't stop it any more. Run
by its path and with nothing but the standard library, so that it stays small.
"""

import fcntl
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["forget_dead_server", "identity", "is_postmaster", "keep", "start"]

PAUSE = 1.0
PATIENCE = 60.0


def identity(folder: Path) -> str:
    """Name the server in *folder*: process, data, start; empty if none has been noted."""
    try:
        return "\n".join((folder / "data" / "postmaster.pid").read_text().split("\n")[:3])
    except OSError:
        return ""


def is_postmaster(pid: int, data: Path) -> bool:
    """Whether that process is a server in *data*, as far as the system tells."""
    try:
        os.kill(pid, 0)
        if not Path("/proc/self/cwd").exists():
            return True
        return os.path.samefile(f"/proc/{pid}/cwd", data)
    except OSError:
        return False


def keep(folder: Path, pause: float = PAUSE) -> None:
    """Wait until nobody uses the server that runs in *folder* now, and stop it."""
    ours = identity(folder)
    while ours:
        time.sleep(pause)
        try:
            with (folder / "start.lock").open("ab") as starting:
                fcntl.flock(starting, fcntl.LOCK_EX)
                pid = int(ours.split("\n", 1)[0])
                if identity(folder) != ours or not is_postmaster(pid, folder / "data"):
                    return
                if _is_wanted(folder, ours):
                    continue
                os.kill(pid, signal.SIGINT)
                deadline = time.monotonic() + PATIENCE
                while identity(folder) == ours and time.monotonic() < deadline:
                    time.sleep(0.05)
                return
        except OSError:  # the folder is gone
            return


def _is_wanted(folder: Path, ours: str) -> bool:
    kept = folder / "kept"
    if kept.exists() and kept.read_text() == ours:
        return True
    with (folder / "users.lock").open("ab") as users:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def start(folder: Path) -> None:
    """Start the keeper of *folder*, which outlives this process."""
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    arguments = [sys.executable, "-I", "-S", __file__, str(folder)]
    with suppress(OSError):  # without it only a user who is killed leaves the server up
        os.posix_spawn(sys.executable, arguments, os.environ, file_actions=nothing)


def forget_dead_server(data: Path) -> None:
    """Remove the note of a server that is gone, whoever has its process id now."""
    note = data / "postmaster.pid"
    try:
        pid = int(note.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return
    # A session that a killed server left behind still has the data open.
    lives = (int(entry.name) for entry in Path("/proc").glob("[0-9]*"))
    if is_postmaster(pid, data) or any(is_postmaster(other, data) for other in lives):
        return
    note.unlink(missing_ok=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    os.chdir("/")
    keep(Path(sys.argv[1]))
