"""schedules, schedule-job, unschedule-job and spawn-scheduled: jobs that come back."""

from typing import Any

import click

from pycortex import sql
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._output import out, print_json, say
from pycortex.cli._table import Column, print_table
from pycortex.cli._types import JSON_OBJECT, KIND
from pycortex.models import DebounceMode

__all__ = [
    "say_entry",
    "say_gone",
    "schedule_job",
    "schedules",
    "spawn_scheduled",
    "unschedule_job",
]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command(cls=Command, example="pycortex schedules")
@as_json
@pass_app
def schedules(app: App, as_json: bool) -> None:
    """
    List the jobs that come back.

    A line per schedule: its cron line, when it comes next, and how the job of the last time went.
    With --json the rows of the function cortex.list_schedules.
    """
    with app.connect() as conn:
        rows = sql.list_schedules(conn)
    if as_json:
        print_json(rows)
        return
    if not rows:
        say("no schedules")
        return
    columns = (
        Column("NAME", least=8),
        Column("SCHEDULE"),
        Column("KIND", least=8),
        Column("NEXT", drop=1),
        Column("LAST", drop=3),
        Column("STATUS", status=True, drop=2),
    )
    print_table(
        columns,
        [
            [
                row.name,
                row.schedule if row.active else f"{row.schedule} (off)",
                row.kind,
                row.next_run_at.isoformat(sep=" ", timespec="minutes") if row.next_run_at else "",
                row.last_run_at.isoformat(sep=" ", timespec="minutes") if row.last_run_at else "",
                str(row.last_job_status or row.last_run_status or ""),
            ]
            for row in rows
        ],
    )


@click.command(
    "schedule-job",
    cls=Command,
    example="pycortex schedule-job nightly '30 3 * * *' corpus_import --actor ops",
)
@click.argument("name")
@click.argument("cron")
@click.argument("kind", type=KIND, metavar="KIND")
@click.option("--params", type=JSON_OBJECT, metavar="JSON|@FILE|-", help="What the body gets.")
@click.option("--actor", help="Who asks, for the record.")
@click.option(
    "--scope",
    type=JSON_OBJECT,
    metavar="JSON",
    help="Debounce: one active job of this kind and scope.  [default: {}, one per kind]",
)
@click.option(
    "--debounce-on",
    type=click.Choice([mode.value for mode in DebounceMode]),
    help="Which jobs of the scope stand in for a new one.  [default: active]",
)
@click.option(
    "--priority",
    type=click.IntRange(-(2**31), 2**31 - 1),
    help="Greater goes first.  [default: 0]",
)
@as_json
@pass_app
def schedule_job(
    app: App,
    name: str,
    cron: str,
    kind: str,
    params: dict[str, Any] | None,
    actor: str | None,
    scope: dict[str, Any] | None,
    debounce_on: str | None,
    priority: int | None,
    as_json: bool,
) -> None:
    """
    Let a job come back, by pg_cron.

    Again with the same NAME to change it. pg_cron reads hours in GMT, unless its setting
    cron.timezone says otherwise. The job is queued like any other; a worker runs it.
    """
    with app.connect() as conn:
        number = sql.schedule_job(
            conn,
            name,
            cron,
            kind,
            params=params,
            actor=actor,
            debounce_scope=scope,
            debounce_on=debounce_on,
            priority=priority,
        )
    say_entry(number, as_json=as_json)


@click.command("unschedule-job", cls=Command, example="pycortex unschedule-job nightly")
@click.argument("name")
@as_json
@pass_app
def unschedule_job(app: App, name: str, as_json: bool) -> None:
    """Let a job come back no more."""
    with app.connect() as conn:
        gone = sql.unschedule_job(conn, name)
    say_gone(gone, as_json=as_json)


@click.command("spawn-scheduled", cls=Command, example="pycortex spawn-scheduled nightly")
@click.argument("name")
@as_json
@pass_app
def spawn_scheduled(app: App, name: str, as_json: bool) -> None:
    """Queue the job of a schedule now, and print its uuid."""
    with app.connect() as conn:
        spawned = sql.spawn_scheduled(conn, name)
    if as_json:
        print_json(spawned)
        return
    out(str(spawned.uuid))
    if not spawned.created:
        say("not created: this job of the same kind and scope is still active")


def say_entry(number: int, *, as_json: bool) -> None:
    """Say which entry of pg_cron it is now."""
    if as_json:
        print_json({"jobid": number})
    else:
        out(f"pg_cron's entry is number {number}")


def say_gone(gone: bool, *, as_json: bool) -> None:
    """Say whether there was an entry that is gone now."""
    if as_json:
        print_json({"unscheduled": gone})
    elif gone:
        out("taken off pg_cron")
    else:
        say("pg_cron had no such entry")
