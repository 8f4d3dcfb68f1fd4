"""The command ``pycortex``: what the library can do, for people and for scripts."""

import click

from pycortex.cli import (
    _demo,
    builtin,
    completion,
    configure,
    control,
    doctor,
    embedded,
    events,
    jobs,
    listing,
    purge,
    schedules,
    setup,
    sqlkinds,
    uninstall,
    upkeep,
    views,
    watch,
    worker,
)
from pycortex.cli._app import RootGroup, version
from pycortex.cli._types import KIND

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


SECTIONS = {
    "Setting up": (
        setup.install,
        setup.sql,
        uninstall.uninstall,
        doctor.doctor,
        embedded.embedded,
        _demo.demo,
        completion.completion,
    ),
    "Jobs": (
        jobs.spawn,
        listing.list_,
        jobs.show,
        events.events,
        watch.watch,
        watch.wait,
        control.cancel,
        control.rerun,
    ),
    "Built-in jobs": (
        builtin.reindex,
        builtin.analyze,
        builtin.report,
        builtin.corpus,
    ),
    "Numbers": (
        jobs.count,
        jobs.counts,
        views.waiting,
        views.runners,
        control.metrics,
    ),
    "Work and upkeep": (
        worker.worker,
        configure.configure,
        purge.maintain,
        upkeep.reap,
        upkeep.interrupt_orphans,
        purge.purge,
        upkeep.schedule,
        upkeep.unschedule,
    ),
    "Jobs that come back, bodies in SQL": (
        schedules.schedules,
        schedules.schedule_job,
        schedules.unschedule_job,
        schedules.spawn_scheduled,
        sqlkinds.sql_kinds,
        sqlkinds.register_sql_kind,
        sqlkinds.work,
        sqlkinds.schedule_work,
        sqlkinds.unschedule_work,
    ),
}
for commands in SECTIONS.values():
    for command in commands:
        main.add_command(command)

main.sections = {
    title: [str(command.name) for command in commands] for title, commands in SECTIONS.items()
}
main.aliases = {"logs": "events"}

# Wherever an option names a kind, the shell offers those that the database knows.
for known in main.commands.values():
    for parameter in known.params:
        if parameter.name == "kind":
            parameter.type = KIND
