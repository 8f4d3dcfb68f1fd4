"""Bodies in SQL and recurring jobs: is anybody there who runs them?"""

from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.conninfo import make_conninfo

from pycortex import sql
from pycortex.doctor._check import UPKEEP_LATE, Check, Level, listed
from pycortex.models import Waiting

__all__ = ["named", "schedules", "sql_bodies"]


def sql_bodies(conn: Connection[Any], conninfo: str) -> Iterator[Check]:
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
            f"jobs wait for their body in SQL, and nobody works them: {named(unworked)}",
            f"let pg_cron do it: select cortex.schedule_work(){whom}; or once: call"
            " cortex.work(100)",
        )
    if late:
        yield Check(
            "SQL bodies",
            Level.WARNING,
            f"pg_cron works them, but jobs have waited for over {UPKEEP_LATE // 60} minutes for"
            f" their body in SQL: {named(late)}",
            "one may run for long, a limit of its kind be reached, or the schedule be wide: see"
            " cortex.list_recent(true) and cron.job_run_details",
        )
    if not unworked and not late:
        yield Check("SQL bodies", Level.OK, f"pg_cron will take what waits: {named(waiting)}")


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


def schedules(conn: Connection[Any]) -> Iterator[Check]:
    """Judge whether the jobs that come back will."""
    found = sql.list_schedules(conn)
    lost = [schedule.name for schedule in found if not schedule.active]
    if lost:
        yield Check(
            "schedules",
            Level.WARNING,
            f"pg_cron has no active entry for {len(lost)} of {len(found)}:"
            f" {listed([repr(name) for name in lost])}",
            "the database may have been restored: call cortex.schedule_job for each again",
        )
    elif found:
        yield Check("schedules", Level.OK, f"{len(found)}, all on pg_cron")


def named(waiting: list[Waiting]) -> str:
    """Name the kinds that wait, and how many jobs of each."""
    return listed([f"{entry.kind!r} ({entry.ready})" for entry in waiting])
