"""purge and maintain: forgetting what is over, and all upkeep at once."""

import click

from pycortex import sql
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._output import out, print_json, say
from pycortex.cli._table import Column, print_table
from pycortex.cli._time import span_of
from pycortex.cli.upkeep import ask, need_somebody

__all__ = ["maintain", "purge"]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command(cls=Command, example="pycortex purge --older-than '90 days' --dry-run")
@click.option(
    "--older-than",
    metavar="TIME",
    help="Ended longer ago than that, such as '90 days'.  [default: what each kind keeps]",
)
@click.option("--dry-run", is_flag=True, help="Only count what would go.")
@click.option(
    "--batch-size",
    type=click.IntRange(1, 2**31 - 1),
    default=10000,
    show_default=True,
    help="Jobs to delete in one transaction.",
)
@click.option("--yes", is_flag=True, help="Don't ask.")
@as_json
@pass_app
def purge(
    app: App, older_than: str | None, dry_run: bool, batch_size: int, yes: bool, as_json: bool
) -> None:
    """
    Delete jobs that are over, with their history.

    Never one that is queued or running. The upkeep does the same by itself, by what each kind
    keeps; this is for more than that, or for at once. Oldest first, a batch and a transaction at a
    time; what others have locked stays. Asks first, with the number.
    """
    if not (dry_run or yes):
        need_somebody()
    with app.connect() as conn:
        age = span_of(conn, older_than, "--older-than")
        if dry_run or not yes:
            plan = sql.purge_plan(conn, older_than=age)
            total = sum(row.jobs for row in plan)
        if dry_run:
            if as_json:
                print_json(plan)
            elif plan:
                columns = (
                    Column("KIND", least=10),
                    Column("STATUS", status=True),
                    Column("JOBS", right=True),
                )
                rows = [[row.kind, row.status, str(row.jobs)] for row in plan]
                print_table(columns, [*rows, ["total", "", str(total)]])
            else:
                say("nothing would be deleted")
            return
        if not yes and total:
            ask(f"Delete {total} jobs from database {conn.info.dbname}?")
        deleted = 0
        while True:
            number = sql.purge_jobs(conn, older_than=age, batch_size=batch_size)
            deleted += number
            if number < batch_size:
                break
    if as_json:
        print_json({"deleted": deleted})
    else:
        out(f"{deleted} deleted")


@click.command(cls=Command, example="pycortex maintain")
@as_json
@pass_app
def maintain(app: App, as_json: bool) -> None:
    """
    Do the upkeep once, as pg_cron and runners do it.

    Ends what is stale, overdue or orphaned, and deletes one batch of what is older than it is to be
    kept. When another call is at it, this one leaves at once.
    """
    with app.connect() as conn:
        done = sql.maintain(conn)
    if as_json:
        print_json(done)
    elif not done.ran:
        say("another call is at it")
    else:
        for name in ("stale", "overdue", "orphaned", "purged", "cron_runs_purged",
                     "runners_purged"):  # fmt: skip
            out(f"{name:<17} {getattr(done, name)}")
