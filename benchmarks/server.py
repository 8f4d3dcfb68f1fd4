"""The server that benchmarks run on: a scratch cluster on a disk, as durable as PostgreSQL is."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.scale import Scale
from pycortex.install import install
from tests.servers import LocalServer, own_server

__all__ = ["DURABLE", "MEMORY", "Bench", "file_system", "open_bench"]

MEMORY = ("tmpfs", "ramfs")
"""File systems that lose everything; a commit costs nothing there."""

DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "wal_level": "replica",
    "max_wal_size": "4GB",
    "shared_buffers": "1GB",
}
"""What differs from what the tests' servers have; the rest is PostgreSQL's own."""


class Bench:
    """
    What a module measures with: a server, a scale, databases, pgbench.

    Attributes:
        deadline: Monotonic time by which a module that can stop early should; infinity by default.
    """

    def __init__(self, server: LocalServer, scale: Scale) -> None:
        self.server = server
        self.scale = scale
        self.deadline = float("inf")
        self._numbers = itertools.count(1)
        self.template = "bench_template"
        install(server.create(self.template))

    @property
    def pgbench_program(self) -> Path | None:
        """The program, if this PostgreSQL comes with it."""
        program = self.server.bindir / "pgbench"
        return program if program.exists() else None

    @contextmanager
    def database(self, name: str, *, installed: bool = True) -> Iterator[str]:
        """A database for the block, with everything of ours *installed*, or empty; its URL."""
        unique = f"bench_{name}_{next(self._numbers)}"
        try:
            yield self.server.create(unique, self.template if installed else None)
        finally:
            self.server.drop(unique)

    @contextmanager
    def careless(self) -> Iterator[None]:
        """Have the server forget about the disk for the block, to fill tables."""
        self._set(fsync="off", synchronous_commit="off", full_page_writes="off")
        try:
            yield
        finally:
            self._set(fsync="on", synchronous_commit="on", full_page_writes="on")
            self.server.execute("checkpoint")
            os.sync()

    def _set(self, **settings: str) -> None:
        with self.server.connect() as conn:
            for name, value in settings.items():
                conn.execute(f"alter system set {name} = {value}")
            conn.execute("select pg_reload_conf()")

    def pgbench(
        self, url: str, script: str, *,
        clients: int = 1, transactions: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> float:  # fmt: skip
        """
        Run *script* as a prepared statement, again and again.

        Args:
            transactions: Of each client; by default as the scale says.
            settings: Of the sessions.

        Returns:
            Transactions a second.
        """
        program = self.pgbench_program
        if program is None:
            raise RuntimeError("this PostgreSQL comes without pgbench")
        info = psycopg.conninfo.conninfo_to_dict(url)
        options = " ".join(f"-c {name}={value}" for name, value in (settings or {}).items())
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(script)
            file.flush()
            done = subprocess.run(  # noqa: S603 - PostgreSQL's own
                [program, "-n", "-M", "prepared", "-f", file.name, "-c", str(clients),
                 "-j", str(min(clients, os.cpu_count() or 1)),
                 "-t", str(transactions or self.scale.transactions),
                 "-h", str(info["host"]), "-p", str(info["port"]), "-U", str(info["user"]),
                 str(info["dbname"])],
                env=plain_environment() | {"PGOPTIONS": options},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            )  # fmt: skip
        found = re.search(r"^tps = ([\d.]+) \(without initial", done.stdout, re.MULTILINE)
        if done.returncode or found is None:
            raise RuntimeError(f"pgbench failed: {done.stderr.strip()[-2000:]}")
        return float(found[1])


@contextmanager
def open_bench(scale: Scale, **settings: str) -> Iterator[Bench]:
    """Start a server on a disk; it goes away after the block, or with this process."""
    before, chosen = os.environ.get("TMPDIR"), tempfile.tempdir
    os.environ["TMPDIR"] = tempfile.tempdir = str(disk_folder())
    try:
        server = own_server()
        try:
            server.configure(**DURABLE | settings)
            server.restart()
            yield Bench(server, scale)
        finally:
            server.close()
    finally:
        tempfile.tempdir = chosen
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before


def disk_folder() -> Path:
    """
    A folder for temporary files that outlives a crash of the machine.

    Raises:
        RuntimeError: There is none.
    """
    tried: Sequence[str] = (tempfile.gettempdir(), "/var/tmp", "/tmp")  # noqa: S108 - to look at
    for name in tried:
        if os.access(name, os.W_OK | os.X_OK) and file_system(Path(name))[1] not in MEMORY:
            return Path(name)
    raise RuntimeError(f"{' and '.join(tried)} are in memory: set TMPDIR to a folder on a disk")


def file_system(folder: Path) -> tuple[str, str]:
    """The device and the type of the file system that *folder* is on; empty if nobody knows."""
    try:
        lines = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return "", ""
    best = ("", "", "")
    for line in lines:
        device, mount, kind = line.split()[:3]
        if folder.resolve().is_relative_to(mount) and len(mount) >= len(best[0]):
            best = (mount, device, kind)
    return best[1:]


def plain_environment() -> dict[str, str]:
    """This process's environment, without what leads programs to other databases."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PG") and name != "PYCORTEX_DATABASE_URL"
    }


def fill(conn: psycopg.Connection[Any], finished: int, active: int, *, kind: str = "bench") -> None:
    """
    Put *finished* jobs of the last hundred days and *active* ones into an empty table.

    One in a hundred is from the last 24 hours, one in twenty failed. The active are half running,
    half queued; the uuid of the nth is n in hexadecimal. Indexes are made afterwards, triggers are
    left out: each finished job has one event instead of three.
    """
    indexes = conn.execute(
        "select indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index"
        " where indrelid = 'cortex.job'::regclass"
        "   and not exists (select from pg_constraint where conindid = indexrelid)"
    ).fetchall()
    with conn.transaction():
        conn.execute("set local session_replication_role = replica")
        conn.execute("set local maintenance_work_mem = '512MB'")
        for name, _ in indexes:
            conn.execute(f"drop index {name}")
        conn.execute("alter table cortex.job drop constraint job_uuid_key")
        conn.execute(
            """
            insert into cortex.job (
                kind, status, message, actor, params, result, attempt,
                created_at, updated_at, run_at, started_at, finished_at
            )
            select
                %(kind)s,
                (case when n %% 20 = 0 then 'failed' else 'succeeded' end)::cortex.job_status,
                'done', 'ada', jsonb_build_object('n', n), 'null', 1, at, at, at, at, at
            from generate_series(1, %(finished)s) as n
            cross join lateral (
                select clock_timestamp() - interval '100 days' * (%(finished)s - n) / %(finished)s
            ) as moment (at)
            """,
            {"kind": kind, "finished": finished},
        )
        conn.execute(
            "insert into cortex.event (job_id, at, from_status, to_status, attempt)"
            " select id, finished_at, 'running', status, 1 from cortex.job"
        )
        make_active(conn, active, kind=kind)
        conn.execute("alter table cortex.job add constraint job_uuid_key unique (uuid)")
        for _, definition in indexes:
            conn.execute(definition)
    conn.execute("vacuum (freeze, analyze) cortex.job, cortex.event")


def make_active(conn: psycopg.Connection[Any], count: int, *, kind: str = "bench") -> None:
    """Insert *count* active jobs, every second one queued, each in a scope of its own."""
    conn.execute(
        """
        insert into cortex.job (
            uuid, kind, status, actor, params, attempt, started_at, debounce_scope
        )
        select
            lpad(to_hex(n), 32, '0')::uuid, %(kind)s,
            (case when n %% 2 = 0 then 'queued' else 'running' end)::cortex.job_status,
            'ada', jsonb_build_object('n', n), n %% 2,
            case when n %% 2 = 1 then clock_timestamp() end,
            jsonb_build_object('n', n)
        from generate_series(1, %(count)s) as n
        """,
        {"kind": kind, "count": count},
    )
