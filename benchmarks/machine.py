"""What a run was made on: processor, disk, server, versions, and who else was busy."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.server import Bench, file_system

__all__ = ["describe", "load", "words"]

ROOT = Path(__file__).parents[1]
SYNCS = 200
SETTINGS = (
    "fsync", "synchronous_commit", "full_page_writes", "wal_level", "shared_buffers",
    "max_wal_size", "autovacuum", "wal_sync_method",
)  # fmt: skip


def describe(bench: Bench) -> dict[str, Any]:
    """All of it, for the record."""
    folder = bench.server.folder
    device, kind = file_system(folder)
    with bench.server.connect() as conn:
        [server] = conn.execute("select version()").fetchall()
        settings = {
            name: conn.execute("select current_setting(%s)", [name]).fetchall()[0][0]
            for name in SETTINGS
        }
    return {
        "processor": processor(),
        "processors": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "disk": f"{device} {kind}".strip(),
        "syncs_per_second": round(syncs(folder)),
        "server": server[0],
        "server_kind": bench.server.kind,
        "settings": settings,
        "python": platform.python_version(),
        "psycopg": f"{psycopg.__version__}, {psycopg.pq.__impl__}",
        "pycortex": importlib.metadata.version("pycortex-jobs"),
        "commit": commit(),
        "load_at_start": load(),
    }


def words(machine: dict[str, Any]) -> list[str]:
    """The same for people."""
    settings = ", ".join(f"{name} {value}" for name, value in machine["settings"].items())
    return [
        f"{machine['processors']} x {machine['processor']}, {machine['memory_gb']} GB,"
        f" {machine['system']}",
        f"disk {machine['disk']}, {machine['syncs_per_second']:,} fdatasync of 8 kB a second",
        f"{machine['server'].partition(' on ')[0]}, {machine['server_kind']}: {settings}",
        f"Python {machine['python']}, psycopg {machine['psycopg']}, pycortex"
        f" {machine['pycortex']} at {machine['commit']}",
        f"load average {machine['load_at_start']:.1f} at the start,"
        f" {machine.get('load_at_end', 0):.1f} at the end",
    ]


def load() -> float:
    """How many processes want to run, over the last minute."""
    return round(os.getloadavg()[0], 2)


def processor() -> str:
    """Its name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    except OSError:
        pass
    return platform.processor() or platform.machine()


def syncs(folder: Path) -> float:
    """How often a second the disk takes eight kilobytes for good; the limit of one session."""
    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        block = os.urandom(8192)
        for number in range(SYNCS):
            started = time.perf_counter()
            os.pwrite(file.fileno(), block, 8192 * (number % 64))
            getattr(os, "fdatasync", os.fsync)(file.fileno())
            times.append(time.perf_counter() - started)
    return 1 / statistics.median(times)


def commit() -> str:
    """Which commit this is, and whether something differs from it."""

    def git(*words: str) -> str:
        return subprocess.run(  # noqa: S603
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True  # noqa: S607
        ).stdout.strip()  # fmt: skip

    try:
        changed = git(
            "status", "--porcelain", "--untracked-files=no", "pycortex", "sql", "migrations"
        )
        return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
