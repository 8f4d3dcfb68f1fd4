"""events: what happened to jobs, and what happens."""

import time
from collections.abc import Callable
from uuid import UUID

import click
import psycopg

from pycortex._call import listen
from pycortex._version import check_version
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._events import Follower, recent
from pycortex.cli._jobs import find
from pycortex.cli._output import clean, out, paint, print_json, print_json_line, say
from pycortex.cli._time import moment_of
from pycortex.cli._types import JOB, KIND, UuidRange
from pycortex.models import JobEvent

__all__ = ["events"]

POLL = 1.0
"""Seconds between two looks where no notification comes."""


@click.command(cls=Command, example="pycortex events --since '1 hour'")
@click.argument("uuid", type=JOB, required=False, metavar="[UUID]")
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens, until Ctrl-C.")
@click.option("--kind", type=KIND, help="Only of jobs of this kind.")
@click.option(
    "--since",
    metavar="TIME",
    help="From then on: '2 hours' ago, or a time in ISO 8601 with an offset.",
)
@click.option(
    "--limit",
    type=click.IntRange(0, 2**31 - 1),
    help="At most so many of the past.  [default: 50; with --since all]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with -f an object per line.")
@pass_app
def events(
    app: App,
    uuid: UuidRange | None,
    follow: bool,
    kind: str | None,
    since: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """
    Show what happened to jobs, or follow it.

    Every change of state of one job, of those of a kind, or of all, oldest first: when, which job,
    its new status, why, and who asked.

    With -f it goes on with what happens, hears of it by notification or at the latest a second
    later, and waits for the database when that goes away. It shows each event once and leaves none
    out, also where a long transaction commits late what happened long before.

    With --json one array of objects, the columns of the view cortex.job_events; with -f one object
    per line.
    """
    if limit is None:
        limit = 50 if since is None else 2**31 - 1
    follower = Follower()
    with app.database() as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            check_version(conn)
            job = None if uuid is None else find(conn, uuid)
            if follow:
                follower.start(conn)
            past = recent(
                conn, job=job, kind=kind, since=moment_of(conn, since, "--since"), limit=limit
            )
        show = print_json_line if as_json else _print
        if not follow:
            if as_json:
                print_json(past)
                return
            for event in past:
                show(event)
            if not past:
                say("no such events")
            return
        shown = _Once(show, job, kind)
        for event in past:
            shown(event)
        _go_on(conninfo, follower, shown)


class _Once:
    """Shows the events that are wanted; of those around the beginning, none twice."""

    def __init__(
        self, show: Callable[[JobEvent], None], job: UUID | None, kind: str | None
    ) -> None:
        self._show, self._job, self._kind = show, job, kind
        self._seen: set[int | None] | None = set()

    def __call__(self, event: JobEvent) -> None:
        if self._job is not None and event.job != self._job:
            return
        if self._kind is not None and event.kind != self._kind:
            return
        if self._seen is not None:
            if event.id in self._seen:
                return
            self._seen.add(event.id)
        self._show(event)

    def settled(self) -> None:
        """From now on the follower itself repeats nothing."""
        self._seen = None


def _go_on(conninfo: str, follower: Follower, shown: _Once) -> None:
    away = False
    while True:
        try:
            with psycopg.connect(conninfo, autocommit=True) as conn:
                if away:
                    say("the database is back")
                    away = False
                _listen(conn)
                while True:
                    for event in follower.read(conn):
                        shown(event)
                    shown.settled()
                    # One notification is enough to look; many come at once.
                    for _ in conn.notifies(timeout=POLL, stop_after=1):
                        pass
        except psycopg.OperationalError:
            if not away:
                say("the database is out of reach; waiting for it")
            away = True
            time.sleep(POLL)


def _listen(conn: psycopg.Connection[object]) -> None:
    try:
        listen(conn, "cortex_jobs")
    except psycopg.errors.Error as error:
        if error.sqlstate is None or error.sqlstate.startswith(("57P", "08")):
            raise
        # A standby takes no listeners; looking every second does too.


def _print(event: JobEvent) -> None:
    when = event.at.isoformat(sep=" ", timespec="seconds")
    line = f"{when}  {str(event.job)[:8]}  {clean(event.kind or '')}  "
    line += paint(event.to_status, event.to_status)
    line += f" (attempt {event.attempt})" if event.attempt > 1 else ""
    line += f"  {clean(event.message)}" if event.message else ""
    line += f"  (by {clean(event.actor)})" if event.actor else ""
    out(line)
