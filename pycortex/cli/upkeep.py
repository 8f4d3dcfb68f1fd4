"""reap, interrupt-orphans, schedule and unschedule: what keeps the truth."""

import sys
from uuid import UUID

import click

from pycortex import schedule as cron
from pycortex import sql
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._errors import RefusedError
from pycortex.cli._output import out, print_json, say
from pycortex.cli._time import span_of
from pycortex.cli._types import RUNNER

__all__ = ["ask", "interrupt_orphans", "need_somebody", "reap", "schedule", "unschedule"]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
cron_database = click.option(
    "--cron-database", help="Where pg_cron lives, when your role may not read that setting."
)


@click.command(cls=Command, example="pycortex reap --older-than '2 hours'")
@click.option("--older-than", metavar="TIME", help="Instead of each kind's own limit.")
@as_json
@pass_app
def reap(app: App, older_than: str | None, as_json: bool) -> None:
    """Interrupt jobs that have been silent for too long."""
    with app.connect() as conn:
        limit = span_of(conn, older_than, "--older-than")
        number = sql.reap_stale(conn, older_than=limit)
    if as_json:
        print_json({"interrupted": number})
    else:
        out(f"{number} interrupted")


@click.command("interrupt-orphans", cls=Command, example="pycortex interrupt-orphans --yes")
@click.option("--runner", type=RUNNER, help="Only the jobs of this runner.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@as_json
@pass_app
def interrupt_orphans(app: App, runner: UUID | None, yes: bool, as_json: bool) -> None:
    """
    Interrupt every active job, or one runner's.

    The sweep after a restart, for when nothing that is active can be alive. Jobs that do live are
    told to stop at their next step.
    """
    if runner is None and not yes:
        ask("Interrupt every active job in this database?")
    with app.connect() as conn:
        number = sql.interrupt_orphans(conn, runner)
    if as_json:
        print_json({"interrupted": number})
    else:
        out(f"{number} interrupted")


def need_somebody() -> None:
    """Go on only when there is a person at the terminal."""
    if sys.stdin is None or sys.stdin.closed or not sys.stdin.isatty():
        raise click.UsageError("this needs --yes where nobody can be asked")


def ask(question: str) -> None:
    """Go on only when a person at the terminal says yes."""
    need_somebody()
    if not click.confirm(question, default=False, err=True):
        raise RefusedError("nothing was done")


@click.command(cls=Command, example="pycortex schedule '*/5 * * * *'")
@click.argument("schedule", required=False, metavar="[CRON]")
@cron_database
@as_json
@pass_app
def schedule(app: App, schedule: str | None, cron_database: str | None, as_json: bool) -> None:
    """
    Let pg_cron run the upkeep.

    Every minute, unless a cron line says otherwise. Finds pg_cron in whichever database of the
    server it lives. pg_cron reads hours in GMT, unless its setting cron.timezone says otherwise.
    """
    with app.database() as conninfo:
        number = cron.schedule(conninfo, schedule=schedule, cron_database=cron_database)
        zone = cron.zone(conninfo)
    if as_json:
        print_json({"jobid": number, "timezone": zone})
    else:
        out(f"pg_cron runs the upkeep; its entry is number {number}, its hours are in {zone}")


@click.command(cls=Command, example="pycortex unschedule")
@cron_database
@as_json
@pass_app
def unschedule(app: App, cron_database: str | None, as_json: bool) -> None:
    """Take the upkeep off pg_cron again."""
    with app.database() as conninfo:
        gone = cron.unschedule(conninfo, cron_database=cron_database)
    if as_json:
        print_json({"unscheduled": gone})
    elif gone:
        out("pg_cron no longer runs the upkeep")
    else:
        say("pg_cron had no entry for this database")
