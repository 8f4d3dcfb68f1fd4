"""The jobs: is the truth about them being kept, and does somebody run them?"""

from collections.abc import Iterator
from typing import Any

from psycopg import Connection

from pycortex import sql
from pycortex.doctor._bodies import named
from pycortex.doctor._check import UPKEEP_LATE, Check, Level

__all__ = ["kinds", "orphans", "runners", "stale", "upkeep"]


def upkeep(conn: Connection[Any]) -> Iterator[Check]:
    """Judge when the upkeep last ran."""
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


def runners(conn: Connection[Any]) -> Iterator[Check]:
    """Judge whether somebody runs what waits."""
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


def kinds(conn: Connection[Any]) -> Iterator[Check]:
    """Judge whether every kind that waits has somebody who takes it."""
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
            f"jobs wait of kinds that no live worker takes: {named(nobodys)}",
            "start a worker whose --app registers them, or cancel the jobs; see cortex.waiting",
        )
    else:
        yield Check("kinds", Level.OK, "no job waits whose kind nobody takes")


def orphans(conn: Connection[Any]) -> Iterator[Check]:
    """Count the jobs of runners that are gone."""
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


def stale(conn: Connection[Any]) -> Iterator[Check]:
    """Count the jobs that have been silent for too long."""
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
