"""demo: everything at work, in about a minute."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from urllib.parse import quote

import click

from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._errors import RefusedError
from pycortex.cli._output import out
from pycortex.database import URL_VARIABLE, Database, default_folder

__all__ = ["demo"]


@click.command(cls=Command, example="pycortex demo")
@click.option(
    "--path",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where its server lives.  [default: that of the embedded server]",
)
@click.option("--yes", is_flag=True, help="Also on a database that is not an embedded one.")
@pass_app
def demo(app: App, path: Path | None, yes: bool) -> None:
    """
    Show jobs at work on real data, and how they die.

    Takes about a minute, on the embedded server. Puts samples into the database, and changes the
    rhythm of its runners meanwhile. Checks what it shows, and exits with 1 when a claim fails.
    """
    from pycortex.demo import run  # it uses this package

    if path is not None:
        app.url = f"embedded:{quote(os.path.relpath(path))}"
    database = app.resolve()
    if database.folder is None and not yes:
        raise RefusedError(
            f"the demo would put its samples into {database.label}",
            "pycortex --database-url embedded: demo uses a server of its own; "
            "--yes means this one all the same",
        )
    with app.database(any_schema=True) as conninfo:
        broken = run(conninfo, _typed(app, database))
    if broken:
        raise RefusedError(f"did not hold: {'; '.join(broken)}")
    out()


def _typed(app: App, database: Database) -> str:
    """How this program is called on this database, from this folder."""
    called = Path(sys.argv[0])
    found = shutil.which("pycortex")
    if called.name == "__main__.py":
        program = f"{shlex.quote(_near(Path(sys.executable)))} -m pycortex"
    elif found and called.exists() and Path(found).samefile(called):
        program = "pycortex"
    else:
        program = shlex.quote(_near(called))
    if app.url is None and (URL_VARIABLE in os.environ or database.folder == default_folder()):
        return program
    if database.folder is None:
        return f"{program} --database-url …"
    return f"{program} --database-url {shlex.quote('embedded:' + quote(_near(database.folder)))}"


def _near(path: Path) -> str:
    """Return *path* as seen from here, where that is shorter."""
    whole, near = os.path.abspath(path), os.path.relpath(path)
    return min(near, whole, key=len)
