"""The server, its clock, and what stands between it and us."""

import time
from collections.abc import Iterator
from typing import Any

from psycopg import Connection

from pycortex.doctor._check import Check, Level

__all__ = ["clock", "encoding", "pooler", "server"]

OLDEST_SERVER = 14
SKEW = 5.0
"""Seconds that two clocks may differ before it is worth a word."""


def server(conn: Connection[Any]) -> Check:
    """Judge its version, and whether it takes changes."""
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
    [reads_only] = conn.execute("select current_setting('transaction_read_only')").fetchone() or [
        ""
    ]
    if reads_only == "on":
        return Check(
            "server",
            Level.WARNING,
            f"PostgreSQL {name}, database {conn.info.dbname}, whose sessions only read",
            "see default_transaction_read_only: of the server, the database or this role",
        )
    return Check("server", Level.OK, f"PostgreSQL {name}, database {conn.info.dbname}")


def encoding(conn: Connection[Any]) -> Check:
    """Judge how it stores text."""
    encoding = conn.info.parameter_status("server_encoding") or "unknown"
    if encoding == "UTF8":
        return Check("encoding", Level.OK, encoding)
    return Check(
        "encoding", Level.ERROR, encoding, "create a database with encoding 'UTF8' for jobs"
    )


def clock(conn: Connection[Any]) -> Iterator[Check]:
    """Compare the clock of the database with ours."""
    before = time.time()
    [there] = conn.execute(
        "select extract(epoch from clock_timestamp())::double precision"
    ).fetchone() or [before]
    after = time.time()
    # What the journey took belongs to neither.
    skew = there - after if there > after else there - before if there < before else 0.0
    if abs(skew) <= SKEW:
        yield Check("clock", Level.OK, "agrees with this machine's")
        return
    yield Check(
        "clock",
        Level.WARNING,
        f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's",
        "jobs go by the database's clock, logs by those of their machines: have both set by NTP",
    )


def pooler(conn: Connection[Any]) -> Iterator[Check]:
    """Suspect a pooler where the session isn't the one that was promised at connecting."""
    [pid] = conn.execute("select pg_backend_pid()").fetchone() or [0]
    if pid == conn.info.backend_pid:
        yield Check("connection", Level.OK, "straight to the server")
        return
    yield Check(
        "connection",
        Level.WARNING,
        "through a pooler: session locks and notifications mean nothing here",
        "workers do with it, and notice a dead runner by its beat alone; give them, install and"
        " hard cancels a connection of their own where you can",
    )
