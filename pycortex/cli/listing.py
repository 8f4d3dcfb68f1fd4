"""list: the jobs that match, newest first, a page at a time."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import click
from psycopg import Connection

from pycortex import sql
from pycortex.cli._activity import with_activity
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._jobs import JOB_COLUMNS, job_row
from pycortex.cli._output import out, plain, print_json, say, width
from pycortex.cli._table import print_table
from pycortex.cli._time import moment_of
from pycortex.cli._types import CURSOR, JSON_OBJECT, KIND
from pycortex.models import Job, JobStatus

__all__ = ["list_"]

SHORT_BELOW = 120
"""Terminals narrower than this get the first digits of a uuid, which every command takes."""
PAGE = 1000
"""Jobs that --all reads at a time."""
ACTIVE = (JobStatus.QUEUED, JobStatus.RUNNING)


@click.command("list", cls=Command, example="pycortex list --kind corpus_import --status failed")
@click.option("--active", is_flag=True, help="Only jobs that are not over: queued and running.")
@click.option("--kind", "kinds", type=KIND, multiple=True, help="Of this kind; may be repeated.")
@click.option(
    "--status",
    "statuses",
    type=click.Choice([status.value for status in JobStatus]),
    multiple=True,
    help="In this status; may be repeated.",
)
@click.option("--actor", help="Asked for by exactly this actor.")
@click.option("--scope", type=JSON_OBJECT, metavar="JSON", help="With this debounce scope, whole.")
@click.option(
    "--since",
    metavar="TIME",
    help="Created since then: '2 hours' ago, or a time in ISO 8601 with an offset.",
)
@click.option(
    "--limit",
    type=click.IntRange(0, 2**31 - 1),
    default=50,
    show_default=True,
    help="At most so many jobs.",
)
@click.option("--after", type=CURSOR, metavar="CURSOR", help="Go on behind this job.")
@click.option("--all", "everything", is_flag=True, help="All that match, however many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def list_(
    app: App,
    active: bool,
    kinds: tuple[str, ...],
    statuses: tuple[str, ...],
    actor: str | None,
    scope: dict[str, Any] | None,
    since: str | None,
    limit: int,
    after: tuple[datetime, UUID] | None,
    everything: bool,
    as_json: bool,
) -> None:
    """
    List the newest jobs, newest first.

    Filters go together: a job is shown when it passes all of them, and one that is repeated when
    any of its values fits. Whatever only looks alive is closed first, so that the list is true.

    Kinds, statuses and times are found at once among millions of jobs. An actor or a scope alone
    is looked for from the newest job on; a kind or --since beside it makes that short.

    Where there may be more than --limit shows, the next page's --after is said on standard error.
    A cursor is the created_at and the uuid of the last job, as --json prints them, with a slash
    between. Pages neither repeat nor skip a job, whatever is spawned or purged meanwhile.

    With --json one array of objects, the columns of the view cortex.jobs; with --all too, written
    while it is read.
    """
    if active and statuses:
        raise click.UsageError("give --active or --status, not both")
    wanted: dict[str, Any] = {
        "kinds": list(kinds) or None,
        "statuses": list(ACTIVE) if active else list(statuses) or None,
        "actor": actor,
        "scope": scope,
    }
    with app.connect() as conn:
        wanted["since"] = moment_of(conn, since, "--since")
        pages = _pages(conn, wanted, after, None if everything else limit)
        if as_json and everything:
            _print_array(pages)
            return
        seen = 0
        for page in pages:
            if as_json:
                print_json(page)
            elif page:
                _print_page(conn, page, heading=seen == 0)
            seen += len(page)
    if not seen and not as_json:
        say(_nothing(active, wanted))
    if not everything and 0 < limit == seen:
        last = page[-1]
        say(f"there may be more: --after {last.created_at.isoformat()}/{last.uuid}")


def _pages(
    conn: Connection[Any],
    wanted: dict[str, Any],
    after: tuple[datetime, UUID] | None,
    limit: int | None,
) -> Iterator[list[Job]]:
    size = PAGE if limit is None else limit
    while True:
        at, uuid = after or (None, None)
        jobs = sql.list_jobs(conn, **wanted, after_created_at=at, after_uuid=uuid, max_rows=size)
        yield jobs
        if limit is not None or len(jobs) < size:
            return
        after = jobs[-1].created_at, jobs[-1].uuid


def _print_page(conn: Connection[Any], jobs: Sequence[Job], *, heading: bool) -> None:
    columns = width(sys.stdout)
    short = columns is not None and columns < SHORT_BELOW
    rows = [job_row(job, short=short) for job in with_activity(conn, jobs)]
    print_table(JOB_COLUMNS, rows, heading=heading)


def _print_array(pages: Iterator[list[Job]]) -> None:
    mark = "["
    for page in pages:
        for job in page:
            out(mark + "\n" + json.dumps(plain(job), allow_nan=False), end="")
            mark = ","
    out("[]" if mark == "[" else "\n]")


def _nothing(active: bool, wanted: dict[str, Any]) -> str:
    filtered = any(wanted[name] is not None for name in ("kinds", "actor", "scope", "since"))
    if filtered or (wanted["statuses"] is not None and not active):
        return "no such jobs"
    return "no active jobs" if active else "no jobs"
