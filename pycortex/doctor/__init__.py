"""Looks a database over: can jobs live here, and is the truth being kept?"""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg import errors

from pycortex.doctor import _bodies, _cron, _jobs, _schema, _server
from pycortex.doctor._check import Check, Level

__all__ = ["Check", "Level", "examine"]


def examine(conninfo: str) -> Iterator[Check]:
    """
    Look over the database of *conninfo*; nothing is changed.

    Raises:
        psycopg.OperationalError: It can't be reached.
    """
    with psycopg.connect(conninfo, autocommit=True) as conn:
        yield _server.server(conn)
        yield _server.encoding(conn)
        yield from _guarded("clock", _server.clock, conn)
        yield from _guarded("connection", _server.pooler, conn)
        schema = _schema.schema(conn)
        yield schema
        if schema.level is Level.ERROR:
            return
        for name, check in (
            ("roles", _schema.roles),
            ("indexes", _schema.indexes),
            ("triggers", _schema.strangers),
        ):
            yield from _guarded(name, check, conn)
        yield from _guarded("pg_cron", _cron.cron, conn, conninfo)
        yield from _guarded("SQL bodies", _bodies.sql_bodies, conn, conninfo)
        for name, check in (
            ("schedules", _bodies.schedules),
            ("upkeep", _jobs.upkeep),
            ("runners", _jobs.runners),
            ("kinds", _jobs.kinds),
            ("orphans", _jobs.orphans),
            ("stale jobs", _jobs.stale),
        ):
            yield from _guarded(name, check, conn)


def _guarded(name: str, check: Callable[..., Iterator[Check]], *arguments: Any) -> Iterator[Check]:
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
