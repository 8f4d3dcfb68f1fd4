"""install and sql: putting the schema into a database."""

import click

from pycortex import install as installer
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._output import out, print_json

__all__ = ["install", "sql"]

without_corpus = click.option(
    "--without-corpus",
    is_flag=True,
    help="Leave out schema corpus, which the report jobs work on.",
)


@click.command(cls=Command, example="pycortex --database-url postgresql:///app install")
@without_corpus
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def install(app: App, without_corpus: bool, as_json: bool) -> None:
    """
    Install or upgrade the schema in the database.

    All of it or nothing, in one transaction. Safe to repeat and to run several times at once.
    Needs a role that may create schemas in the database; no superuser.
    """
    with app.connect(any_schema=True) as conn:
        done = installer.install(conn, corpus=not without_corpus)
        database = conn.info.dbname
    if as_json:
        print_json({"database": database, "applied": done.applied, "loaded": done.loaded})
        return
    for name in done.applied:
        out(f"applied  {name}")
    if not done.applied:
        out("no new migrations")
    out(f"loaded   {done.loaded} files of routines, views and grants into database {database}")


@click.command(cls=Command, example="pycortex sql | psql postgresql:///app")
@without_corpus
def sql(without_corpus: bool) -> None:
    """
    Print the whole installation as a script for psql.

    It gives the same database as "pycortex install", also where Python can't run.
    """
    out(installer.script(corpus=not without_corpus).rstrip("\n"))
