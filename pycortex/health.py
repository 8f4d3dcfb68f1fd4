"""Whether a worker of this host lives: what a health probe asks the database."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Connection, Cursor
from psycopg.rows import tuple_row

__all__ = ["LIMIT", "Health", "Heartbeat", "probe"]

LIMIT = 5.0
"""Seconds that a probe waits for the database, however the network behaves."""

MOST = 20

HEARTBEATS = b"""
select
    r.uuid,
    r.pid,
    r.kinds,
    r.alive,
    r.retired_at is not null,
    extract(epoch from cortex.db_now() - coalesce(r.retired_at, r.seen_at))::float8,
    extract(epoch from c.runner_grace)::float8
from cortex.runners as r
cross join cortex.configuration as c
where r.host = %s and r.name = %s
order by r.alive desc, r.registered_at desc
limit %s
"""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A live runner, and how long ago it was heard of."""

    uuid: UUID
    pid: int
    seconds_since_beat: float
    kinds: list[str] | None


@dataclass(frozen=True, slots=True)
class Health:
    """What a probe found: whether all is well, in words too, and the runners that live."""

    healthy: bool
    reason: str
    host: str
    name: str
    runners: list[Heartbeat]


def probe(conninfo: str, name: str, *, host: str | None = None, limit: float = LIMIT) -> Health:
    """
    Ask the database whether a runner of this host and name lives and keeps its beat.

    It keeps its beat if it was heard of within the grace of runners. A process that holds its lease
    and says nothing, since it was stopped or hangs, does not.

    Args:
        conninfo: A URL or key=value string.
        name: As the runner was given it.
        host: As the runner saw it; by default this host's name, which in a container is its own.
        limit: Seconds to wait for the database in all.

    Raises:
        psycopg.OperationalError: The database can't be reached, or doesn't answer in time.
    """
    host = socket.gethostname() if host is None else host
    answer: list[Health | BaseException] = []

    def ask() -> None:
        try:
            with psycopg.connect(conninfo, autocommit=True, prepare_threshold=None) as conn:
                answer.append(_judge(conn, host, name))
        except BaseException as error:  # noqa: BLE001 - raised below
            answer.append(error)

    # In a thread that may be left behind: no wait, for a name server or the network, is bounded
    # as surely.
    asking = threading.Thread(target=ask, name="pycortex-probe", daemon=True)
    asking.start()
    asking.join(limit)
    if not answer:
        raise psycopg.OperationalError(f"no answer within {limit:g} s")
    if isinstance(answer[0], BaseException):
        raise answer[0]
    return answer[0]


def _judge(conn: Connection[Any], host: str, name: str) -> Health:
    cursor = Cursor(conn, row_factory=tuple_row)
    rows = cursor.execute(HEARTBEATS, [host, name, MOST]).fetchall()
    beating = [
        Heartbeat(uuid, pid, max(age, 0.0), kinds)
        for uuid, pid, kinds, alive, _, age, grace in rows
        if alive and age <= grace
    ]
    if beating:
        reason = f"alive: {_words(host, name, beating[0].pid)}"
        return Health(True, _beat(reason, beating[0]), host, name, beating)
    if not rows:
        return Health(False, f"no runner {name} on {host} was ever registered", host, name, [])
    _, pid, _, _, retired, age, grace = rows[0]
    last = f"was last heard of {age:.0f} s ago, its grace is {grace:g} s"
    if retired:
        last = f"said goodbye {max(age, 0):.0f} s ago"
    return Health(False, f"{_words(host, name, pid)} {last}", host, name, [])


def _words(host: str, name: str, pid: int) -> str:
    return f"runner {name} (pid {pid} on {host})"


def _beat(reason: str, beat: Heartbeat) -> str:
    takes = f"; takes {', '.join(beat.kinds)}" if beat.kinds else ""
    return f"{reason}, last beat {beat.seconds_since_beat:.0f} s ago{takes}"
