"""Put the upkeep on pg_cron, in whichever database of the server pg_cron lives."""

from typing import Any

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import make_conninfo

from pycortex import sql

__all__ = ["CronNotCreated", "schedule", "take_off", "take_off_work", "unschedule", "zone"]


class CronNotCreated(errors.FeatureNotSupported):
    """The database where pg_cron should live doesn't have the extension."""


def schedule(
    conninfo: str, *, schedule: str | None = None, cron_database: str | None = None
) -> int:
    """
    Let pg_cron call ``cortex.maintain()`` in the database of *conninfo*; idempotent.

    Where pg_cron lives in another database of the server, connect there with the same login, which
    must be allowed to call ``cron.schedule_in_database``.

    Args:
        conninfo: The database whose upkeep it is.
        schedule: A cron line, by default every minute. pg_cron reads it in GMT.
        cron_database: Where pg_cron lives, for a role that may not read ``cron.database_name``.

    Returns:
        The number of the entry in pg_cron.

    Raises:
        psycopg.errors.FeatureNotSupported: There is no pg_cron; the hint says what to do.
        CronNotCreated: It is loaded, but not created in the database where it lives.
    """
    with psycopg.connect(conninfo, autocommit=True) as conn:
        try:
            return sql.schedule_maintenance(conn, schedule=schedule)
        except errors.FeatureNotSupported as error:
            home = cron_database or error.diag.message_detail
            if not home:
                raise
        entry = sql.cron_entry(conn)
        database = conn.info.dbname
    with _home(conninfo, home) as cron, cron.transaction():
        # To schedule an entry again leaves it switched off, where it was.
        cron.execute(
            "select cron.unschedule(j.jobid) from cron.job as j where j.jobname = %s"
            " and j.database = %s and j.username = current_user and not j.active",
            [entry, database],
        )
        [number] = cron.execute(
            "select cron.schedule_in_database(%s, %s, 'select cortex.maintain()', %s)",
            [entry, schedule or "* * * * *", database],
        ).fetchone() or [0]
        return int(number)


def zone(conninfo: str) -> str:
    """Return the time zone in which pg_cron reads cron lines: GMT, or since 1.5 cron.timezone."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        try:
            [name] = conn.execute("select current_setting('cron.timezone', true)").fetchone() or [
                ""
            ]
        except errors.InsufficientPrivilege:
            return "GMT, or as cron.timezone says"
        return name or "GMT"


def unschedule(conninfo: str, *, cron_database: str | None = None) -> bool:
    """
    Take the upkeep of the database of *conninfo* off pg_cron.

    Returns:
        Whether there was an entry.

    Raises:
        psycopg.errors.FeatureNotSupported: There is no pg_cron; the hint says what to do.
    """
    with psycopg.connect(conninfo, autocommit=True) as conn:
        try:
            return sql.unschedule_maintenance(conn)
        except errors.FeatureNotSupported as error:
            home = cron_database or error.diag.message_detail
            if not home:
                raise
        entry = sql.cron_entry(conn)
        database = conn.info.dbname
    with _home(conninfo, home) as cron:
        return take_off(cron, entry=entry, database=database)


def take_off(cron: Connection[Any], *, entry: str, database: str) -> bool:
    """
    Take an entry off pg_cron, in the database where that lives.

    Returns:
        Whether there was one that the role may see.
    """
    gone = cron.execute(
        "select cron.unschedule(j.jobid) from cron.job as j"
        " where j.jobname = %s and j.database = %s",
        [entry, database],
    ).fetchall()
    return bool(gone)


def take_off_work(cron: Connection[Any], *, database: str) -> bool:
    """
    Take off pg_cron what works and spawns jobs in a database: schedule_work's and schedule_job's.

    Returns:
        Whether there was something that the role may see.
    """
    gone = cron.execute(
        "select cron.unschedule(j.jobid) from cron.job as j"
        " where j.database = %s and j.jobname like 'cortex.%%'"
        " and j.command ~ '^(call cortex[.]work|select cortex[.]spawn_(scheduled|job))[(]'",
        [database],
    ).fetchall()
    return bool(gone)


def _home(conninfo: str, database: str) -> Connection[Any]:
    conn = psycopg.connect(make_conninfo(conninfo, dbname=database), autocommit=True)
    if conn.execute("select from pg_extension where extname = 'pg_cron'").rowcount == 0:
        conn.close()
        raise CronNotCreated(
            f"pg_cron is not created in database {database}; "
            "as a superuser there: create extension pg_cron"
        )
    return conn
