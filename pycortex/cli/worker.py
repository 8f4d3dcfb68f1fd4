"""worker: claims and runs what anybody spawned, until a signal ends it; and asks if it lives."""

import contextlib
import importlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

import click

from pycortex import registry
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._errors import INTERRUPTED, REFUSED, RefusedError
from pycortex.cli._log import log_to_stderr
from pycortex.cli._output import clean, out, print_json, say
from pycortex.cli._types import KINDS, NAME, SECONDS
from pycortex.health import probe
from pycortex.runner import Runner
from pycortex.worker import Worker

__all__ = ["load_apps", "stop_on_signals", "worker"]

NAME_VARIABLE = "PYCORTEX_WORKER_NAME"


@click.command(cls=Command, example="pycortex worker --app shop.jobs --concurrency 4")
@click.option(
    "--app",
    "apps",
    multiple=True,
    metavar="MODULE",
    help="Import this module for the bodies that it registers; may be repeated.",
)
@click.option("--kinds", type=KINDS, metavar="A,B", help="Only these.  [default: all known]")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="How many jobs at a time.",
)
@click.option(
    "--grace",
    type=SECONDS,
    default=10.0,
    show_default=True,
    help="Seconds that running bodies get to finish at the end.",
)
@click.option(
    "--isolation",
    type=click.Choice([str(way) for way in registry.Isolation]),
    default="thread",
    show_default=True,
    help="Where bodies run that don't say so themselves; a process can be killed.",
)
@click.option(
    "--name",
    type=NAME,
    default="worker",
    show_default=True,
    envvar=NAME_VARIABLE,
    help=f"What operators and --check know it by; also ${NAME_VARIABLE}.",
)
@click.option("--drain", is_flag=True, help="End as soon as nothing waits that it may start.")
@click.option(
    "--check",
    is_flag=True,
    help="Start nothing; ask whether a worker of this host and name lives and keeps its beat.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what --check finds as JSON.")
@pass_app
def worker(
    app: App,
    apps: tuple[str, ...],
    kinds: tuple[str, ...] | None,
    concurrency: int,
    grace: float,
    isolation: str,
    name: str,
    drain: bool,
    check: bool,
    as_json: bool,
) -> None:
    """
    Run what anybody spawned, in threads or in processes.

    Runs the built-in kinds and those of --app. SIGTERM and Ctrl-C end it: it claims nothing more,
    gives bodies the grace to finish, and marks the rest interrupted. A second signal ends it at
    once.

    With --drain it ends by itself when the queue has nothing that it may start now, for cron and
    for scripts; what waits for a later time stays. How the jobs went doesn't change the exit code.

    \b
    With --check, for health probes, it only asks the database, for 5 seconds at
    most, and exits with
      0  a worker of this host's name and this --name lives
      1  none does
      3  the database is out of reach, so nobody can tell; no reason to restart
    """
    if as_json and not check:
        raise click.UsageError("--json goes with --check")
    if check:
        _check(app, name, as_json=as_json)
        return
    load_apps(apps)
    wanted = tuple(registry.kinds()) if kinds is None else kinds
    unknown = [kind for kind in wanted if registry.get(kind) is None]
    if unknown:
        raise click.BadParameter(
            f"nothing registers {', '.join(map(repr, unknown))}; "
            f"known are {', '.join(sorted(registry.kinds()))}",
            param_hint="--kinds",
        )
    log_to_stderr(verbose=app.verbose)
    stop = threading.Event()
    with (
        app.database() as conninfo,
        stop_on_signals(stop) as signals,
        Runner(
            conninfo, max_workers=concurrency, name=name, grace=grace, isolation=isolation
        ) as runner,
    ):
        say(f"worker {runner.uuid} is ready for {', '.join(wanted)}; Ctrl-C ends it")
        Worker(runner, wanted, drain=drain).run(stop)
    if signal.SIGINT in signals:
        click.get_current_context().exit(INTERRUPTED)


def _check(app: App, name: str, *, as_json: bool) -> None:
    with app.database() as conninfo:
        found = probe(conninfo, name)
    if as_json:
        print_json(found)
    else:
        out(clean(found.reason))
    if not found.healthy:
        click.get_current_context().exit(REFUSED)


def load_apps(names: tuple[str, ...]) -> None:
    """Register the built-in bodies, and those of the modules *names*."""
    importlib.import_module("pycortex.builtin")
    for name in names:
        try:
            registry.import_app(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
                raise click.BadParameter(
                    f"no module named {error.name!r} in this folder or the Python path",
                    param_hint="--app",
                ) from error
            raise RefusedError(f"importing {name} failed: {error}") from error
        except Exception as error:
            raise RefusedError(
                f"importing {name} failed: {type(error).__name__}: {error}",
                "pycortex --verbose … shows where",
            ) from error


@contextlib.contextmanager
def stop_on_signals(stop: threading.Event) -> Iterator[list[int]]:
    """
    Set *stop* at SIGTERM or SIGINT within the block, and leave at once at the second.

    Gives the list of signals that came. The handlers that were there before are put back.
    """
    came: list[int] = []

    def handle(number: int, _: FrameType | None) -> None:
        if came:
            os._exit(128 + number)
        came.append(number)
        stop.set()
        # Not through Python's streams, which this handler may have interrupted in a write.
        with contextlib.suppress(OSError):
            os.write(2, b"stopping; once more to leave at once\n")

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
