"""Jobs as they move: bars on a terminal, lines elsewhere."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any, Protocol
from uuid import UUID

import psycopg
from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from pycortex.cli._jobs import percent, progress, span
from pycortex.cli._output import STATUS_COLOURS, clean, clip, colours, say, speaks_unicode
from pycortex.models import Job, JobStatus

__all__ = ["Source", "follow", "screen"]

TICK = 0.4
QUIET = 2.0
"""Seconds between two lines about one job in the same status, where there are no bars."""
AWAY = 1.0

Read = Callable[[psycopg.Connection[Any]], Sequence[Job]]


class Screen(Protocol):
    """Where moving jobs are shown."""

    def __enter__(self) -> "Screen": ...
    def __exit__(self, *exc: object) -> None: ...
    def show(self, jobs: Sequence[Job]) -> None:
        """Show *jobs* as they stand now."""


class Source:
    """Reads jobs again and again over a connection of its own, which may come and go."""

    def __init__(self, conninfo: str, read: Read) -> None:
        self._conninfo = conninfo
        self._read = read
        self._conn: psycopg.Connection[Any] | None = None
        self._away = False

    def __enter__(self) -> "Source":
        self._conn = psycopg.connect(self._conninfo, autocommit=True)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._conn is not None:
            self._conn.close()

    def read(self) -> Sequence[Job] | None:
        """Return the jobs as they are; None while the database is away."""
        try:
            if self._conn is None or self._conn.closed:
                self._conn = psycopg.connect(self._conninfo, autocommit=True)
            jobs = self._read(self._conn)
        except psycopg.OperationalError as error:
            if self._conn is not None and not self._conn.closed and error.sqlstate:
                raise
            if not self._away:
                say("the database is out of reach; waiting for it")
            self._away = True
            return None
        if self._away:
            say("the database is back")
            self._away = False
        return jobs


def follow(
    source: Source,
    shown: Screen,
    *,
    over: Callable[[Sequence[Job]], bool],
    timeout: float | None = None,
) -> Sequence[Job]:
    """
    Show what *source* reads until it is *over*.

    Returns:
        The jobs as they were read last.

    Raises:
        TimeoutError: It wasn't over within *timeout* seconds.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        jobs = source.read()
        if jobs is not None:
            shown.show(jobs)
            if over(jobs):
                return jobs
        pause = TICK if jobs is not None else AWAY
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            pause = min(pause, left)
        time.sleep(pause)


def screen(stream: IO[str] | None, *, quiet: bool = False) -> Screen:
    """Choose how to show jobs on *stream*: bars need a terminal that takes colours."""
    if quiet or stream is None:
        return Nothing()
    return Bars(stream) if colours(stream) else Lines(stream)


@contextmanager
def _in_one_go() -> Iterator[None]:
    """Hold Ctrl-C back: what is drawn by half would be drawn again, behind itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        # Not by a mask: another thread would get the signal, and this one its exception.
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, signal.SIG_DFL if handler is None else handler)
        for late in came:
            signal.raise_signal(late)


class Nothing:
    """Shows nothing."""

    def __enter__(self) -> "Nothing":
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, jobs: Sequence[Job]) -> None:
        """Do nothing with *jobs*."""


class Lines:
    """A line whenever a job has something new to say."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._said: dict[UUID, tuple[float, JobStatus, tuple[Any, ...]]] = {}

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, jobs: Sequence[Job]) -> None:
        """Write a line for each of *jobs* that changed."""
        now = time.monotonic()
        for job in jobs:
            news = (job.progress_current, job.progress_total, job.message, job.attempt)
            then, status, old = self._said.get(job.uuid, (0.0, None, ()))
            if job.status is status and (news == old or now - then < QUIET):
                continue
            self._said[job.uuid] = (now, job.status, news)
            when = datetime.now(UTC).isoformat(timespec="seconds")
            parts = [when, str(job.uuid), job.status, clean(job.kind), progress(job)]
            parts.append(clean(job.message))
            self._stream.write(" ".join(part for part in parts if part) + "\n")
            self._stream.flush()


class Bars:
    """A bar for each job, redrawn in place."""

    def __init__(self, stream: IO[str]) -> None:
        self._unicode = speaks_unicode(stream)
        self._console = Console(file=stream, force_terminal=True, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> "Bars":
        self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        with _in_one_go():
            self._live.__exit__(None, None, None)

    def show(self, jobs: Sequence[Job]) -> None:
        """Draw *jobs*, as many as the terminal has lines for."""
        size = shutil.get_terminal_size() if "COLUMNS" in os.environ else self._console.size
        columns, lines = size[0], size[1]
        room = max(lines - 2, 1)
        # What moves is worth more than what is over, and the newest more than the older.
        ranked = sorted(jobs, key=lambda job: (job.status.terminal, job.status != "running"))
        chosen = {job.uuid for job in ranked[:room]}
        drawn = [job for job in jobs if job.uuid in chosen]
        kinds = max((cell_len(clean(job.kind)) for job in drawn), default=0)
        texts = [self._line(job, columns - 1, kinds) for job in drawn]
        if len(jobs) > room:
            texts.append(Text(f"and {len(jobs) - room} more", style="dim"))
        if not texts:
            texts.append(Text("no active jobs", style="dim"))
        with _in_one_go():
            self._live.update(Group(*texts), refresh=True)

    def _line(self, job: Job, columns: int, kinds: int) -> Text:
        colour = STATUS_COLOURS[job.status]
        mark = "…" if self._unicode else "..."
        wide = columns >= 100
        kind = clip(clean(job.kind), min(kinds, 14 if columns < 60 else 22), mark=mark)
        text = Text(no_wrap=True, overflow="crop")
        if wide:
            text.append(f"{str(job.uuid)[:8]}  ", style="dim")
        text.append(f"{kind} ")
        self._append_bar(text, job, 8 if columns < 60 else 20, colour)
        done = percent(job)
        text.append(" " + ("" if done is None else f"{done}%").rjust(4), style=colour)
        if columns >= 60:
            text.append(f"  {progress(job):>9}  {span(job.duration_seconds):>6}")
        text.append("  ")
        words = clean(job.message)
        if job.status is not JobStatus.RUNNING:
            text.append(job.status, style=colour)
            text.append(" " if words else "")
        room = columns - cell_len(text.plain)
        if room > 0:
            text.append(clip(words, room, mark=mark).rstrip())
        else:
            text.truncate(columns)
        return text

    def _append_bar(self, text: Text, job: Job, size: int, colour: str) -> None:
        full, rest = ("━", "─") if self._unicode else ("#", "-")
        done = percent(job)
        if done is None:
            done = 100 if job.status is JobStatus.SUCCEEDED else 0
        filled = size * done // 100
        text.append(full * filled, style=colour)
        text.append(rest * (size - filled), style="dim")
