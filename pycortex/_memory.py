"""Whether the system has killed for want of memory; it doesn't tell the one who is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["kills_for_memory"]

ROOT = Path("/")


def kills_for_memory() -> int:
    """
    Count the processes killed for want of memory: in this control group, else on this system.

    See memory.events of cgroup v2, memory.oom_control of v1, and /proc/vmstat; 0 without them.
    """
    for path in _counters():
        with suppress(OSError, ValueError):
            for line in path.read_text().splitlines():
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    return 0


def _counters() -> Iterator[Path]:
    """Name the files that may have the count, the narrowest first."""
    groups = ROOT / "sys/fs/cgroup"
    with suppress(OSError, ValueError):
        for line in (ROOT / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                yield groups / path.lstrip("/") / "memory.events"
            elif "memory" in controllers.split(","):
                yield groups / "memory" / path.lstrip("/") / "memory.oom_control"
    yield groups / "memory.events"  # as a container may see it
    yield groups / "memory/memory.oom_control"
    yield ROOT / "proc/vmstat"
