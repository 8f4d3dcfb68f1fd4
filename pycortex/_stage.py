"""What the demo's acts have in common: headings, claims, processes, jobs on the screen."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import UUID

import click
from psycopg import Connection

from pycortex.cli._jobs import JOB_COLUMNS, by_uuid, job_row
from pycortex.cli._live import Source, follow, screen
from pycortex.cli._output import is_terminal, out, paint, width, wrapped
from pycortex.cli._table import print_table
from pycortex.cli.listing import SHORT_BELOW
from pycortex.database import URL_VARIABLE
from pycortex.models import Job

__all__ = ["Stage", "over"]

PATIENCE = 60.0
PAUSE = 1.0
"""Seconds for a person to read what an act showed; nobody else waits."""


class Stage:
    """
    Where acts are shown.

    Attributes:
        broken: The claims that did not hold.
    """

    def __init__(self, conninfo: str, conn: Connection[Any], command: str) -> None:
        self.conninfo = conninfo
        self.conn = conn
        self.command = command
        self.broken: list[str] = []
        self._act = 0

    def title(self, text: str, *commands: str) -> None:
        """Begin an act: one sentence, and what one would type to see the same."""
        if self._act and is_terminal(sys.stdout):
            time.sleep(PAUSE)
        self._act += 1
        out()
        out(click.style(wrapped(f"{self._act}. ", text, sys.stdout), bold=True))
        for command in commands:
            out(click.style(f"   {command}", dim=True))

    def tell(self, text: str) -> None:
        """Say something, over as many lines as it needs."""
        out(wrapped("", text, sys.stdout))

    def claim(self, text: str, holds: object) -> None:
        """Say that *text* holds; or that it does not."""
        if holds:
            out(wrapped("ok  ", text, sys.stdout).replace("ok", paint("ok", "ok"), 1))
        else:
            self.broken.append(text)
            out(f"{paint('NOT SO', 'error')}  {text}")

    def row(self, query: str, *values: object) -> Any:
        """Read one row."""
        return self.conn.execute(query.encode(), values).fetchone()

    def table(self, jobs: Sequence[Job]) -> None:
        """Show jobs as they stand."""
        short = (width(sys.stdout) or SHORT_BELOW) < SHORT_BELOW
        print_table(JOB_COLUMNS, [job_row(job, short=short) for job in jobs])

    @contextlib.contextmanager
    def process(self, role: str) -> Iterator["subprocess.Popen[str]"]:
        """Run another process of the demo, which is gone at the end of the block."""
        process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-m", "pycortex._demo_child", role],
            env=os.environ | {URL_VARIABLE: self.conninfo},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        with process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)

    def until(self, uuids: Sequence[UUID], over: Callable[[Sequence[Job]], bool]) -> Sequence[Job]:
        """Show jobs as they move, until they are *over*."""
        with (
            Source(self.conninfo, lambda conn: by_uuid(conn, uuids)) as source,
            screen(sys.stdout) as shown,
        ):
            return follow(source, shown, over=over, timeout=PATIENCE)


def over(jobs: Sequence[Job]) -> bool:
    """Whether there are jobs, and all have ended."""
    return bool(jobs) and all(job.status.terminal for job in jobs)
