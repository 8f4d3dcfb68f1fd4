"""Bodies in SQL: sql-kinds, register-sql-kind, work, schedule-work and unschedule-work."""

import click

from pycortex import sql
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._output import print_json, say
from pycortex.cli._table import Column, print_table
from pycortex.cli._types import KIND
from pycortex.cli.schedules import say_entry, say_gone

__all__ = [
    "register_sql_kind",
    "schedule_work",
    "sql_kinds",
    "unschedule_work",
    "work",
]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("schedule-work", cls=Command, example="pycortex schedule-work '*/5 * * * *'")
@click.argument("cron", required=False)
@click.option(
    "--max-jobs",
    type=click.IntRange(1, 2**31 - 1),
    help="How many jobs one run takes at most.  [default: 100]",
)
@as_json
@pass_app
def schedule_work(app: App, cron: str | None, max_jobs: int | None, as_json: bool) -> None:
    """
    Let pg_cron run the bodies in SQL, as your role.

    Every minute, unless a cron line says otherwise; again to change it.
    """
    with app.connect() as conn:
        number = sql.schedule_work(conn, schedule=cron, max_jobs=max_jobs)
    say_entry(number, as_json=as_json)


@click.command("unschedule-work", cls=Command, example="pycortex unschedule-work")
@as_json
@pass_app
def unschedule_work(app: App, as_json: bool) -> None:
    """Take your role's runs of bodies in SQL off pg_cron."""
    with app.connect() as conn:
        gone = sql.unschedule_work(conn)
    say_gone(gone, as_json=as_json)


@click.command(cls=Command, example="pycortex work --max-jobs 10")
@click.option(
    "--max-jobs",
    type=click.IntRange(1, 2**31 - 1),
    default=1,
    show_default=True,
    help="How many jobs to run at most.",
)
@as_json
@pass_app
def work(app: App, max_jobs: int, as_json: bool) -> None:
    """
    Run jobs whose body is in SQL, in this session.

    What pg_cron does by schedule-work, once and now. How the jobs went is in their rows.
    """
    with app.connect() as conn:
        sql.work(conn, max_jobs=max_jobs)
    if as_json:
        print_json({"max_jobs": max_jobs})


@click.command("sql-kinds", cls=Command, example="pycortex sql-kinds")
@as_json
@pass_app
def sql_kinds(app: App, as_json: bool) -> None:
    """List the kinds whose body is in SQL."""
    with app.connect() as conn:
        rows = sql.list_sql_kinds(conn)
    if as_json:
        print_json(rows)
        return
    if not rows:
        say("no kinds with a body in SQL")
        return
    print_table(
        (Column("KIND", least=8), Column("PROCEDURE", least=12), Column("RUN AS", drop=1)),
        [[row.kind, row.procedure, row.run_as or ""] for row in rows],
    )


@click.command(
    "register-sql-kind",
    cls=Command,
    example="pycortex register-sql-kind tidy cortex.run_refresh_reports",
)
@click.argument("kind", type=KIND, metavar="KIND")
@click.argument("procedure", required=False)
@click.option("--run-as", metavar="ROLE", help="The role that runs it.  [default: yours]")
@click.option(
    "--commits/--no-commits",
    default=None,
    help="Whether it ends transactions itself.  [default: as its text looks]",
)
@click.option("--remove", is_flag=True, help="The kind has no body in SQL any more.")
@as_json
@pass_app
def register_sql_kind(
    app: App,
    kind: str,
    procedure: str | None,
    run_as: str | None,
    commits: bool | None,
    remove: bool,
    as_json: bool,
) -> None:
    """
    Give a kind a body inside the database.

    PROCEDURE is a procedure or function that takes the job's uuid: schema.name, or
    schema.name(uuid) where there are several of that name.
    """
    if remove == (procedure is not None):
        raise click.UsageError("give either PROCEDURE or --remove")
    with app.connect() as conn:
        sql.register_sql_kind(conn, kind, procedure, run_as=run_as, commits=commits)
        rows = [row for row in sql.list_sql_kinds(conn) if row.kind == kind]
    if as_json:
        print_json(rows[0] if rows else None)
