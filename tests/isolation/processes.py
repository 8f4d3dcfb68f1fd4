"""What the system says of processes."""

from __future__ import annotations

import subprocess
from typing import Any

from pycortex import JobHandle
from tests.waiting import wait_until


def state(pid: int) -> str:
    """What ps shows as its state: "" once it is gone, Z while nobody has taken note of its end."""
    shown = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip()


def ended(*pids: int) -> bool:
    """Whether none of them runs any more; whose parent is gone may still be listed."""
    return all(state(pid)[:1] in ("", "Z") for pid in pids)


def children(pid: int) -> dict[int, str]:
    """The processes that *pid* has started and not yet taken off the list, with their commands."""
    shown = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=", "-o", "ppid=", "-o", "args="],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split(None, 2) for line in shown.stdout.splitlines()]
    return {int(row[0]): row[2] for row in rows if int(row[1]) == pid and row[2].split()[0] != "ps"}


def bodies(pid: int) -> list[int]:
    """The processes of bodies that the runner *pid* has."""
    return [child for child, command in children(pid).items() if "pycortex job" in command]


def wait_at_it(handle: JobHandle) -> list[int]:
    """Wait until a body of tests.isolation.bodies is at it; gives its process, and others."""
    job: Any = wait_until(lambda: (job := handle.job()).progress_current == 1 and job)
    return [int(word) for word in job.message.split()]
