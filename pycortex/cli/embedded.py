"""embedded: the server that comes along, started, stopped and looked at by hand."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import click

from pycortex._embedded import EmbeddedServer
from pycortex._pgbinaries import binaries
from pycortex.cli._app import App, Command, Group, pass_app
from pycortex.cli._errors import RefusedError
from pycortex.cli._output import out, print_json, say
from pycortex.database import URL_VARIABLE, resolve

__all__ = ["embedded"]

AS_IT_COMES = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.group(cls=Group, name="embedded")
def embedded() -> None:
    """
    Start, stop and look at the embedded server.

    Every command starts it when it is needed and stops it when nobody uses it any more; these are
    for whoever wants it to stay, or wants to look inside. --database-url embedded:///folder names
    another than the usual one.
    """


def _server(app: App) -> EmbeddedServer:
    url = app.url or os.environ.get(URL_VARIABLE, "")
    if not url.startswith("embedded:"):
        if app.url:
            raise click.UsageError("--database-url names no embedded server, such as embedded:")
        url = "embedded:"
    folder = resolve(url).folder
    if folder is None:
        raise click.UsageError("this URL names no embedded server")
    return EmbeddedServer(folder)


@embedded.command("start", cls=Command, example="pycortex embedded start")
@pass_app
def start(app: App) -> None:
    """
    Start the server and have it stay.

    Until `pycortex embedded stop`, or until the machine stops. Prints how to connect to it.
    """
    server = _server(app)
    if server.is_new:
        say(f"setting up the embedded server in {server.folder}; this is needed once")
    server.start()
    say(f"the embedded server in {server.folder} runs")
    out(server.conninfo)


@embedded.command("stop", cls=Command, example="pycortex embedded stop")
@click.option("--force", is_flag=True, help="Though somebody uses it.")
@pass_app
def stop(app: App, force: bool) -> None:
    """
    Stop the server.

    Refused while somebody uses it; it then stops when the last of them has gone.
    """
    server = _server(app)
    if server.stop(force=force):
        say(f"the embedded server in {server.folder} has stopped")
    else:
        say(f"the embedded server in {server.folder} didn't run")


@embedded.command("status", cls=Command, example="pycortex embedded status")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def status(app: App, as_json: bool) -> None:
    """
    Say where the server is, whether it runs, and for whom.

    Starts nothing. Exits with 1 when it doesn't run.
    """
    found = _server(app).status()
    if as_json:
        print_json(found)
    else:
        out(f"folder   {found.folder}")
        out(f"version  {found.version or 'nothing is there yet'}")
        if found.running:
            use = "in use" if found.in_use else "not in use"
            stays = "stays until it is stopped" if found.kept else "stops with its last user"
            out(f"status   running, process {found.pid}, {use}, {stays}")
            out(f"connect  {found.conninfo}")
        else:
            out("status   not running")
    if not found.running:
        click.get_current_context().exit(1)


@embedded.command("path", cls=Command, example="pycortex embedded path")
@pass_app
def path(app: App) -> None:
    """Print the folder in which the server lives, or would live."""
    out(str(_server(app).folder))


@embedded.command(
    "psql",
    cls=Command,
    context_settings=AS_IT_COMES,
    example='pycortex embedded psql -c "select * from cortex.overview()"',
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]...")
@pass_app
def psql(app: App, arguments: tuple[str, ...]) -> None:
    """
    Open psql on the server, which runs meanwhile.

    The arguments are psql's own. Ends with its exit code.
    """
    server = _server(app)
    if server.is_new:
        say(f"setting up the embedded server in {server.folder}; this is needed once")
    with server:
        program = _psql(server.data)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is psql's
        try:
            done = subprocess.run(  # noqa: S603 - a list, never through a shell
                [program, "--dbname", server.conninfo, *arguments],
                check=False,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        finally:
            signal.signal(signal.SIGINT, before)
    click.get_current_context().exit(done.returncode if done.returncode >= 0 else 130)


def _psql(data: Path) -> Path | str:
    ours = binaries(data) / "psql"
    found = ours if ours.exists() else shutil.which("psql")
    if found is None:
        raise RefusedError("psql is not installed", "on Debian: apt-get install postgresql-client")
    return found
