"""How fast a job goes and how long it will take, from what was seen of it lately."""

from collections import deque
from itertools import pairwise
from statistics import median

from pycortex.models import Job, JobStatus

__all__ = ["Pace", "rate_in_words"]

WINDOW = 60.0
"""Seconds of progress that count."""
FEW = 6
"""So many of the newest steps count however old they are, for jobs that step once in minutes."""
SETTLED = 2.0
"""Seconds that must have been seen before anything is said."""
KNOWN_BY_ITS_START = 30.0
"""Seconds that a job must have run before its average counts, as long as nothing else is known."""
LONGEST = 90 * 86400.0

Seen = tuple[float, int]
"""When a job stood where."""


class Pace:
    """
    The pace of one job, by the clock of the database.

    The rate is the median of the slopes from each step seen lately to the last one, so that a jump,
    such as the work that a resumed body skips, doesn't count. A new attempt, or a count that goes
    back, begins it anew.
    """

    def __init__(self) -> None:
        self._seen: deque[Seen] = deque()
        self._attempt: int | None = None
        self._from_zero = True
        self._now = 0.0
        self._total: int | None = None
        self._elapsed = 0.0

    def see(self, job: Job) -> None:
        """Take note of how far *job* is."""
        if job.status is not JobStatus.RUNNING or job.started_at is None:
            self._forget(None)
            return
        if job.attempt != self._attempt:
            self._forget(job.attempt)
        elif self._seen and job.progress_current < self._seen[-1][1]:
            self._forget(job.attempt)
            self._from_zero = False
        stepped = job.updated_at.timestamp()
        self._now = stepped + job.seconds_since_update
        self._elapsed = self._now - job.started_at.timestamp()
        self._total = job.progress_total
        if not self._seen or job.progress_current != self._seen[-1][1]:
            self._seen.append((stepped, job.progress_current))
        while len(self._seen) > FEW and self._now - self._seen[0][0] > WINDOW:
            self._seen.popleft()

    def _forget(self, attempt: int | None) -> None:
        self._seen.clear()
        self._attempt = attempt
        self._from_zero = True

    @property
    def rate(self) -> float | None:
        """Units a second; None while that can't be told."""
        if not self._seen:
            return None
        *before, (last, current) = self._seen
        times = [at for at, _ in self._seen]
        gaps = [later - earlier for earlier, later in pairwise(times)]
        # Between two steps nothing is lost; a silence longer than any before slows it down.
        silence = self._now - last
        end = self._now if gaps and silence > 2 * max(gaps) else last
        slopes = [
            (current - done) / (end - at)
            for at, done in before
            if end - at >= min(SETTLED, end - before[0][0]) > 0
        ]
        if slopes and end - before[0][0] >= SETTLED:
            return median(slopes)
        if self._from_zero and current > 0 and self._elapsed >= KNOWN_BY_ITS_START:
            return current / self._elapsed
        return None

    @property
    def left(self) -> float | None:
        """Seconds until it has done its total; None while that can't be told."""
        rate = self.rate
        if not rate or rate < 0 or self._total is None:
            return None
        last, current = self._seen[-1]
        if self._total <= current:
            return None
        seconds = (self._total - current) / rate - min(self._now - last, 1 / rate)
        return max(seconds, 0.0) if seconds <= LONGEST else None


def rate_in_words(rate: float) -> str:
    """A rate in the unit that suits it: 1.2k/s, 35/s, 0.4/s, 7/min, 3/h."""
    if rate <= 0:
        return ""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:.1f}{letter}/s"
    if rate >= 9.95:
        return f"{rate:.0f}/s"
    if rate >= 0.2:
        return f"{rate:.1f}/s"
    if rate * 60 >= 0.95:
        return f"{rate * 60:.0f}/min"
    return f"{rate * 3600:.0f}/h" if rate * 3600 >= 0.5 else "<1/h"
