"""spawn, show, count and counts: making jobs and looking at them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from pycortex import sql
from pycortex.cli._activity import activity_of
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._errors import RefusedError
from pycortex.cli._jobs import find
from pycortex.cli._output import out, plain, print_json, say
from pycortex.cli._show import print_job
from pycortex.cli._table import Column, print_table
from pycortex.cli._types import HOURS, JOB, JSON_OBJECT, KIND, MOMENT, UuidRange
from pycortex.models import DebounceMode, JobStatus, StatusCount
from pycortex.values import check_params

__all__ = ["count", "counts", "print_counts", "show", "spawn"]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
hours_option = click.option(
    "--hours", type=HOURS, default=24, show_default=True, help="How far to look back."
)


@click.command(
    cls=Command,
    example="""pycortex spawn corpus_import --params '{"path": "/data/logs"}' --scope '{}'""",
)
@click.argument("kind", type=KIND, metavar="KIND")
@click.option("--params", type=JSON_OBJECT, metavar="JSON|@FILE|-", help="What the body gets.")
@click.option("--actor", help="Who asks, for the record.")
@click.option(
    "--scope",
    type=JSON_OBJECT,
    metavar="JSON",
    help="Debounce: one active job of this kind and scope; {} is one per kind.",
)
@click.option(
    "--debounce-on",
    type=click.Choice([mode.value for mode in DebounceMode]),
    help="Which jobs of the scope stand in for a new one.",
)
@click.option("--run-at", type=MOMENT, help="Not to be run before, in ISO 8601 with an offset.")
@click.option("--priority", type=click.IntRange(-(2**31), 2**31 - 1), help="Greater goes first.")
@as_json
@pass_app
def spawn(
    app: App,
    kind: str,
    params: dict[str, Any] | None,
    actor: str | None,
    scope: dict[str, Any] | None,
    debounce_on: str | None,
    run_at: datetime | None,
    priority: int | None,
    as_json: bool,
) -> None:
    """Queue a job for a worker, and print its uuid."""
    for name, value in (("--params", params), ("--scope", scope)):
        try:
            check_params(value or {}, name.removeprefix("--"))
        except (TypeError, ValueError) as error:
            raise click.BadParameter(str(error), param_hint=name) from error
    with app.connect() as conn:
        spawned = sql.spawn_job(
            conn,
            kind,
            actor=actor,
            params=params,
            debounce_scope=scope,
            debounce_on=None if debounce_on is None else DebounceMode(debounce_on),
            run_at=run_at,
            priority=priority,
        )
    if as_json:
        print_json(spawned)
        return
    out(str(spawned.uuid))
    if not spawned.created:
        say("not created: this job of the same kind and scope is still active")


@click.command(cls=Command, example="pycortex show 0b5f2c1e-7a34-4b7e-9c55-6f0c1f3f8a10")
@click.argument("uuid", type=JOB)
@as_json
@pass_app
def show(app: App, uuid: UuidRange, as_json: bool) -> None:
    """
    Show one job, and what happened to it.

    With --json one object: the columns of the view cortex.jobs, and behind them activity, what its
    session does in the database at this moment or null, and events, the rows of the view
    cortex.job_events, oldest first.
    """
    with app.connect() as conn:
        name = find(conn, uuid)
        job = sql.find_job(conn, name)
        if job is None:
            raise RefusedError(f"no such job: {name}", "pycortex list shows the newest")
        events = sql.list_events(conn, name)
        doing = activity_of(conn, [job])
    if as_json:
        print_json(plain(job) | {"activity": doing.get(name), "events": events})
    else:
        print_job(job, events, doing.get(name, ""))


@click.command(cls=Command, example="pycortex count failed --hours 1")
@click.argument("status", type=click.Choice([status.value for status in JobStatus]))
@hours_option
@as_json
@pass_app
def count(app: App, status: str, hours: float, as_json: bool) -> None:
    """
    Count recent jobs in one status.

    Those that were created in the last so many hours and are in this status now.
    """
    with app.connect() as conn:
        number = sql.count_recent_with_status(conn, JobStatus(status), hours=hours)
    if as_json:
        print_json({"status": status, "hours": hours, "jobs": number})
    else:
        out(str(number))


@click.command(cls=Command, example="pycortex counts --hours 1")
@hours_option
@as_json
@pass_app
def counts(app: App, hours: float, as_json: bool) -> None:
    """
    Count jobs by kind and status.

    Active ones always; the others if they ended in the last so many hours.
    """
    with app.connect() as conn:
        found = sql.status_counts(conn, hours=hours)
    if as_json:
        print_json(found)
        return
    if not found:
        say("no jobs")
        return
    print_counts(found)


def print_counts(found: Sequence[StatusCount]) -> None:
    """Print a line per kind, with a column per status."""
    numbers: dict[str, dict[JobStatus, int]] = {}
    for row in found:
        numbers.setdefault(row.kind, {})[row.status] = row.jobs
    # Where room is short, a column of nothing but zeros goes first.
    empty = {name for name in JobStatus if not any(row.get(name) for row in numbers.values())}
    columns = [
        Column("KIND", least=10),
        *(Column(name.upper(), right=True, drop=int(name in empty)) for name in JobStatus),
    ]
    print_table(
        columns,
        [[kind, *(str(row.get(name, 0)) for name in JobStatus)] for kind, row in numbers.items()],
    )
