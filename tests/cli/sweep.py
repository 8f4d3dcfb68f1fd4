"""
Runs many command lines under the same circumstances, each in a fork of one process.

    python -m tests.cli.sweep < circumstances.json

The circumstances: calls (lists of words), stdin ("null" or "closed"), stdout ("file", "closed",
"broken" for a pipe that nobody reads, "terminal" with columns), seconds for each call. Prints an
array of what became of each call: code (None: it had to be killed), stdout, stderr, as text.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from typing import Any


def main() -> None:
    """Run them all."""
    told = json.load(sys.stdin)
    sys.stdout.write(json.dumps([run(call, told) for call in told["calls"]]))


def run(call: list[str], told: dict[str, Any]) -> dict[str, Any]:
    """Run one call to its end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        terminal = None
        if told["stdout"] == "terminal":
            terminal, inside = pty.openpty()
            size = struct.pack("HHHH", 24, told["columns"], 0, 0)
            fcntl.ioctl(inside, termios.TIOCSWINSZ, size)
            stdout = inside
        elif told["stdout"] == "broken":
            reader, stdout = os.pipe()
            os.close(reader)
        else:
            stdout = out.fileno()
        child = os.fork()
        if child == 0:
            become(call, told, stdout, err.fileno())
        if stdout != out.fileno():
            os.close(stdout)
        seen, code = follow(child, terminal, told["seconds"])
        if terminal is not None:
            os.close(terminal)
        else:
            out.seek(0)
            seen = out.read()
        err.seek(0)
        return {
            "call": call,
            "code": code,
            "stdout": seen.decode("utf-8", "replace"),
            "stderr": err.read().decode("utf-8", "replace"),
        }


def become(call: list[str], told: dict[str, Any], stdout: int, stderr: int) -> None:
    """Be the command; doesn't return."""
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.closerange(3, 256)
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        stream = open(number, mode, encoding=told.get("encoding"), closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
    if told["stdin"] == "closed":
        os.close(0)
        sys.stdin = None  # type: ignore[assignment] # as Python itself does then
    if told["stdout"] == "closed":
        os.close(1)
        sys.stdout = None  # type: ignore[assignment]
    code: Any = 1
    try:
        from pycortex.cli import main as command

        command(call, prog_name="pycortex")
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        import traceback

        traceback.print_exc()
    try:
        for ended in (sys.stdout, sys.stderr):
            if ended is not None:
                ended.flush()
    except OSError as error:  # what the interpreter would complain of
        os.write(2, f"Traceback: {error}".encode())
    os._exit(code if isinstance(code, int) else 1)


def follow(child: int, terminal: int | None, seconds: float) -> tuple[bytes, int | None]:
    """Wait for its end, reading its terminal meanwhile."""
    seen, deadline = b"", time.monotonic() + seconds
    while True:
        if terminal is not None:
            while select.select([terminal], [], [], 0)[0]:
                try:
                    read = os.read(terminal, 65536)
                except OSError:
                    break
                if not read:
                    break
                seen += read
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return seen, os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return seen, None
        time.sleep(0.005)


if __name__ == "__main__":
    import pycortex.cli

    assert pycortex.cli.main
    main()
