"""waiting and runners: why jobs wait, and who is there."""

import click

from pycortex import sql
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._jobs import span
from pycortex.cli._output import print_json, say
from pycortex.cli._table import Column, print_table
from pycortex.models import RunnerInfo

__all__ = ["runners", "waiting"]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command(cls=Command, example="pycortex waiting")
@as_json
@pass_app
def waiting(app: App, as_json: bool) -> None:
    """
    Say why jobs wait.

    A line per kind: how many jobs anybody may take now, for how long the oldest could have been
    started, and how many live runners take that kind. With 0 nobody does: start a worker for it.

    With --json the rows of the view cortex.waiting.
    """
    with app.connect() as conn:
        rows = sql.list_waiting(conn)
        now = sql.db_now(conn)
    if as_json:
        print_json(rows)
        return
    if not rows:
        say("nothing waits that could be started")
        return
    columns = (
        Column("KIND", least=10),
        Column("READY", right=True),
        Column("SINCE", right=True),
        Column("WORKERS", right=True),
    )
    print_table(
        columns,
        [
            [row.kind, str(row.ready), span((now - row.oldest_run_at).total_seconds()),
             str(row.workers)]
            for row in rows
        ],
    )  # fmt: skip


@click.command(cls=Command, example="pycortex runners")
@click.option("--all", "everything", is_flag=True, help="Also those that have retired.")
@as_json
@pass_app
def runners(app: App, everything: bool, as_json: bool) -> None:
    """
    List the processes that run jobs.

    A line per runner: whether it lives, the age of its last sign of life, and the kinds that it
    takes from the queue; none for one that runs only what it spawned itself.

    With --json the rows of the view cortex.runners.
    """
    with app.connect() as conn:
        rows = [row for row in sql.list_runners(conn) if everything or row.retired_at is None]
        now = sql.db_now(conn)
    if as_json:
        print_json(rows)
        return
    if not rows:
        say("no runners")
        return
    columns = (
        Column("RUNNER"),
        Column("STATE", status=True),
        Column("SEEN", right=True, drop=2),
        Column("NAME", least=8),
        Column("HOST", drop=3, least=8),
        Column("PID", right=True, drop=4),
        Column("KINDS", drop=1, least=10),
    )
    print_table(
        columns,
        [
            [
                str(row.uuid)[:8],
                _state(row),
                span((now - row.seen_at).total_seconds()),
                row.name,
                row.host,
                str(row.pid),
                ", ".join(row.kinds or []),
            ]
            for row in rows
        ],
    )


def _state(row: RunnerInfo) -> str:
    if row.retired_at is not None:
        return "retired"
    return "alive" if row.alive else "dead"
