"""Whether the system has killed for want of memory; it doesn't tell the one who is left."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["kills_for_memory"]


def kills_for_memory() -> int:
    """
    Count the processes killed for want of memory: in this control group, else on this system.

    See memory.events of cgroup v2 and /proc/vmstat in the kernel's documentation; 0 without them.
    """
    for group in _groups():
        with suppress(OSError, ValueError, KeyError):
            return int(_table(group / "memory.events")["oom_kill"])
        with suppress(OSError, ValueError, KeyError):
            return int(_table(group / "memory.oom_control")["oom_kill"])
    with suppress(OSError, ValueError, KeyError):
        return int(_table(Path("/proc/vmstat"))["oom_kill"])
    return 0


def _groups() -> list[Path]:
    """List where this process's control group may be: version 2, version 1, within a container."""
    groups = []
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                groups.append(Path("/sys/fs/cgroup") / path.lstrip("/"))
            elif "memory" in controllers.split(","):
                groups.append(Path("/sys/fs/cgroup/memory") / path.lstrip("/"))
    return [*groups, Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory")]


def _table(path: Path) -> dict[str, str]:
    return dict(line.split(None, 1) for line in path.read_text().splitlines())
