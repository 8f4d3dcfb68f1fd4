"""The live view of an operator: the whole terminal, redrawn in place."""

import io
import time
from collections.abc import Sequence
from datetime import datetime
from typing import IO
from uuid import UUID

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from pycortex.cli._jobs import span
from pycortex.cli._output import speaks_unicode
from pycortex.cli._pace import Pace
from pycortex.cli._picture import Picture
from pycortex.cli._row import Layout, heading, line
from pycortex.cli._terminal import Terminal
from pycortex.models import Job, JobStatus, Overview

__all__ = ["Board"]

LATE = 300.0
"""Seconds after which upkeep that should come every minute is late."""
ROOMY = 12
"""Lines from which the title and the headings have their place."""


class Board:
    """
    Shows pictures on the terminal that *stream* is.

    Args:
        title: What is watched.
    """

    def __init__(self, stream: IO[str], title: str) -> None:
        self._stream = stream
        self._unicode = speaks_unicode(stream)
        self._title = title
        self._paces: dict[UUID, Pace] = {}
        self._picture: Picture | None = None
        self._taken = 0.0
        self._away_since: float | None = None
        self._why = ""
        self._terminal = Terminal(stream, self._draw)
        self._colours = Console(file=stream, force_terminal=True).color_system
        self._size = (0, 0)

    def __enter__(self) -> "Board":
        self._terminal.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._terminal.__exit__(None, None, None)
        if self._picture is not None:  # what was seen last stays, where one can scroll to it
            self._stream.write("\n".join(self._rendered()) + "\n")
            self._stream.flush()

    @property
    def lines(self) -> int:
        """So many jobs may find a place."""
        return self._terminal.size[1]

    def show(self, jobs: Sequence[Job] | Picture) -> None:
        """Draw what there is."""
        picture = jobs if isinstance(jobs, Picture) else Picture(jobs)
        self._picture, self._taken, self._away_since = picture, time.monotonic(), None
        self._paces = {job.uuid: self._paces.get(job.uuid) or Pace() for job in picture.jobs}
        for job in picture.jobs:
            self._paces[job.uuid].see(job)
        self._draw()

    def away(self, why: str) -> None:
        """Say why the database doesn't answer."""
        self._why = why
        if self._away_since is None:
            self._away_since = time.monotonic()
        self._draw()

    def back(self) -> None:
        """The next picture says it."""

    def pause(self, seconds: float) -> bool:
        """Wait; tells whether somebody wants to leave."""
        return self._terminal.pause(seconds)

    def _draw(self) -> None:
        if self._picture is not None or self._away_since is not None:
            self._terminal.draw(self._rendered())

    def _rendered(self) -> list[str]:
        console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system=self._colours,  # type: ignore[arg-type]  # what it found itself
            highlight=False,
        )
        rendered = []
        for text in self._texts():
            with console.capture() as capture:
                console.print(text, end="", soft_wrap=True)
            rendered.append(capture.get())
        return rendered

    def _texts(self) -> list[Text]:
        columns, lines = self._terminal.size
        columns = max(columns - 1, 1)
        picture = self._picture or Picture([])
        top = [self._head(columns)] if lines >= ROOMY or self._away_since is not None else []
        if picture.overview is not None:
            top += _wrapped(_facts(picture.overview), columns)
        if lines >= ROOMY:
            top.append(Text(""))
        room = max(lines - len(top) - (1 if lines >= ROOMY else 0), 1)
        drawn, hidden = _chosen(picture, room)
        layout = Layout.of(drawn, columns, unicode=self._unicode)
        if drawn and lines >= ROOMY:
            top.append(heading(layout))
        rows = [line(job, self._paces[job.uuid], layout) for job in drawn]
        if hidden:
            rows.append(Text(f"and {hidden} more", style="dim"))
        if not picture.jobs and self._picture is not None:
            rows.append(Text("no active jobs", style="dim"))
        for text in (*top, *rows):
            text.truncate(columns)
        return [*top, *rows][:lines]

    def _head(self, columns: int) -> Text:
        if self._away_since is not None:
            text = Text(no_wrap=True, overflow="crop", style="bold red")
            text.append(
                f"database {self._why} for {_whole(time.monotonic() - self._away_since)}, waiting"
            )
            if self._picture is not None:
                text.append(f"; this is {_whole(time.monotonic() - self._taken)} old")
            return text
        text = Text(no_wrap=True, overflow="crop")
        text.append(self._title, style="bold")
        clock = datetime.now().astimezone().strftime("%H:%M:%S")
        gap = columns - cell_len(self._title) - len(clock)
        if gap > 1:
            text.append(" " * gap + clock, style="dim")
        return text


def _chosen(picture: Picture, room: int) -> tuple[list[Job], int]:
    """Choose what is drawn: what moves before what waits, and that before what is over."""
    active = sum(not job.status.terminal for job in picture.jobs) + picture.more
    if len(picture.jobs) <= room and not picture.more:
        return list(picture.jobs), 0
    room = max(room - 1, 1)  # a line says how many more there are
    ranked = sorted(
        picture.jobs, key=lambda job: (job.status.terminal, job.status is not JobStatus.RUNNING)
    )
    chosen = {job.uuid for job in ranked[:room]}
    drawn = [job for job in picture.jobs if job.uuid in chosen]
    moving = sum(not job.status.terminal for job in drawn)
    return drawn, max(active - moving, 0)


def _facts(overview: Overview) -> list[tuple[str, str]]:
    """The numbers at the top, each with its style."""
    facts = [(f"{overview.running} running", "blue" if overview.running else "dim")]
    queued = f"{overview.queued} queued"
    stuck = bool(overview.ready) and not overview.runners_alive
    if overview.oldest_ready_at is not None:
        age = (overview.at - overview.oldest_ready_at).total_seconds()
        queued += f", oldest waits {_whole(age)}"
    facts.append((queued, "bold red" if stuck else "cyan" if overview.queued else "dim"))
    for number, name, style in (
        (overview.failed, "failed", "red"),
        (overview.interrupted, "interrupted", "yellow"),
        (overview.succeeded, "succeeded", "green"),
    ):
        if number or name == "failed":
            facts.append((f"{number} {name}", style if number else "dim"))
    name, style = facts[-1]
    facts[-1] = (f"{name} in the last hour", style)
    runners = f"{overview.runners_alive} runner{'' if overview.runners_alive == 1 else 's'}"
    facts.append((runners, "" if overview.runners_alive else "bold red" if stuck else "dim"))
    if overview.last_maintenance_at is None:
        facts.append(("no upkeep yet", "yellow"))
    else:
        age = (overview.at - overview.last_maintenance_at).total_seconds()
        facts.append((f"upkeep {_whole(age)} ago", "yellow" if age > LATE else "dim"))
    return facts


def _wrapped(facts: list[tuple[str, str]], columns: int) -> list[Text]:
    """Put the facts on as many lines as they need, each whole."""
    texts = [Text(no_wrap=True, overflow="crop")]
    for words, style in facts:
        used = cell_len(texts[-1].plain)
        if used and used + 3 + len(words) > columns:
            texts.append(Text(no_wrap=True, overflow="crop"))
        elif used:
            texts[-1].append("   ")
        texts[-1].append(words, style=style)
    return texts


def _whole(seconds: float) -> str:
    return span(round(max(seconds, 0))).replace(".0s", "s")
