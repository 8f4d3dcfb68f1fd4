"""Running one built-in job in this process, with a bar; or only queueing it."""

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import click
import psycopg
from psycopg import Connection

from pycortex import registry, sql
from pycortex.cli._activity import with_activity
from pycortex.cli._app import App
from pycortex.cli._errors import RefusedError
from pycortex.cli._jobs import by_uuid
from pycortex.cli._live import Source, follow, screen
from pycortex.cli._log import log_to_stderr
from pycortex.cli._output import clean, out, print_json, say
from pycortex.models import Job, JobStatus, Spawned
from pycortex.runner import Runner

__all__ = ["run_here", "run_or_queue"]

Spawn = Callable[[Connection[Any]], Spawned]

GRACE = 1.0
"""Seconds that a body gets to end by itself after Ctrl-C."""

CLEANING = ("reindex", "analyze")
PATIENCE = 15.0
"""Kinds whose bodies end their statement on the server then, and how long cleaning up may take."""


def run_or_queue(app: App, spawn: Spawn, *, queue: bool, as_json: bool) -> None:
    """Do what a command of a built-in job does; exits with 1 when the job does not succeed."""
    if queue:
        with app.connect() as conn:
            spawned = spawn(conn)
        if as_json:
            print_json(spawned)
        else:
            out(str(spawned.uuid))
            if not spawned.created:
                say("not created: this job does the same and is still active")
        return
    if app.verbose:
        log_to_stderr(verbose=True)
    with app.database() as conninfo:
        job = run_here(conninfo, spawn, stream=sys.stderr)
    if as_json:
        print_json(job)
    else:
        out(" ".join(part for part in (str(job.uuid), job.status, clean(job.message)) if part))
    if job.status is not JobStatus.SUCCEEDED:
        click.get_current_context().exit(1)


def run_here(conninfo: str, spawn: Spawn, *, stream: IO[str] | None) -> Job:
    """
    Spawn a job and run it in this process, showing it on *stream*, until it is over.

    Where *spawn* finds an active job instead, that one is run if it still waits, and followed if
    it runs elsewhere.

    Raises:
        RefusedError: The job was purged while it was followed.
    """
    importlib.import_module("pycortex.builtin")
    name = click.get_current_context().command_path
    with Runner(conninfo, max_workers=1, name=name, grace=GRACE) as runner:
        job = _take(conninfo, spawn, runner)
        with (
            _ending_statements(runner, job),
            Source(conninfo, lambda conn: with_activity(conn, by_uuid(conn, [job.uuid]))) as source,
            screen(stream) as shown,
        ):
            found = follow(source, shown, over=_over)
    if not found:
        raise RefusedError(f"job {job.uuid} is gone", "it was purged")
    return found[0]


@contextmanager
def _ending_statements(runner: Runner, job: Job) -> Iterator[None]:
    """Let Ctrl-C end what maintenance does in the database, which else would go on without us."""
    try:
        yield
    except BaseException:
        if job.kind in CLEANING:
            runner._last_call(PATIENCE)
        raise


def _take(conninfo: str, spawn: Spawn, runner: Runner) -> Job:
    # One transaction, so that no worker can come between the spawn and the start.
    with psycopg.connect(conninfo, autocommit=True) as conn, conn.transaction():
        spawned = spawn(conn)
        ours = sql.set_running(conn, spawned.uuid, runner.uuid)
        job = sql.find_job(conn, spawned.uuid)
    if job is None:
        raise RefusedError(f"job {spawned.uuid} is gone", "it was purged")
    body = registry.get(job.kind)
    if ours and body is not None:
        runner._adopt(job, body)
    else:
        say(f"job {job.uuid} does this already; following it")
    return job


def _over(jobs: Sequence[Job]) -> bool:
    return all(job.status.terminal for job in jobs)
