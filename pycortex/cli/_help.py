"""What a help text says beyond a command's own words: arguments, exit codes, what to see also."""

__all__ = ["argument_help", "exit_codes", "see_also"]

ARGUMENTS = {
    "uuid": "The job: its uuid, or at least the first 8 digits of it.",
    "uuids": "The jobs: their uuids, or at least the first 8 digits of each.",
    "kind": "What kind of job.",
    "status": "The status to count.",
    "tables": "Names as SQL has them, such as corpus.tasks; all that are configured if left out.",
    "corpus_id": "The corpus, by its number in corpus.corpora.",
    "service_id": "The service, by its number in corpus.services.",
    "severity": "Which messages to count.",
    "corpus_name": "The corpus, by its name.",
    "service": "The service, by its name.",
    "path": "The folder or archive to read.",
    "schedule": 'When, as a cron line such as "*/5 * * * *"; every minute if left out.',
    "cron": 'When, as a cron line such as "30 3 * * *".',
    "name": "The name of the schedule.",
    "procedure": "The body: schema.name, or schema.name(uuid).",
    "shell": "Which shell the script is for.",
    "arguments": "Passed on to psql as they are.",
}
"""By the name of the argument; it means the same everywhere."""

OF_COMMANDS = {
    ("schedule-work", "cron"): 'When, as a cron line; "* * * * *", every minute, if left out.',
    ("events", "uuid"): "One job: its uuid, or at least its first 8 digits; all jobs if left out.",
    ("watch", "uuids"): "Jobs: their uuids, or at least the first 8 digits; else all active ones.",
    ("configure", "kind"): "The kind whose settings are meant; every kind if left out.",
}

DONE = "done"
REFUSED = "refused, by the database or by this command"
USAGE = "the command line makes no sense"
UNREACHABLE = "the database is out of reach"
INTERRUPTED = "interrupted, by Ctrl-C or SIGTERM"

RUN_HERE = {
    0: "the job succeeded; with --queue, it is queued",
    1: "the job did not succeed, or was refused",
}
EXITS: dict[str, dict[int, str]] = {
    "wait": {
        0: "all of them succeeded",
        1: "one failed, was interrupted or cancelled, or is gone; or the time is over",
    },
    "watch": {0: "they are over, however they ended; or nothing is active"},
    "embedded psql": {1: "as psql says"},
    "doctor": {0: "nothing is wrong; there may be warnings", 1: "something is wrong"},
    "demo": {1: "something that it claims turned out not to hold"},
    "worker": {
        0: "ended by SIGTERM, or drained; with --check, the worker lives",
        1: "with --check, no such worker lives",
        130: "ended by Ctrl-C",
    },
    "reindex": RUN_HERE,
    "analyze": RUN_HERE,
    "report populate": RUN_HERE,
    "report refresh": RUN_HERE,
    "corpus import": RUN_HERE,
    "corpus export": RUN_HERE,
    "uninstall": {1: "refused, or somebody said no"},
    "purge": {1: "refused, or somebody said no"},
    "interrupt-orphans": {1: "refused, or somebody said no"},
}
WITHOUT_DATABASE = {"sql", "completion"}

FAMILIES = (
    "install uninstall sql doctor",
    "doctor runners waiting metrics",
    "spawn wait watch rerun",
    "list show events counts",
    "show events watch",
    "cancel rerun show",
    "count counts list metrics",
    "wait watch show",
    "waiting runners worker",
    "worker runners waiting",
    "reap interrupt-orphans purge maintain",
    "maintain schedule",
    "purge configure",
    "schedule unschedule maintain doctor",
    "schedules schedule-job unschedule-job spawn-scheduled",
    "sql-kinds register-sql-kind work schedule-work unschedule-work",
    "configure purge",
    "reindex analyze watch",
    "report corpus",
    "demo doctor",
    "embedded doctor",
    "completion list",
)


def argument_help(path: str, name: str) -> str:
    """Say what the argument *name* of the command *path* is."""
    return OF_COMMANDS.get((path, name)) or ARGUMENTS.get(name, "")


def exit_codes(path: str) -> dict[int, str]:
    """Say what each exit code of the command *path* means."""
    codes = {0: DONE, 1: REFUSED, 2: USAGE, 3: UNREACHABLE, 130: INTERRUPTED}
    if path in WITHOUT_DATABASE:
        del codes[3]
    return dict(sorted((codes | EXITS.get(path, {})).items()))


def see_also(path: str) -> list[str]:
    """Name the commands that belong to the command *path*."""
    first, _, second = path.partition(" ")
    found = [first] if second else []
    for family in FAMILIES:
        members = family.split()
        if members[0] == first or (first in members and not found):
            found += members
    return [name for name in dict.fromkeys(found) if name != path]
