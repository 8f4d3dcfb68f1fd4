"""reindex, analyze, report and corpus: the built-in jobs, run here or only queued."""

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
from psycopg import Connection

from pycortex import sql
from pycortex._newfile import allow
from pycortex.cli._app import App, Command, Group, pass_app
from pycortex.cli._local import run_here, run_or_queue
from pycortex.cli._output import say
from pycortex.cli._plan import print_plan
from pycortex.cli._report import ask_for, print_report
from pycortex.cli._types import LIMIT, is_text
from pycortex.dataset_export import FORMATS
from pycortex.models import JobStatus, Spawned

__all__ = ["analyze", "corpus", "reindex", "report"]

SEVERITIES = ("info", "warning", "error", "fatal", "invalid")
ID = click.IntRange(1, 2**31 - 1)


def running(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that runs a job."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the job as JSON at the end."),
        click.option("--actor", help="Who asks, for the record."),
        click.option(
            "--queue", is_flag=True, help="Only queue it, for a worker; print the job's uuid."
        ),
    ):
        function = option(function)
    return pass_app(function)


def maintaining(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what the commands of maintenance take beside."""
    for option in (
        click.option(
            "--dry-run", is_flag=True, help="Only say what would be done, and why; change nothing."
        ),
        click.option(
            "--statement-timeout",
            type=LIMIT,
            metavar="SECONDS",
            help="Longest time for one statement; 0 for none.  [default: 0]",
        ),
        click.option(
            "--lock-timeout",
            type=LIMIT,
            metavar="SECONDS",
            help="Longest wait for a lock; 0 for none.  [default: 60]",
        ),
        click.argument("tables", nargs=-1, metavar="[TABLE]..."),
    ):
        function = option(function)
    return function


@click.command(cls=Command, example="pycortex reindex corpus.tasks")
@maintaining
@running
def reindex(app: App, **given: Any) -> None:
    """
    Rebuild indexes online.

    Table by table: of these tables, or of the seven that imports churn most.
    """
    _maintain(app, "reindex", sql.spawn_reindex, **given)


@click.command(cls=Command, example="pycortex analyze")
@maintaining
@running
def analyze(app: App, **given: Any) -> None:
    """
    Refresh planner statistics.

    Table by table: of these tables, or of the seven that imports churn most.
    """
    _maintain(app, "analyze", sql.spawn_analyze, **given)


def _maintain(
    app: App,
    kind: str,
    spawn: Callable[..., Spawned],
    *,
    tables: tuple[str, ...],
    lock_timeout: float | None,
    statement_timeout: float | None,
    dry_run: bool,
    queue: bool,
    actor: str | None,
    as_json: bool,
) -> None:
    if dry_run:
        if queue:
            raise click.UsageError("--dry-run makes no job that --queue could queue")
        with app.connect() as conn:
            print_plan(conn, kind, tables, as_json=as_json)
        return

    def ask(conn: Connection[Any]) -> Spawned:
        return spawn(
            conn,
            actor=actor,
            tables=list(tables) or None,
            lock_timeout=_span(lock_timeout),
            statement_timeout=_span(statement_timeout),
        )

    run_or_queue(app, ask, queue=queue, as_json=as_json)


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


@click.group(cls=Group)
def report() -> None:
    """Count reports over a corpus, and show them."""


def slice_(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments that name one slice of the reports."""
    for argument in (
        click.argument("severity", type=click.Choice(SEVERITIES)),
        click.argument("service_id", type=ID, metavar="SERVICE_ID"),
        click.argument("corpus_id", type=ID, metavar="CORPUS_ID"),
    ):
        function = argument(function)
    return function


@report.command(example="pycortex report populate 1 1 error")
@slice_
@running
def populate(
    app: App,
    corpus_id: int,
    service_id: int,
    severity: str,
    queue: bool,
    actor: str | None,
    as_json: bool,
) -> None:
    """Count one slice: a corpus, a service and a severity."""

    def spawn(conn: Connection[Any]) -> Spawned:
        return sql.spawn_report_populate(conn, corpus_id, service_id, severity, actor=actor)

    run_or_queue(app, spawn, queue=queue, as_json=as_json)


@report.command(example="pycortex report refresh")
@running
def refresh(app: App, queue: bool, actor: str | None, as_json: bool) -> None:
    """Forget all counts; each is made anew when it is asked for."""

    def spawn(conn: Connection[Any]) -> Spawned:
        return sql.spawn_report_refresh(conn, actor=actor)

    run_or_queue(app, spawn, queue=queue, as_json=as_json)


@report.command("show", example="pycortex report show 1 1 error --wait")
@slice_
@click.option(
    "--wait", is_flag=True, help="Where it must be counted, see that through and show it then."
)
@click.option(
    "--budget",
    type=LIMIT,
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a count may take before it becomes a job; 0 without --wait: only look.",
)
@click.option("--actor", help="Who asks, for the record.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def show_report(
    app: App,
    corpus_id: int,
    service_id: int,
    severity: str,
    wait: bool,
    budget: float,
    actor: str | None,
    as_json: bool,
) -> None:
    """
    Show one slice, counted anew where it must be.

    That is when it was never counted, or is older than the data. A small one is counted at once.
    What takes longer than the budget becomes a job, whose uuid is told: an older count is shown
    meanwhile, and without one the exit code is 1.
    """
    slice_ = (corpus_id, service_id, severity)
    with app.connect() as conn:
        answer = ask_for(conn, slice_, wait=wait, budget=budget, actor=actor)
    if wait and answer is not None and not answer.ready:

        def spawn(conn: Connection[Any]) -> Spawned:
            return sql.spawn_report_populate(conn, *slice_, actor=actor)

        with app.database() as conninfo:
            job = run_here(conninfo, spawn, stream=sys.stderr)
        if job.status is not JobStatus.SUCCEEDED:
            say(" ".join(part for part in (str(job.uuid), job.status, job.message) if part))
            click.get_current_context().exit(1)
        answer = None
    with app.connect() as conn:
        rows = print_report(conn, *slice_, as_json=as_json, answer=answer)
    if not rows and answer is not None:
        click.get_current_context().exit(1)


@click.group(cls=Group)
def corpus() -> None:
    """Load documents, and write out what their logs say."""


@corpus.command("import", example="pycortex corpus import examples/latexml-logs --corpus sample")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--corpus", "corpus_name", help="Its name.  [default: the path's last part]")
@click.option("--service", default="latexml", show_default=True, help="What made the logs.")
@running
def import_(
    app: App,
    path: Path,
    corpus_name: str | None,
    service: str,
    queue: bool,
    actor: str | None,
    as_json: bool,
) -> None:
    """
    Import a folder, or a .tar.gz, of LaTeXML conversion logs.

    Safe to repeat: a document that is there already is replaced. A path that is only queued must
    be there where the worker runs.
    """
    if not queue and not path.exists():
        raise click.BadParameter(f"{path} does not exist", param_hint="PATH")
    if not is_text(str(path)):
        raise click.BadParameter(
            "its name is no text in UTF-8, so that a job can't carry it; rename it",
            param_hint="PATH",
        )
    name = corpus_name if corpus_name is not None else path.name.split(".")[0] or "corpus"

    def spawn(conn: Connection[Any]) -> Spawned:
        return spawn_import(conn, path, corpus=name, service=service, actor=actor)

    run_or_queue(app, spawn, queue=queue, as_json=as_json)


@corpus.command(
    "export",
    example="pycortex corpus export sample latexml --severity error --format csv -o errors.csv.gz",
)
@click.argument("corpus_name", metavar="CORPUS")
@click.argument("service", metavar="SERVICE")
@click.option(
    "--severity",
    type=click.Choice(("all", *SEVERITIES)),
    default="all",
    show_default=True,
    help="Which messages.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="csv",
    show_default=True,
    help="How the file is written.",
)
@click.option("--output", "-o", "path", type=click.Path(path_type=Path), required=True,
              help="The file to write.")  # fmt: skip
@click.option("--no-gzip", is_flag=True, help="Write it as it is.")
@click.option("--force", is_flag=True, help="Take the place of a file that is there.")
@running
def export(
    app: App,
    corpus_name: str,
    service: str,
    severity: str,
    format_: str,
    path: Path,
    no_gzip: bool,
    force: bool,
    queue: bool,
    actor: str | None,
    as_json: bool,
) -> None:
    """
    Write the messages of a corpus and a service to a file.

    The file is there whole or not at all. A path that is only queued is one where the worker runs,
    below the folder that its PYCORTEX_EXPORT_DIR names, or relative to it.
    """
    if not is_text(str(path)):
        raise click.BadParameter(
            "its name is no text in UTF-8, so that a job can't carry it", param_hint="-o"
        )
    if not queue:
        path = path.absolute()
        allow(str(path), overwrite=force)
    params = {
        "path": str(path),
        "corpus": corpus_name,
        "service": service,
        "severity": severity,
        "format": format_,
        "compression": "none" if no_gzip else "gzip",
        "overwrite": force,
    }

    def spawn(conn: Connection[Any]) -> Spawned:
        return sql.spawn_job(
            conn,
            "dataset_export",
            actor=actor,
            params=params,
            debounce_scope={"path": str(path)},
        )

    run_or_queue(app, spawn, queue=queue, as_json=as_json)


def spawn_import(
    conn: Connection[Any], path: Path, *, corpus: str, service: str, actor: str | None
) -> Spawned:
    """Queue an import; one at a time into a corpus for a service."""
    return sql.spawn_job(
        conn,
        "corpus_import",
        actor=actor,
        params={"path": str(path.absolute()), "corpus": corpus, "service": service},
        debounce_scope={"corpus": corpus, "service": service},
    )
