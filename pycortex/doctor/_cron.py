"""pg_cron: there, loaded, in the right database, scheduled, and running."""

from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import make_conninfo

from pycortex import sql
from pycortex.doctor._check import UPKEEP_LATE, Check, Level

__all__ = ["cron"]


def cron(conn: Connection[Any], conninfo: str) -> Iterator[Check]:
    """Judge pg_cron, wherever it lives."""
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
