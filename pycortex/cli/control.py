"""cancel, rerun and metrics: asking for an end, for another go, and for numbers."""

import sys

import click

from pycortex import sql
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._jobs import find
from pycortex.cli._output import clean, out, print_json, say, width
from pycortex.cli._types import JOB, UuidRange

__all__ = ["cancel", "metrics", "rerun"]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
actor_option = click.option("--actor", help="Who asks, for the record.")


@click.command(cls=Command, example="pycortex cancel 0b5f2c1e --hard")
@click.argument("uuid", type=JOB)
@click.option(
    "--hard",
    is_flag=True,
    help="Also cancel the statement that it runs in the database, and end its process or task.",
)
@actor_option
@as_json
@pass_app
def cancel(app: App, uuid: UuidRange, hard: bool, actor: str | None, as_json: bool) -> None:
    """
    End a waiting job, or ask a running one to end.

    A body hears of it at its next step. With --hard its statement in the database is cancelled at
    once, and at its runner's next beat its process, or its task in asyncio, is ended. A body in a
    thread that neither steps nor runs a statement is beyond anybody's reach: it goes on until it
    steps, or its silence is too long and the upkeep ends its job.
    """
    with app.connect() as conn:
        status = sql.cancel_job(conn, find(conn, uuid), actor=actor, hard=hard)
    if as_json:
        print_json({"status": status})
        return
    out(status)
    if status == "running":
        say(
            "asked; its statement is cancelled, its process or task ended at its runner's next beat"
            if hard
            else "asked; it hears of it at its next step or its runner's next beat"
        )


@click.command(cls=Command, example="pycortex rerun 0b5f2c1e")
@click.argument("uuid", type=JOB)
@actor_option
@as_json
@pass_app
def rerun(app: App, uuid: UuidRange, actor: str | None, as_json: bool) -> None:
    """Queue the work of a job that is over once more."""
    with app.connect() as conn:
        spawned = sql.rerun_job(conn, find(conn, uuid), actor=actor)
    if as_json:
        print_json(spawned)
        return
    out(str(spawned.uuid))
    if not spawned.created:
        say("not created: this job of the same kind and scope is still active")


@click.command(cls=Command, example="pycortex metrics")
@pass_app
def metrics(app: App) -> None:
    """
    Print the state of the job system as Prometheus text.

    Counts by kind and status, the age of the oldest waiting job and of the upkeep, and the runners
    that live: what a scrape gets. Names of kinds stand in it as they are; on a terminal, with what
    that would obey written out.
    """
    with app.connect() as conn:
        text = sql.metrics(conn).removesuffix("\n")
    if width(sys.stdout) is not None:
        text = "\n".join(clean(line) for line in text.split("\n"))
    out(text)
