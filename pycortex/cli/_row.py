"""One job as one line of a live view: a bar, its pace, its heartbeat, its words."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from pycortex.cli._jobs import percent, progress, span
from pycortex.cli._output import STATUS_COLOURS, clean, clip
from pycortex.cli._pace import Pace, rate_in_words
from pycortex.cli._picture import WatchedJob
from pycortex.models import Job, JobStatus

__all__ = ["Layout", "heading", "line", "silence"]

WORRYING, ALARMING = 0.5, 0.8
"""Shares of the limit of silence from which a heartbeat is yellow, and red."""
NEVER = 10000 * 86400.0
"""Seconds after which a start is none."""
LEAST = 12
"""Columns that are left to the words, else the next part goes."""

KIND, BAR, DONE, RATE, LEFT, TIME, BEAT = "KIND", "BAR", "DONE", "RATE", "LEFT", "TIME", "BEAT"
GOES = ("JOB", RATE, TIME, DONE, LEFT)
"""What goes first on a narrow terminal."""
RIGHT = ("%", DONE, RATE, LEFT, TIME, BEAT)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which parts a line has, and how wide each is."""

    columns: int
    widths: dict[str, int]
    unicode: bool

    @classmethod
    def of(cls, jobs: Sequence[Job], columns: int, *, unicode: bool) -> "Layout":
        """Lay *jobs* out on so many *columns*."""
        kinds = max((cell_len(clean(job.kind)) for job in jobs), default=0)
        done = max((len(progress(job)) for job in jobs), default=0)
        narrow = columns < 60
        widths = {
            "JOB": 8,
            KIND: max(min(kinds, 10 if narrow else 22), 4),
            BAR: 6 if narrow else 20,
            "%": 4,
            DONE: min(max(done, 4), 17),
            RATE: 7,
            LEFT: 6,
            TIME: 6,
            BEAT: 6,
        }
        for name in GOES:
            if sum(widths.values()) + len(widths) + LEAST <= columns:
                break
            del widths[name]
        return cls(columns, widths, unicode)

    @property
    def mark(self) -> str:
        """What stands for words that were cut."""
        return "…" if self.unicode else "..."


def heading(layout: Layout) -> Text:
    """The names of the columns."""
    text = Text(no_wrap=True, overflow="crop", style="dim")
    for name, width in layout.widths.items():
        shown = "" if name in (BAR, "%") else name
        text.append((shown.rjust(width) if name in RIGHT else shown.ljust(width)) + " ")
    text.append("MESSAGE" if layout.columns - cell_len(text.plain) >= LEAST else "")
    text.truncate(layout.columns)
    return text


def line(job: Job, pace: Pace, layout: Layout) -> Text:
    """Word *job*, no wider than the layout."""
    colour = STATUS_COLOURS[job.status]
    text = Text(no_wrap=True, overflow="crop")
    for name, width in layout.widths.items():
        if name == BAR:
            _append_bar(text, job, width, colour, unicode=layout.unicode)
        else:
            words, style = _part(name, job, pace, colour)
            words = clip(words, width, mark=layout.mark)
            text.append(words.strip().rjust(width) if name in RIGHT else words, style=style)
        text.append(" ")
    if LEFT not in layout.widths and pace.left is not None:
        text.append(f"{_part(LEFT, job, pace, colour)[0]} ")
    words = clean(job.message)
    activity = job.activity if isinstance(job, WatchedJob) else ""
    if activity:
        words = f"{words} ({clean(activity)})".lstrip()
    if job.status is not JobStatus.RUNNING:
        text.append(job.status + _waiting(job), style=colour)
        text.append(" " if words else "")
    elif job.cancel_requested_at is not None:
        text.append("cancelling ", style=STATUS_COLOURS["cancelled"])
    room = layout.columns - cell_len(text.plain)
    if room > 0:
        text.append(clip(words, room, mark=layout.mark).rstrip())
    else:
        text.truncate(layout.columns)
    return text


def _part(name: str, job: Job, pace: Pace, colour: str) -> tuple[str, str]:
    done = percent(job)
    match name:
        case "JOB":
            return str(job.uuid)[:8], "dim"
        case "KIND":
            return clean(job.kind), ""
        case "%":
            return "" if done is None else f"{done}%", colour
        case "DONE":
            return progress(job), ""
        case "RATE":
            return rate_in_words(pace.rate or 0.0), ""
        case "LEFT":
            left = pace.left
            return "" if left is None else f"~{span(max(left, 1.0) if left < 9.5 else left)}", ""
        case "TIME":
            return span(_elapsed(job)) if job.started_at else "", ""
        case _:
            return _beat(job)


def _elapsed(job: Job) -> float:
    # The view counts to the last heartbeat; a person wants to know for how long it runs.
    running = job.status is JobStatus.RUNNING
    return job.duration_seconds + (job.seconds_since_update if running else 0.0)


def _waiting(job: Job) -> str:
    """Since when a queued job could be started, or how long until then."""
    if job.status is not JobStatus.QUEUED:
        return ""
    ready = (job.run_at - job.updated_at).total_seconds() - job.seconds_since_update
    if ready > 0:
        return f", starts in {span(ready)}" if ready < NEVER else ", starts never"
    return f" for {span(min(-ready, job.seconds_since_update))}"


def _beat(job: Job) -> tuple[str, str]:
    if job.status is not JobStatus.RUNNING:
        return "", ""
    age = span(job.seconds_since_update)
    return age, {"": "dim", "worrying": "yellow", "alarming": "bold red"}[silence(job)]


def silence(job: Job) -> str:
    """How bad it is that *job* has been silent for so long: nothing, worrying or alarming."""
    limit = job.stale_after if isinstance(job, WatchedJob) else None
    if limit is None or job.status is not JobStatus.RUNNING:
        return ""
    share = job.seconds_since_update / max(limit.total_seconds(), 1e-9)
    return "alarming" if share >= ALARMING else "worrying" if share >= WORRYING else ""


def _append_bar(text: Text, job: Job, size: int, colour: str, *, unicode: bool) -> None:
    full, rest = ("━", "─") if unicode else ("#", "-")
    done = percent(job)
    if done is None:
        done = 100 if job.status is JobStatus.SUCCEEDED else 0
    filled = size * done // 100
    text.append(full * filled, style=colour)
    text.append(rest * (size - filled), style="dim")
