"""The command ``pycortex``: what the library can do, for people and for scripts."""

import click

from pycortex.cli import (
    _demo,
    builtin,
    control,
    doctor,
    jobs,
    setup,
    uninstall,
    upkeep,
    watch,
    worker,
)
from pycortex.cli._app import RootGroup, version

__all__ = ["main"]

EXIT_CODES = """\b
Exit codes: 0 done, 1 refused or the job did not succeed, 2 usage,
3 database out of reach, 130 interrupted."""


@click.group(
    cls=RootGroup,
    name="pycortex",
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(version(), "--version", prog_name="pycortex")
def main() -> None:
    """
    Background jobs that live in PostgreSQL.

    Data goes to standard output, everything else to standard error. --database-url and --verbose
    may stand before the command or behind it.
    """


for command in (
    setup.install,
    setup.sql,
    uninstall.uninstall,
    doctor.doctor,
    _demo.demo,
    jobs.spawn,
    jobs.list_,
    jobs.show,
    watch.watch,
    watch.wait,
    control.cancel,
    control.rerun,
    jobs.count,
    jobs.counts,
    builtin.reindex,
    builtin.analyze,
    builtin.report,
    builtin.corpus,
    worker.worker,
    upkeep.reap,
    upkeep.interrupt_orphans,
    upkeep.schedule,
    upkeep.unschedule,
    control.metrics,
):
    main.add_command(command)
