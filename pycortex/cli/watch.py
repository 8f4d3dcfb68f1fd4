"""watch and wait: following jobs to their end."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import click
import psycopg
from psycopg.conninfo import conninfo_to_dict

from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._board import Board
from pycortex.cli._errors import RefusedError
from pycortex.cli._jobs import by_uuid, find
from pycortex.cli._live import Source, follow, screen
from pycortex.cli._output import clean, colours, out, print_json, say
from pycortex.cli._picture import MOST, Picture, Watcher
from pycortex.cli._types import JOB, SECONDS, UuidRange
from pycortex.models import Job, JobStatus

__all__ = ["wait", "watch"]


@click.command(cls=Command, example="pycortex watch --kind corpus_import")
@click.argument("uuids", type=JOB, nargs=-1, metavar="[UUID]...")
@click.option("--kind", help="Follow the active jobs of this kind.")
@click.option(
    "-f/-u",
    "--forever/--until-idle",
    default=None,
    help="Stay when nothing is active, or end then.  [default: stay on a terminal, else end]",
)
@pass_app
def watch(app: App, uuids: tuple[UuidRange, ...], kind: str | None, forever: bool | None) -> None:
    """
    Follow jobs as they move.

    These, until they are over; those of a kind, or all that are active, for as long as you like: q
    or Ctrl-C ends it. Takes the whole terminal; elsewhere, or with NO_COLOR set, writes lines, and
    ends when nothing is active.

    BEAT is the time since a job's last step: yellow from half of the silence that its kind allows,
    red from four fifths. RATE and LEFT come from the last minute, not from the whole run.
    """
    if uuids and kind is not None:
        raise click.UsageError("give uuids or --kind, not both")
    if uuids and forever:
        raise click.UsageError("--forever goes with a kind or with all jobs, not with uuids")
    if forever is None:
        forever = not uuids and colours(sys.stdout)
    with app.database() as conninfo:
        wanted = _find_all(conninfo, uuids)
        title = ["pycortex", _dbname(conninfo), clean(kind or "")]
        shown = screen(sys.stdout, title=" ".join(filter(None, title)))
        watcher = Watcher(wanted, kind=kind, overview=isinstance(shown, Board))
        with Source(conninfo, _fitting(watcher, shown)) as source, shown:
            last = follow(source, shown, over=_never if forever else _all_over)
    if not last and not forever:
        say("no active jobs" if kind is None else f"no active jobs of kind {clean(kind)}")


def _fitting(watcher: Watcher, shown: object) -> Callable[[psycopg.Connection[Any]], Picture]:
    """Read no more jobs than the terminal has lines, which may change."""

    def read(conn: psycopg.Connection[Any]) -> Picture:
        if isinstance(shown, Board):
            watcher.most = min(max(shown.lines, 1), MOST)
        return watcher.read(conn)

    return read


def _dbname(conninfo: str) -> str:
    name = conninfo_to_dict(conninfo).get("dbname") or os.environ.get("PGDATABASE") or ""
    return clean(str(name))


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


class _These:
    """Reads the given jobs; one that was purged meanwhile is over."""

    def __init__(self, uuids: Sequence[UUID]) -> None:
        self._uuids = uuids

    def read(self, conn: psycopg.Connection[Any]) -> Sequence[Job]:
        return by_uuid(conn, self._uuids)


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
