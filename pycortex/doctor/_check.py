"""What a check is."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["NAMED", "UPKEEP_LATE", "Check", "Level", "listed"]

UPKEEP_LATE = 300
"""Seconds after which upkeep that pg_cron or a runner should do every minute is late."""
NAMED = 10
"""So many of what is found are named."""


class Level(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: how it is, and what to do about it."""

    name: str
    level: Level
    message: str
    hint: str = ""


def listed(names: list[str]) -> str:
    """Name the first of them, and say how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
