"""Log lines with fields, on the logger "pycortex"; silent until the application wants them."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from pycortex._fork import part_at_fork

__all__ = ["Outage", "brief", "logger"]

logger = logging.getLogger("pycortex")
logger.addHandler(logging.NullHandler())


def brief(error: BaseException) -> str:
    """Say an error in one line; a driver's message often has several, and hints."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


class Outage:
    """
    Tells the log once that the database is away, and once that it is back.

    Several parts of a runner notice the same outage, each in its own time; the first one warns, and
    it is over when all of them got through again.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._parts: set[str] = set()
        self._since = 0.0
        part_at_fork(self)

    def _part(self) -> None:
        self._lock = threading.Lock()

    def is_on(self, part: str) -> bool:
        """Whether *part* could not reach the database at its last try."""
        return part in self._parts

    def failed(self, part: str, error: BaseException, **extra: Any) -> None:
        """Note that *part* could not reach the database."""
        with self._lock:
            first = not self._parts
            if first:
                self._since = time.monotonic()
            self._parts.add(part)
        level = logging.WARNING if first else logging.DEBUG
        self._log.log(
            level, "%s can't reach the database, will try on: %s", part, brief(error), extra=extra
        )

    def over(self, part: str) -> None:
        """Note that *part* reached it."""
        if part not in self._parts:  # the usual case, without the lock
            return
        with self._lock:
            self._parts.discard(part)
            ended = not self._parts
        if ended:
            away = time.monotonic() - self._since
            self._log.info("the database answers again, after %.1f s", away)
