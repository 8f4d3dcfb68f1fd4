"""doctor: one line per check, and what to do."""

import sys

import click

from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._output import clean, out, paint, print_json, width, wrapped
from pycortex.doctor import Level, examine

__all__ = ["doctor"]


@click.command(cls=Command, example="pycortex doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def doctor(app: App, as_json: bool) -> None:
    """
    Look the database over and say what to do.

    Exits with 1 when a check ends in error. Changes nothing.
    """
    found = []
    with app.database(any_schema=True) as conninfo:
        for check in examine(conninfo):
            found.append(check)
            if not as_json:
                prefix = f"{check.level:<7}  {check.name:<12}  "
                line = wrapped(prefix, clean(check.message), sys.stdout)
                out(line.replace(check.level, paint(check.level, check.level), 1))
                if check.hint:
                    narrow = (width(sys.stdout) or 80) < 3 * len(prefix)
                    indent = "  " if narrow else " " * len(prefix)
                    out(wrapped(indent, clean(check.hint), sys.stdout))
    if as_json:
        print_json(found)
    if any(check.level is Level.ERROR for check in found):
        click.get_current_context().exit(1)
