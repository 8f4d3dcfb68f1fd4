"""uninstall: taking the schema out of a database."""

from typing import Any

import click
from psycopg import Connection

from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._output import clean, out, print_json, say
from pycortex.cli.upkeep import ask, need_somebody
from pycortex.uninstall import Uninstalled
from pycortex.uninstall import uninstall as remove

__all__ = ["uninstall"]


@click.command(cls=Command, example="pycortex uninstall --dry-run")
@click.option("--force", is_flag=True, help="Also while jobs are queued or running.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def uninstall(app: App, force: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """
    Remove what "pycortex install" made, all jobs included.

    All of it or nothing, in one transaction. Refuses while jobs are active, and when other objects
    stand in our schemas or are built on ours. Takes the upkeep off pg_cron, and drops those of the
    four roles that nobody uses.
    """
    if not (dry_run or yes):
        need_somebody()
    with app.connect(any_schema=True) as conn:
        database = conn.info.dbname
        if not (dry_run or yes):
            _ask(conn, force=force)
        done = remove(conn, force=force, dry_run=dry_run)
    if as_json:
        print_json(done)
        return
    if not done.removed:
        say(f"pycortex isn't installed in database {database}")
        return
    for name in done.removed:
        out(f"{'would remove' if dry_run else 'removed'}  {clean(name)}")
    for reason in done.left:
        say(f"left: {clean(reason)}")


def _ask(conn: Connection[Any], *, force: bool) -> None:
    """Ask, with the numbers that the decision needs; what is refused anyway is refused before."""
    foreseen = remove(conn, force=force, dry_run=True)
    if foreseen.removed:
        ask(f"Remove pycortex and {_jobs(foreseen)} from database {conn.info.dbname}?")


def _jobs(done: Uninstalled) -> str:
    number = f"its {done.jobs} jobs" if done.jobs != 1 else "its one job"
    return f"{number}, {done.active} of them active," if done.active else number
