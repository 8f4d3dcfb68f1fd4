"""Put the schema into a database: in one transaction, from Python or as a script for psql."""

import getpass
import hashlib
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import psycopg
from psycopg import Connection, Transaction, errors
from yoyo import read_migrations
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.migrations import MigrationList

from pycortex._data import data_path
from pycortex._objects import Declared, declared
from pycortex._version import OlderSchema, check_version

__all__ = [
    "InstallationBusy",
    "Installed",
    "NewerSchema",
    "OlderSchema",
    "applied",
    "check_version",
    "declared_objects",
    "exclusively",
    "has_corpus",
    "install",
    "pending",
    "refuse_newer",
    "script",
]

# Keys of the advisory lock that one installation holds: cortex.lock_space(), and -1 for installing.
LOCK_SPACE = 1668248180
LOCK_KEY = -1
LOCK_TIMEOUT = "30s"

# While installations come and go the wait begins anew; one that stands still ends it.
TAKE_TURN = f"""\
do $turn$
declare
    v_holder constant text := $holder$
        select l.pid
        from pg_catalog.pg_locks as l
        where l.locktype = 'advisory'
            and l.database = (
                select d.oid
                from pg_catalog.pg_database as d
                where d.datname = pg_catalog.current_database()
            )
            and l.classid = {LOCK_SPACE}
            and l.objid = {LOCK_KEY & 0xFFFFFFFF}
            and l.objsubid = 2
            and l.granted
        $holder$;
    v_before integer;
    v_now integer;
begin
    loop
        execute v_holder into v_before;
        begin
            perform pg_catalog.pg_advisory_xact_lock({LOCK_SPACE}, {LOCK_KEY});
            return;
        exception
            when lock_not_available then
                execute v_holder into v_now;
                if v_now = v_before then
                    raise;
                end if;
        end;
    end loop;
end;
$turn$"""  # noqa: S608 - our own numbers

SETTINGS = (
    # Whoever waited for another installation must see what it did.
    "set transaction isolation level read committed",
    "set local client_encoding = 'UTF8'",  # as our files are, whatever the session speaks
    "set local search_path = ''",
    "set local check_function_bodies = off",
    "set local client_min_messages = warning",
    f"set local lock_timeout = '{LOCK_TIMEOUT}'",
    TAKE_TURN,
)


class InstallationBusy(errors.LockNotAvailable):
    """Another session has kept the lock of installations, or a table, for too long."""


class NewerSchema(errors.FeatureNotSupported):
    """The database holds migrations that this version of the package does not know."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What an installation did: the migrations it applied, and how many files it loaded."""

    applied: tuple[str, ...]
    loaded: int


def install(target: str | Connection[Any], *, corpus: bool = True) -> Installed:
    """
    Bring the schema in *target* up to date; all of it or nothing.

    Safe to repeat and safe in several processes at once: they take turns, and nobody waits longer
    than 30 seconds for the same one. Routines and views are replaced every time, migrations run
    once.

    Args:
        target: A conninfo string, or an idle connection in autocommit mode.
        corpus: Whether to install schema ``corpus``, which the built-in report jobs work on.

    Raises:
        InstallationBusy: Another installation, or a lock on our tables, did not end in time.
        NewerSchema: A newer version of the package installed this schema.
        psycopg.errors.DuplicateFunction: There is a routine in our schemas that is not ours.
        psycopg.Error: Whatever the database refuses; it is as it was before.
    """
    if isinstance(target, str):
        with psycopg.connect(target, autocommit=True) as conn:
            return install(conn, corpus=corpus)
    with exclusively(target):
        return _install(target, corpus=corpus)


@contextmanager
def exclusively(conn: Connection[Any]) -> Iterator[Transaction]:
    """
    Hold a transaction in which nobody else installs or uninstalls.

    Raises:
        InstallationBusy: Another one, or a lock on our tables, did not end in time.
    """
    try:
        with conn.transaction() as transaction:
            for statement in SETTINGS:
                _run(conn, statement)
            yield transaction
    except errors.LockNotAvailable as error:
        raise InstallationBusy(_blocked(conn)) from error


def applied(conn: Connection[Any]) -> set[str] | None:
    """Return the names of the migrations that were applied; None where nothing is installed."""
    row = conn.execute("select to_regclass('cortex._yoyo_migration') is not null").fetchone()
    if not (row and row[0]):
        return None
    return {name for (name,) in conn.execute("select migration_id from cortex._yoyo_migration")}


def has_corpus(applied: Iterable[str]) -> bool:
    """Whether schema corpus is among what was *applied*."""
    return any("corpus" in name for name in applied)


def refuse_newer(applied: Iterable[str]) -> None:
    """
    See that this version of the package knows all that was *applied*.

    Raises:
        NewerSchema: It doesn't.
    """
    known = {path.stem for path in _migrations(corpus=True)}
    if strange := sorted(set(applied) - known):
        raise NewerSchema(
            f"the schema has migration {strange[-1]}, which this version of pycortex-jobs does not "
            f"know (its newest is {max(known)}); upgrade the package"
        )


def declared_objects(*, corpus: bool = True) -> Declared:
    """Read from our files what they create."""
    return declared(
        [
            data_path("sql") / "bootstrap.sql",
            *_migrations(corpus=corpus),
            *_replaceable(corpus=corpus),
        ]
    )


def pending(conn: Connection[Any], *, corpus: bool = True) -> list[str]:
    """Return the names of the migrations that *conn*'s database has not seen."""
    seen = applied(conn) or set()
    return [path.stem for path in _migrations(corpus=corpus) if path.stem not in seen]


def script(*, corpus: bool = True) -> str:
    """
    Return the whole installation as a script for psql; running it again changes nothing.

    It gives the same database as :func:`install`, also where Python can't run.
    """
    parts = [
        "-- pycortex: the whole installation, for psql. Safe to repeat.",
        "\\set ON_ERROR_STOP on",
        "begin;",
        *(f"{statement};" for statement in SETTINGS),
        _read(data_path("sql") / "bootstrap.sql"),
    ]
    for path in _migrations(corpus=corpus):
        digest = hashlib.sha256(path.stem.encode()).hexdigest()
        parts += [
            "select not exists (",
            f"    select from cortex._yoyo_migration where migration_hash = '{digest}'",
            ") as pending \\gset",
            "\\if :pending",
            _read(path),
            "insert into cortex._yoyo_migration (migration_hash, migration_id, applied_at_utc)",
            f"values ('{digest}', '{path.stem}', clock_timestamp());",
            "insert into cortex._yoyo_log",
            "    (id, migration_hash, migration_id, operation, username, comment, created_at_utc)",
            f"values (gen_random_uuid(), '{digest}', '{path.stem}', 'apply', session_user,",
            "    'psql', clock_timestamp());",
            "\\endif",
        ]
    parts += [_read(path) for path in _replaceable(corpus=corpus)]
    return "\n".join([*parts, _no_leftovers(corpus=corpus), "commit;", ""])


def _install(conn: Connection[Any], *, corpus: bool) -> Installed:
    _run(conn, _read(data_path("sql") / "bootstrap.sql"))
    refuse_newer(applied(conn) or ())

    backend = _Backend(conn)
    migrations = MigrationList(
        migration
        for migration in read_migrations(str(data_path("migrations")))
        if corpus or "corpus" not in migration.id
    )
    due = backend.to_apply(migrations)
    backend.apply_migrations_only(due)

    files = _replaceable(corpus=corpus)
    for path in files:
        _run(conn, _read(path))
    _run(conn, _no_leftovers(corpus=corpus))
    return Installed(applied=tuple(migration.id for migration in due), loaded=len(files))


def _replaceable(*, corpus: bool) -> list[Path]:
    """The files of sql/ in loading order: helpers, views that use them, what returns their rows."""
    sql = data_path("sql")
    folders = ["internal", "views", "functions", *(["corpus"] if corpus else [])]
    files = [path for folder in folders for path in sorted((sql / folder).rglob("*.sql"))]
    return [*files, sql / "grants.sql"]


def _no_leftovers(*, corpus: bool) -> str:
    """
    A statement that raises if there is a routine that no file has, of an older version say.

    Whoever changes a signature or deletes a file drops the old routine in a migration, with "if
    exists": in a fresh database migrations run before there are routines.
    """
    wanted = ",\n        ".join(f"'{name}'" for name in declared_objects(corpus=corpus).routines)
    schemas = "'cortex', 'corpus'" if corpus else "'cortex'"
    return f"""\
do $leftovers$
declare
    v_leftover text;
begin
    select p.oid::regprocedure::text into v_leftover
    from pg_catalog.pg_proc as p
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    where n.nspname in ({schemas})
        and p.oid <> all (array[
        {wanted}
        ]::regprocedure[]::oid[])
    order by 1
    limit 1;

    if found then
        raise exception 'routine % is not of this version of pycortex', v_leftover
            using errcode = '42723',
            hint = format(
                'If it is yours, move it to another schema; if an older pycortex left it: '
                || 'drop routine %s;', v_leftover
            );
    end if;
end;
$leftovers$;"""  # noqa: S608 - names from our own files


def _migrations(*, corpus: bool) -> list[Path]:
    paths = sorted(data_path("migrations").glob("*.sql"))
    return [path for path in paths if corpus or "corpus" not in path.stem]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _run(conn: Connection[Any], statements: str) -> None:
    """Run SQL that is ours and may be several statements; without parameters, so that % means %."""
    conn.execute(cast("Any", statements))


def _blocked(conn: Connection[Any]) -> str:
    """Name who holds the lock of installations, or something in our schemas."""
    holders = (
        "select distinct format('pid %%s (%%s)', a.pid,"
        " concat_ws(', ', a.usename, nullif(a.application_name, ''), a.state))"
        " from pg_catalog.pg_locks as l join pg_catalog.pg_stat_activity as a on a.pid = l.pid"
        " where l.granted and a.pid <> pg_catalog.pg_backend_pid()"
        " and l.database = (select d.oid from pg_catalog.pg_database as d"
        " where d.datname = pg_catalog.current_database()) and "
    )
    installing = conn.execute(
        holders + "l.locktype = 'advisory' and l.objsubid = 2 and l.classid = %s and l.objid = %s",
        [LOCK_SPACE, LOCK_KEY & 0xFFFFFFFF],  # as an oid, which has no sign
    ).fetchall()
    if installing:
        return f"another installation is at work: {', '.join(name for (name,) in installing)}"
    using = conn.execute(
        holders + "l.locktype = 'relation' and exists (select from pg_catalog.pg_class as c"
        " where c.oid = l.relation"
        " and c.relnamespace::regnamespace::text in ('cortex', 'corpus')) limit 5",
        [],
    ).fetchall()
    names = ", ".join(name for (name,) in using)
    return (
        f"a table of schema cortex stayed locked for {LOCK_TIMEOUT}"
        f"{f' by {names}' if names else ''}; try again when it is quiet"
    )


class _Backend(PostgresqlPsycopgBackend):
    """
    yoyo on a connection and inside a transaction that are ours.

    The advisory lock and the transaction make its own lock row, its second connection and its
    half-marked migrations impossible; its tables stand in schema cortex whatever the search_path
    is.
    """

    tables = frozenset({"_yoyo_migration", "_yoyo_log", "_yoyo_version", "yoyo_lock"})

    def __init__(self, conn: Connection[Any]) -> None:
        self._ours = conn
        super().__init__("", "_yoyo_migration")
        self.has_transactional_ddl = True
        self._in_transaction = True
        self._is_locked = True
        self._internal_schema_updated = True  # bootstrap.sql created it

    def connect(self, dburi: object) -> Connection[Any]:  # noqa: ARG002
        return self._ours

    @contextmanager
    def copy(self) -> Iterator["_Backend"]:
        yield self

    def quote_identifier(self, s: str) -> str:
        quoted = str(super().quote_identifier(s))
        return f'"cortex".{quoted}' if s in self.tables else quoted

    def execute(self, sql: str, params: Mapping[str, Any] | None = None) -> object:
        if not params:
            return self.connection.execute(cast("Any", sql))
        return super().execute(sql, params)

    def get_log_data(self, migration: Any = None, operation: str = "apply") -> dict[str, object]:
        # yoyo would ask the name service who we are, which may take its time.
        return {
            "id": str(uuid4()),
            "migration_id": migration.id,
            "migration_hash": migration.hash,
            "username": _user(),
            "hostname": socket.gethostname(),
            "created_at_utc": datetime.now(UTC),
            "operation": operation,
        }


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""  # a container without a name for its user
