"""Jobs as they move: the whole terminal, bars in it, or lines elsewhere."""

import os
import shutil
import time
from collections.abc import Callable, Sequence
from typing import IO, Any, Protocol
from uuid import UUID

import psycopg
from psycopg.errors import LockNotAvailable
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from pycortex._call import scalar
from pycortex.cli._board import Board
from pycortex.cli._lines import Lines
from pycortex.cli._output import colours, say, speaks_unicode
from pycortex.cli._pace import Pace
from pycortex.cli._picture import Picture
from pycortex.cli._row import Layout, line
from pycortex.cli._terminal import in_one_go
from pycortex.models import Job

__all__ = ["Bars", "Source", "follow", "screen"]

TICK = 0.5
AWAY = 1.0
PATIENCE = b"set lock_timeout = '2s'"
"""A look at the jobs waits no longer for whoever has locked them all."""

Read = Callable[[psycopg.Connection[Any]], Sequence[Job] | Picture]


class Screen(Protocol):
    """Where moving jobs are shown."""

    def __enter__(self) -> "Screen": ...
    def __exit__(self, *exc: object) -> None: ...
    def show(self, jobs: Sequence[Job] | Picture) -> None:
        """Show the jobs as they stand now."""

    def away(self, why: str) -> None:
        """Say that the database doesn't answer: it is "out of reach", say."""

    def back(self) -> None:
        """Say that it is back."""

    def pause(self, seconds: float) -> bool:
        """Wait; tells whether somebody wants to leave."""


class Source:
    """Reads jobs again and again over a connection of its own, which may come and go."""

    def __init__(self, conninfo: str, read: Read) -> None:
        self._conninfo = conninfo
        self._read = read
        self._conn: psycopg.Connection[Any] | None = None
        self._came = False
        self.why = ""
        """What keeps the database from answering, after a read that gave nothing."""

    def __enter__(self) -> "Source":
        self._conn = self._connect()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._conn is not None:
            self._conn.close()

    def _connect(self) -> psycopg.Connection[Any]:
        # Nothing prepared: a pooler may give the next query another session.
        conn = psycopg.connect(self._conninfo, autocommit=True, prepare_threshold=None)
        if scalar(conn, "pg_catalog.pg_backend_pid", int) == conn.info.backend_pid:
            conn.execute(PATIENCE)  # a pooler would lend it to others
        return conn

    def read(self) -> Picture | None:
        """Return the jobs as they are; None while the database is away, or doesn't answer."""
        try:
            if self._conn is None or self._conn.closed:
                self._conn = self._connect()
            found = self._read(self._conn)
        except LockNotAvailable:
            self.why = "locked by somebody, such as an upgrade,"
            return None
        except (psycopg.OperationalError, psycopg.InterfaceError):
            if not self._came and self._conn is not None and not self._conn.closed:
                raise
            self.why = "out of reach"
            return None
        self._came = True
        return found if isinstance(found, Picture) else Picture(found)


def follow(
    source: Source,
    shown: Screen,
    *,
    over: Callable[[Sequence[Job]], bool],
    timeout: float | None = None,
) -> Sequence[Job]:
    """
    Show what *source* reads until it is *over*, or somebody at the screen wants to leave.

    Returns:
        The jobs as they were read last.

    Raises:
        TimeoutError: It wasn't over within *timeout* seconds.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    picture = Picture([])
    away = False
    while True:
        found = source.read()
        if found is None:
            shown.away(source.why)
        else:
            if away:
                shown.back()
            picture = found
            shown.show(picture)
            if over(picture.jobs):
                return picture.jobs
        away = found is None
        pause = AWAY if away else TICK
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            pause = min(pause, left)
        if shown.pause(pause):
            return picture.jobs


def screen(stream: IO[str] | None, *, quiet: bool = False, title: str | None = None) -> Screen:
    """
    Choose how to show jobs on *stream*: what moves needs a terminal that takes colours.

    Args:
        title: Take the whole terminal, with this at its top.
    """
    if quiet or stream is None:
        return Nothing()
    if not colours(stream):
        return Lines(stream)
    return Bars(stream) if title is None else Board(stream, title)


class Nothing:
    """Shows nothing, but says when the database goes."""

    def __init__(self) -> None:
        self._away = False

    def __enter__(self) -> "Nothing":
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, jobs: Sequence[Job] | Picture) -> None:
        """Do nothing with *jobs*."""

    def away(self, why: str) -> None:
        """Say once why the database doesn't answer."""
        if not self._away:
            say(f"the database is {why}; waiting for it")
        self._away = True

    def back(self) -> None:
        """Say that it is back."""
        say("the database is back")
        self._away = False

    def pause(self, seconds: float) -> bool:
        """Wait; nobody can want to leave but by Ctrl-C."""
        time.sleep(seconds)
        return False


class Bars(Nothing):
    """A bar for each of a few jobs, redrawn in place, among what else is on the terminal."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__()
        self._unicode = speaks_unicode(stream)
        self._console = Console(file=stream, force_terminal=True, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")
        self._paces: dict[UUID, Pace] = {}

    def __enter__(self) -> "Bars":
        self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        with in_one_go():
            self._live.__exit__(None, None, None)

    def show(self, jobs: Sequence[Job] | Picture) -> None:
        """Draw *jobs*, as many as the terminal has lines for."""
        if isinstance(jobs, Picture):
            jobs = jobs.jobs
        size = shutil.get_terminal_size() if "COLUMNS" in os.environ else self._console.size
        columns, lines = size[0], size[1]
        drawn = jobs[: max(lines - 2, 1)]
        layout = Layout.of(drawn, max(columns - 1, 1), unicode=self._unicode)
        texts = []
        for job in drawn:
            pace = self._paces.setdefault(job.uuid, Pace())
            pace.see(job)
            texts.append(line(job, pace, layout))
        if len(jobs) > len(drawn):
            texts.append(Text(f"and {len(jobs) - len(drawn)} more", style="dim"))
        with in_one_go():
            self._live.update(Group(*texts), refresh=True)
