"""
What an import of conversion logs costs, as a multiple of COPY alone for the same rows.

    python -m benchmarks.imports --logs 100000

The yardstick is the least that any loader could do: the finished rows of the same tasks and
messages, as text, by one COPY a table on one connection into the same empty tables, with all their
indexes and constraints. Rounds of both alternate on one scratch server with PostgreSQL's own
settings of durability, which is removed afterwards. Times depend on the machine; the ratio is what
counts. With --archive the same logs come as a .tar.gz too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from pycortex.install import install

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "examples" / "latexml-logs"
TABLES = {
    "tasks": "id, corpus_id, service_id, status, entry",
    **{
        f"log_{severity}s": "task_id, category, what, details"
        for severity in ("info", "warning", "error", "fatal", "invalid")
    },
}
BLOCK = 2**18


def main() -> None:
    """Measure, and print what was found."""
    options = arguments()
    os.environ.setdefault("TMPDIR", tempfile.gettempdir())  # on a disk, not in memory
    with tempfile.TemporaryDirectory(prefix="pycortex-bench-") as folder, server() as url:
        place = Path(folder)
        logs = make_logs(place / "logs", options.source, options.logs)
        found = measure(url, logs, place, options)
    if options.json:
        json.dump(found, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        tell(found)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imports")
    parser.add_argument("--logs", type=int, default=10_000, help="how many documents")
    parser.add_argument("--rounds", type=int, default=3, help="of each, alternating")
    parser.add_argument("--from", dest="source", type=Path, default=LOGS, help="logs to multiply")
    parser.add_argument("--again", action="store_true", help="measure a second import too")
    parser.add_argument("--archive", action="store_true", help="measure them as a .tar.gz too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


@contextmanager
def server() -> Iterator[str]:
    """A scratch server with a database in which everything is installed; gives its URL."""
    from tests.servers import LocalServer

    opened = LocalServer()
    try:
        opened.configure(fsync="on", synchronous_commit="on", full_page_writes="on",
                         shared_buffers="512MB", max_wal_size="4GB")  # fmt: skip
        opened.restart()
        url = opened.create("bench")
        install(url)
        yield url
    finally:
        opened.close()


def make_logs(folder: Path, source: Path, count: int) -> Path:
    """Multiply real logs to *count*, in folders of a thousand."""
    originals = [path.read_bytes() for path in sorted(source.iterdir()) if path.is_file()]
    for number in range(count):
        if number % 1000 == 0:
            part = folder / f"{number // 1000:04}"
            part.mkdir(parents=True)
        (part / f"{number:07}.log").write_bytes(originals[number % len(originals)])
    return folder


def measure(url: str, logs: Path, place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Alternate between the two, or three."""
    imports, copies, agains, archives, sizes = [], [], [], [], []
    archive = pack(logs, place / "logs.tar.gz") if options.archive else None
    with psycopg.connect(url, autocommit=True) as conn:
        load(url, logs)  # to have the rows, and everything warm
        rows = keep_rows(conn, place / "rows")
        for _ in range(options.rounds):
            empty(conn)
            copies.append(copy_alone(conn, place / "rows"))
            expect(conn, rows)
            empty(conn)
            seconds, most = load(url, logs)
            imports.append(seconds)
            sizes.append(most)
            expect(conn, rows)
            if options.again:
                agains.append(load(url, logs)[0])
                expect(conn, rows)
            if archive:
                empty(conn)
                seconds, most = load(url, archive)
                archives.append(seconds)
                sizes.append(most)
                expect(conn, rows)
        version = conn.info.server_version // 10000
    found = {
        "logs": options.logs,
        "messages": sum(rows.values()) - rows["tasks"],
        "log_bytes": sum(path.stat().st_size for path in logs.rglob("*.log")),
        "postgresql": version,
        "rounds": options.rounds,
        "copy_seconds": spread(copies),
        "import_seconds": spread(imports),
        "ratio": spread(as_ratios(imports, copies)),
        "import_most_memory_kb": max(sizes),
    }
    if agains:
        found["again_ratio"] = spread(as_ratios(agains, copies))
    if archives:
        found["archive_seconds"] = spread(archives)
        found["archive_ratio"] = spread(as_ratios(archives, copies))
    return found


def as_ratios(ours: list[float], theirs: list[float]) -> list[float]:
    """Each as a multiple of the other of its round."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def pack(logs: Path, archive: Path) -> Path:
    """Put the logs into a .tar.gz."""
    with tarfile.open(archive, "w:gz", compresslevel=1) as opened:
        for path in sorted(logs.rglob("*.log")):
            opened.add(path, arcname=path.relative_to(logs))
            opened.members = []  # a child's peak of memory would begin with ours
    return archive


def load(url: str, logs: Path) -> tuple[float, int]:
    """Import as the command does, in a fresh process; returns seconds and its peak in kB."""
    started = time.perf_counter()
    program = subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-m", "pycortex", "--database-url", url, "corpus", "import", str(logs),
         "--corpus", "bench"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert program.stdout is not None  # noqa: S101 - it is a pipe
    said = program.stdout.read()
    _, status, used = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode:
        raise SystemExit(f"the import failed: {said}")
    return time.perf_counter() - started, used.ru_maxrss


def keep_rows(conn: psycopg.Connection[Any], folder: Path) -> dict[str, int]:
    """Write the rows of each table to a file, as COPY wants them; returns how many."""
    folder.mkdir()
    counts = {}
    for table, columns in TABLES.items():
        statement = sql.SQL("copy (select {} from {} order by id) to stdout").format(
            sql.SQL(columns), sql.Identifier("corpus", table)
        )
        with (folder / table).open("wb") as file, conn.cursor() as cursor:
            with cursor.copy(statement) as copy:
                for block in copy:
                    file.write(block)
            counts[table] = cursor.rowcount
    return counts


def empty(conn: psycopg.Connection[Any]) -> None:
    """Empty all tables but those that name the scope, and let the server write what it has to."""
    conn.execute("truncate corpus.tasks cascade")
    conn.execute("checkpoint")


def copy_alone(conn: psycopg.Connection[Any], folder: Path) -> float:
    """Load the rows by COPY, all in one transaction; returns seconds."""
    started = time.perf_counter()
    with conn.transaction():
        for table, columns in TABLES.items():
            statement = sql.SQL("copy {} ({}) from stdin").format(
                sql.Identifier("corpus", table), sql.SQL(columns)
            )
            with (folder / table).open("rb") as file, conn.cursor().copy(statement) as copy:
                while block := file.read(BLOCK):
                    copy.write(block)
    return time.perf_counter() - started


def expect(conn: psycopg.Connection[Any], rows: dict[str, int]) -> None:
    """Make sure that both did the same work."""
    for table, count in rows.items():
        query = sql.SQL("select count(*) from {}").format(sql.Identifier("corpus", table))
        row = conn.execute(query).fetchone()
        if row != (count,):
            raise SystemExit(f"corpus.{table} has {row} rows instead of {count}")


def spread(values: list[float]) -> dict[str, float]:
    """Median, least and most."""
    return {
        "median": round(statistics.median(values), 3),
        "least": round(min(values), 3),
        "most": round(max(values), 3),
    }


def tell(found: dict[str, Any]) -> None:
    """Print it for people."""

    def words(name: str) -> str:
        each = found[name]
        return f"{each['median']:.2f} [{each['least']:.2f}-{each['most']:.2f}]"

    lines = [
        f"{found['logs']:,} logs ({found['log_bytes'] / 2**20:,.0f} MB) with"
        f" {found['messages']:,} messages; PostgreSQL {found['postgresql']};"
        f" median of {found['rounds']} rounds [least-most]",
        f"COPY alone   {words('copy_seconds')} s",
        f"import       {words('import_seconds')} s, most memory of its process"
        f" {found['import_most_memory_kb'] / 1024:.0f} MB",
        f"import/COPY  {words('ratio')}",
    ]
    if "again_ratio" in found:
        lines.append(f"second import of the same/COPY  {words('again_ratio')}")
    if "archive_ratio" in found:
        lines.append(f"import of a .tar.gz  {words('archive_seconds')} s")
        lines.append(f"import of a .tar.gz/COPY  {words('archive_ratio')}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
