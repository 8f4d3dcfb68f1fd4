"""A small program that ends the bodies' processes when their runner is gone, however it went.

A body that hangs in compiled code can't look after its runner itself; and what a body has started
would stay when the system ended the body alone. Each line of the input names a process, which leads
its group, to watch (+, with when it began) or to forget (-). It imports as little as it can.
"""

import os
import select
import signal
import sys
from contextlib import suppress

__all__ = ["began", "main"]

GLANCE = 0.5
"""Seconds between two looks; not only the end of the input tells, a fork may hold it open."""


def main(owner: int) -> None:
    """Watch until *owner* is gone, then end what is left."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it goes last
    watched: dict[int, str] = {}
    rest = b""
    while True:
        gone = os.getppid() != owner  # asked first, so that its last words are in the pipe by now
        if not select.select([0], [], [], 0 if gone else GLANCE)[0]:
            if gone:
                break
            continue
        data = os.read(0, 65536)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            pid, _, start = line[1:].decode().partition(" ")
            if line.startswith(b"+"):
                watched[int(pid)] = start
            else:
                watched.pop(int(pid), None)
    for group, start in watched.items():
        if began(group) in (start, ""):  # another process may have the number now
            with suppress(OSError):
                os.killpg(group, signal.SIGKILL)


def began(pid: int) -> str:
    """Say when a process began, in the system's own count; "" if it is gone or nobody says."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


if __name__ == "__main__":
    main(int(sys.argv[1]))
