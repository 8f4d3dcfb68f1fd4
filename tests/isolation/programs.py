"""Programs with runners whose bodies run in processes, to be started and killed by tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings

from pycortex import Runner
from tests.isolation import bodies


def main() -> None:
    """Take a program's name, a conninfo, the body's name."""
    name, conninfo, body = sys.argv[1:4]
    runner = Runner(conninfo, isolation="process", grace=60, name="program").start()
    handles = [runner.spawn("test", getattr(bodies, body)) for _ in range(2)]
    for handle in handles:
        while handle.job().progress_current != 1:
            time.sleep(0.02)
    print(*(handle.job().message for handle in handles), flush=True)
    globals()[name](runner)


def wait(runner: Runner) -> None:
    """Wait to be killed."""
    signal.pause()


def exit_at_once(runner: Runner) -> None:
    """End without any goodbye."""
    sys.stdin.readline()
    os._exit(5)


def fork_and_wait(runner: Runner) -> None:
    """Have another process hold open whatever this one has, and wait."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads
        pid = os.fork()
    if not pid:
        time.sleep(600)
        os._exit(0)
    print(pid, flush=True)
    signal.pause()


def spawn_beside(runner: Runner) -> None:
    """Start a program that gets nothing of ours, and wait."""
    pid = subprocess.Popen(["sleep", "600"]).pid
    print(pid, flush=True)
    signal.pause()


def forget(runner: Runner) -> None:
    """End without a shutdown, as soon as it is told to."""
    runner.grace = 0.2
    sys.stdin.readline()


def end_in_thread(runner: Runner) -> None:
    """End while another thread goes on spawning."""
    runner.grace = 0.2

    def go_on() -> None:
        while True:
            try:
                runner.spawn("test", bodies.nap)
            except RuntimeError:
                return

    threading.Thread(target=go_on, daemon=True).start()
    sys.stdin.readline()


if __name__ == "__main__":
    main()
