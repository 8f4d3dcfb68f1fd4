"""watch and wait: following jobs to their end."""

import sys
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import click
import psycopg
from psycopg import Connection

from pycortex.cli._activity import with_activity
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._errors import RefusedError
from pycortex.cli._jobs import active, by_uuid, find
from pycortex.cli._live import Source, follow, screen
from pycortex.cli._output import clean, out, print_json, say
from pycortex.cli._types import JOB, SECONDS, UuidRange
from pycortex.models import Job, JobStatus

__all__ = ["wait", "watch"]

MOST = 200


@click.command(cls=Command, example="pycortex watch --kind corpus_import")
@click.argument("uuids", type=JOB, nargs=-1, metavar="[UUID]...")
@click.option("--kind", help="Follow the active jobs of this kind.")
@click.option("-f", "--forever", is_flag=True, help="Stay when nothing is active; Ctrl-C ends it.")
@pass_app
def watch(app: App, uuids: tuple[UuidRange, ...], kind: str | None, forever: bool) -> None:
    """
    Follow jobs as they move.

    These, those of a kind, or all that are active. Ends by itself when the jobs are over; Ctrl-C
    ends it earlier. Draws bars on a terminal, and writes lines elsewhere or with NO_COLOR set.
    """
    if uuids and kind is not None:
        raise click.UsageError("give uuids or --kind, not both")
    if uuids and forever:
        raise click.UsageError("--forever goes with a kind or with all jobs, not with uuids")
    with app.database() as conninfo:
        wanted = _find_all(conninfo, uuids)
        reader = _These(wanted) if wanted else _Active(kind)
        with Source(conninfo, _and_activity(reader)) as source, screen(sys.stdout) as shown:
            last = follow(source, shown, over=_never if forever else _all_over)
    if not last and not forever:
        say("no active jobs" if kind is None else f"no active jobs of kind {clean(kind)}")


@click.command(cls=Command, example="pycortex wait 0b5f2c1e-7a34-4b7e-9c55-6f0c1f3f8a10")
@click.argument("uuids", type=JOB, nargs=-1, required=True, metavar="UUID...")
@click.option("--timeout", type=SECONDS, metavar="SECONDS", help="Give up after this long.")
@click.option("--json", "as_json", is_flag=True, help="Print the jobs as JSON.")
@pass_app
def wait(app: App, uuids: tuple[UuidRange, ...], timeout: float | None, as_json: bool) -> None:
    """
    Wait until jobs are over, and say how.

    Exits with 0 when all of them succeeded, else with 1.
    """
    with app.database() as conninfo:
        wanted = _find_all(conninfo, uuids)
        with Source(conninfo, _These(wanted).read) as source, screen(None) as shown:
            try:
                jobs = follow(source, shown, over=_all_over, timeout=timeout)
            except TimeoutError:
                raise RefusedError(f"not over within {timeout:g} s") from None
    if as_json:
        print_json(jobs)
    else:
        for job in jobs:
            out(" ".join(part for part in (str(job.uuid), job.status, clean(job.message)) if part))
    if any(job.status is not JobStatus.SUCCEEDED for job in jobs) or len(jobs) < len(wanted):
        click.get_current_context().exit(1)


def _and_activity(reader: "_These | _Active") -> Callable[[Connection[Any]], Sequence[Job]]:
    return lambda conn: with_activity(conn, reader.read(conn))


class _These:
    """Reads the given jobs; one that was purged meanwhile is over."""

    def __init__(self, uuids: Sequence[UUID]) -> None:
        self._uuids = uuids

    def read(self, conn: psycopg.Connection[Any]) -> Sequence[Job]:
        return by_uuid(conn, self._uuids)


class _Active:
    """Reads the active jobs, and those that were seen active, until they have ended."""

    def __init__(self, kind: str | None) -> None:
        self._kind = kind
        self._seen: dict[UUID, None] = {}

    def read(self, conn: psycopg.Connection[Any]) -> Sequence[Job]:
        for job in active(conn, self._kind, limit=MOST):
            self._seen[job.uuid] = None
        jobs = by_uuid(conn, self._seen)
        # Keep what moves, and the latest of what is over.
        while len(self._seen) > MOST:
            ended = next((job.uuid for job in jobs if job.status.terminal), next(iter(self._seen)))
            del self._seen[ended]
            jobs = [job for job in jobs if job.uuid != ended]
        return jobs


def _find_all(conninfo: str, uuids: Sequence[UuidRange]) -> list[UUID]:
    if not uuids:
        return []
    with psycopg.connect(conninfo, autocommit=True) as conn:
        wanted = list(dict.fromkeys(find(conn, uuid) for uuid in uuids))
        known = {job.uuid for job in by_uuid(conn, wanted)}
    for uuid in wanted:
        if uuid not in known:
            raise RefusedError(f"no such job: {uuid}", "pycortex list shows the newest")
    return wanted


def _all_over(jobs: Sequence[Job]) -> bool:
    return all(job.status.terminal for job in jobs)


def _never(_: Sequence[Job]) -> bool:
    return False
