"""Looks a database over: can jobs live here, and is the truth being kept?"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import make_conninfo

from pycortex import sql
from pycortex._data import data_path
from pycortex.install import pending
from pycortex.models import Waiting

__all__ = ["Check", "Level", "examine"]

OLDEST_SERVER = 14
UPKEEP_LATE = 300
"""Seconds after which upkeep that pg_cron or a runner should do every minute is late."""


NAMED = 10
"""So many kinds that nobody takes are named."""


class Level(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: how it is, and what to do about it."""

    name: str
    level: Level
    message: str
    hint: str = ""


def examine(conninfo: str) -> Iterator[Check]:
    """
    Look over the database of *conninfo*; nothing is changed.

    Raises:
        psycopg.OperationalError: It can't be reached.
    """
    with psycopg.connect(conninfo, autocommit=True) as conn:
        yield _server(conn)
        yield _encoding(conn)
        schema = _schema(conn)
        yield schema
        if schema.level is not Level.ERROR:
            yield from _guarded("pg_cron", _cron, conn, conninfo)
            yield from _guarded("SQL bodies", _sql_bodies, conn, conninfo)
            for name, check in (
                ("schedules", _schedules),
                ("upkeep", _upkeep),
                ("runners", _runners),
                ("kinds", _kinds),
                ("orphans", _orphans),
                ("stale jobs", _stale),
            ):
                yield from _guarded(name, check, conn)


def _guarded(name: str, check: Any, *arguments: Any) -> Iterator[Check]:
    """Run one check; what may not be seen is a warning, and the others go on."""
    try:
        yield from check(*arguments)
    except errors.InsufficientPrivilege as error:
        yield Check(
            name,
            Level.WARNING,
            f"can't tell: {error.diag.message_primary}",
            "look again as a member of cortex_admin, or as the role that installed pycortex",
        )
    except errors.ReadOnlySqlTransaction:
        yield Check(name, Level.WARNING, "can't tell where the database only reads")


def _server(conn: Connection[Any]) -> Check:
    number = conn.info.server_version
    name = conn.info.parameter_status("server_version") or str(number)
    if number < OLDEST_SERVER * 10000:
        return Check("server", Level.ERROR, f"PostgreSQL {name}", "upgrade to 14 or newer")
    [standby] = conn.execute("select pg_is_in_recovery()").fetchone() or [False]
    if standby:
        return Check(
            "server",
            Level.WARNING,
            f"PostgreSQL {name}, a standby: jobs can be read here and nothing else",
            "connect to the primary to change anything",
        )
    return Check("server", Level.OK, f"PostgreSQL {name}, database {conn.info.dbname}")


def _encoding(conn: Connection[Any]) -> Check:
    encoding = conn.info.parameter_status("server_encoding") or "unknown"
    if encoding == "UTF8":
        return Check("encoding", Level.OK, encoding)
    return Check(
        "encoding", Level.ERROR, encoding, "create a database with encoding 'UTF8' for jobs"
    )


def _schema(conn: Connection[Any]) -> Check:
    try:
        [there, corpus] = conn.execute(
            "select to_regclass('cortex.job') is not null, to_regnamespace('corpus') is not null"
        ).fetchone() or [False, False]
    except errors.InsufficientPrivilege:
        return Check(
            "schema",
            Level.ERROR,
            f"schema cortex is closed to role {conn.info.user}",
            "grant it one of the four roles, for example: "
            f'grant cortex_reader to "{conn.info.user}"',
        )
    if not there:
        return Check(
            "schema", Level.ERROR, "pycortex isn't installed here", "run: pycortex install"
        )
    try:
        missing = pending(conn, corpus=corpus)
        [newest] = conn.execute(
            "select max(migration_id) from cortex._yoyo_migration"
        ).fetchone() or [None]
    except errors.InsufficientPrivilege:
        return Check("schema", Level.OK, "installed; its version can't be seen by this role")
    known = sorted(path.stem for path in data_path("migrations").glob("*.sql"))
    if newest not in known:
        return Check(
            "schema",
            Level.ERROR,
            f"at {newest}, newer than this package, which ends at {known[-1]}",
            "upgrade the package: pip install --upgrade pycortex-jobs",
        )
    if missing:
        return Check(
            "schema",
            Level.ERROR,
            f"at {newest}, older than this package: {', '.join(missing)} not applied",
            "run: pycortex install",
        )
    return Check("schema", Level.OK, f"at {newest}, the same as this package")


def _cron(conn: Connection[Any], conninfo: str) -> Iterator[Check]:
    database = conn.info.dbname
    [here] = conn.execute(
        "select exists (select from pg_extension where extname = 'pg_cron')"
    ).fetchone() or [False]
    if here:
        yield from _cron_entry(conn, database, sql.cron_entry(conn))
        return
    [home] = conn.execute("select current_setting('cron.database_name', true)").fetchone() or [None]
    if home is None:
        yield Check(
            "pg_cron",
            Level.WARNING,
            "not loaded by this server: only running workers do the upkeep" + _waiting(conn),
            "install pg_cron and add it to shared_preload_libraries, then: pycortex schedule",
        )
    elif home == database:
        yield Check(
            "pg_cron",
            Level.WARNING,
            "loaded for this database, but not created in it",
            "as a superuser: create extension pg_cron; then: pycortex schedule",
        )
    else:
        entry = sql.cron_entry(conn)
        try:
            with psycopg.connect(make_conninfo(conninfo, dbname=home), autocommit=True) as cron:
                yield from _cron_entry(cron, database, entry)
        except psycopg.OperationalError:
            yield Check(
                "pg_cron",
                Level.WARNING,
                f"lives in database {home}, which can't be looked into",
                "look again as a role that may connect there",
            )


def _cron_entry(cron: Connection[Any], database: str, entry: str) -> Iterator[Check]:
    """Judge the entry of *database* in the pg_cron of *cron*."""
    [version] = cron.execute(
        "select (select extversion from pg_extension where extname = 'pg_cron')"
    ).fetchone() or [None]
    if version is None:
        yield Check(
            "pg_cron",
            Level.WARNING,
            f"not created in its database {cron.info.dbname}",
            "as a superuser there: create extension pg_cron; then: pycortex schedule",
        )
        return
    if not _cron_is_loaded(cron):
        yield Check(
            "pg_cron",
            Level.ERROR,
            f"created (version {version}), but not preloaded, so nothing runs" + _waiting(cron),
            "add pg_cron to shared_preload_libraries and restart the server",
        )
        return
    job = cron.execute(
        "select jobid, schedule, active from cron.job where jobname = %s and database = %s",
        [entry, database],
    ).fetchone()
    if job is None:
        yield Check(
            "pg_cron",
            Level.WARNING,
            f"version {version}, but the upkeep of this database is not scheduled" + _waiting(cron),
            "run: pycortex schedule",
        )
        return
    number, line, active = job
    if not active:
        yield Check(
            "pg_cron", Level.ERROR, f"entry {number} is switched off", "run: pycortex schedule"
        )
        return
    if not _scheduler_runs(cron):
        yield Check(
            "pg_cron",
            Level.ERROR,
            f"version {version}, entry {number}, but its scheduler doesn't run" + _waiting(cron),
            "the server's log says why it ended; a restart of the server starts it again",
        )
        return
    run = cron.execute(
        "select status, return_message, date_trunc('second', clock_timestamp() - start_time)::text,"
        " clock_timestamp() - start_time > make_interval(secs => %s)"
        " from cron.job_run_details where jobid = %s order by runid desc limit 1",
        [UPKEEP_LATE, number],
    ).fetchone()
    words = f"version {version}, upkeep scheduled {line!r} as entry {number}" + _waiting(cron)
    if run is None:
        yield Check("pg_cron", Level.OK, f"{words}, no run yet")
    elif run[0] == "failed":
        yield Check(
            "pg_cron",
            Level.ERROR,
            f"{words}; its last run failed: {' '.join(str(run[1]).split())}",
            "see cron.job_run_details; a password file or cron.host may be missing",
        )
    elif run[3] and (line.strip() == "* * * * *" or line.strip().endswith("seconds")):
        yield Check(
            "pg_cron",
            Level.WARNING,
            f"{words}, but its last run was {run[2]} ago",
            "its scheduler may have stopped, or lack workers: see the server's log and"
            " max_worker_processes",
        )
    else:
        yield Check("pg_cron", Level.OK, f"{words}, last run {run[2]} ago")


def _waiting(conn: Connection[Any]) -> str:
    """Word a change of the preloaded libraries that waits for a restart, as the server says."""
    [waits] = conn.execute(
        "select (select pending_restart from pg_settings where name = 'shared_preload_libraries')"
    ).fetchone() or [None]
    return "; a change of shared_preload_libraries waits for a restart" if waits else ""


def _scheduler_runs(cron: Connection[Any]) -> bool:
    """Whether pg_cron's own process is there; on a standby it waits for the promotion."""
    [runs] = cron.execute(
        "select pg_is_in_recovery() or exists (select from pg_stat_activity"
        " where application_name = 'pg_cron scheduler' or backend_type = 'pg_cron launcher')"
    ).fetchone() or [False]
    return bool(runs)


def _cron_is_loaded(cron: Connection[Any]) -> bool:
    try:
        [home] = cron.execute("select current_setting('cron.database_name', true)").fetchone() or [
            None
        ]
    except errors.InsufficientPrivilege:
        return True  # a setting that may not be read is there
    return home is not None


def _upkeep(conn: Connection[Any]) -> Iterator[Check]:
    last, age = conn.execute(
        "select last_run_at, extract(epoch from clock_timestamp() - last_run_at)::float8"
        " from cortex.upkeep_record"
    ).fetchone() or (None, None)
    if last is None or age is None:
        yield Check(
            "upkeep",
            Level.WARNING,
            "never ran",
            "start a worker, or let pg_cron do it: pycortex schedule",
        )
    elif age > UPKEEP_LATE:
        yield Check(
            "upkeep",
            Level.WARNING,
            f"last ran {age / 60:.0f} minutes ago",
            "start a worker, or let pg_cron do it: pycortex schedule",
        )
    else:
        yield Check("upkeep", Level.OK, f"last ran {max(age, 0):.0f} s ago")


def _runners(conn: Connection[Any]) -> Iterator[Check]:
    alive = sum(runner.alive for runner in sql.list_runners(conn))
    [waiting] = conn.execute(
        "select count(*) from cortex.jobs"
        " where status = 'queued' and runner is null and run_at <= clock_timestamp()"
    ).fetchone() or [0]
    words = f"{alive} alive, {waiting} jobs ready and waiting"
    if waiting and not alive:
        yield Check("runners", Level.WARNING, words, "start one: pycortex worker")
    else:
        yield Check("runners", Level.OK, words)


def _kinds(conn: Connection[Any]) -> Iterator[Check]:
    bodies = {body.kind for body in sql.list_sql_kinds(conn)}
    nobodys = [
        entry
        for entry in sql.list_waiting(conn)
        if not entry.workers and entry.kind not in bodies  # of those tells _sql_bodies
    ]
    if nobodys:
        yield Check(
            "kinds",
            Level.WARNING,
            f"jobs wait of kinds that no live worker takes: {_named(nobodys)}",
            "start a worker whose --app registers them, or cancel the jobs; see cortex.waiting",
        )
    else:
        yield Check("kinds", Level.OK, "no job waits whose kind nobody takes")


def _named(waiting: list[Waiting]) -> str:
    named = ", ".join(f"{entry.kind!r} ({entry.ready})" for entry in waiting[:NAMED])
    return named + (f" and {len(waiting) - NAMED} more" if len(waiting) > NAMED else "")


def _sql_bodies(conn: Connection[Any], conninfo: str) -> Iterator[Check]:
    """Judge whether the jobs that wait for their body in SQL will be run."""
    bodies = {body.kind: body for body in sql.list_sql_kinds(conn)}
    waiting = [
        entry for entry in sql.list_waiting(conn) if not entry.workers and entry.kind in bodies
    ]
    if not waiting:
        return
    roles = _roles_that_work(conn, conninfo)
    unworked, late = [], []
    now = sql.db_now(conn)
    for entry in waiting:
        run_as = bodies[entry.kind].run_as
        if not roles or (run_as is not None and run_as not in roles):
            unworked.append(entry)
        elif (now - entry.oldest_run_at).total_seconds() > UPKEEP_LATE:
            late.append(entry)
    if unworked:
        wanted = sorted({bodies[entry.kind].run_as or "" for entry in unworked} - {""})
        whom = f", as role {' and as role '.join(wanted)}" if wanted else ""
        yield Check(
            "SQL bodies",
            Level.WARNING,
            f"jobs wait for their body in SQL, and nobody works them: {_named(unworked)}",
            f"let pg_cron do it: select cortex.schedule_work(){whom}; or once: call"
            " cortex.work(100)",
        )
    if late:
        yield Check(
            "SQL bodies",
            Level.WARNING,
            f"pg_cron works them, but jobs have waited for over {UPKEEP_LATE // 60} minutes for"
            f" their body in SQL: {_named(late)}",
            "one may run for long, a limit of its kind be reached, or the schedule be wide: see"
            " cortex.list_recent(true) and cron.job_run_details",
        )
    if not unworked and not late:
        yield Check("SQL bodies", Level.OK, f"pg_cron will take what waits: {_named(waiting)}")


def _roles_that_work(conn: Connection[Any], conninfo: str) -> set[str]:
    """Return the roles as which pg_cron calls cortex.work in this database, as far as one sees."""
    [entry, here, home] = conn.execute(
        "select cortex.cron_name('work'),"
        " exists (select from pg_extension where extname = 'pg_cron'),"
        " current_setting('cron.database_name', true)"
    ).fetchone() or ["", False, None]
    database = conn.info.dbname
    if here:
        return _entries(conn, entry, database)
    if home in (None, database):
        return set()
    try:
        with psycopg.connect(make_conninfo(conninfo, dbname=home), autocommit=True) as cron:
            return _entries(cron, entry, database)
    except psycopg.Error:
        return set()


def _entries(cron: Connection[Any], entry: str, database: str) -> set[str]:
    return {
        role
        for (role,) in cron.execute(
            "select username from cron.job where jobname = %s and database = %s and active",
            [entry, database],
        )
    }


def _schedules(conn: Connection[Any]) -> Iterator[Check]:
    schedules = sql.list_schedules(conn)
    lost = [schedule.name for schedule in schedules if not schedule.active]
    if lost:
        named = ", ".join(repr(name) for name in lost[:NAMED])
        more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
        yield Check(
            "schedules",
            Level.WARNING,
            f"pg_cron has no active entry for {len(lost)} of {len(schedules)}: {named}{more}",
            "the database may have been restored: call cortex.schedule_job for each again",
        )
    elif schedules:
        yield Check("schedules", Level.OK, f"{len(schedules)}, all on pg_cron")


def _orphans(conn: Connection[Any]) -> Iterator[Check]:
    [orphans] = conn.execute(
        "select count(*) from cortex.jobs as j join cortex.runners as r on r.uuid = j.runner"
        " where j.status in ('queued', 'running') and not r.alive"
    ).fetchone() or [0]
    if orphans:
        yield Check(
            "orphans",
            Level.WARNING,
            f"{orphans} active jobs of runners that are gone",
            "upkeep ends them; by hand: pycortex interrupt-orphans --runner UUID",
        )
    else:
        yield Check("orphans", Level.OK, "no active jobs of runners that are gone")


def _stale(conn: Connection[Any]) -> Iterator[Check]:
    # The reaper itself says what is stale; its work is rolled back.
    with conn.transaction(force_rollback=True):
        stale = sql.reap_stale(conn)
    if stale:
        yield Check(
            "stale jobs",
            Level.WARNING,
            f"{stale} running jobs have been silent for too long",
            "upkeep ends them; by hand: pycortex reap",
        )
    else:
        yield Check("stale jobs", Level.OK, "no running job has been silent for too long")
