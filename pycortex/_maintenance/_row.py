"""What a maintenance job tells of one table in its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from psycopg.errors import Diagnostic

__all__ = ["Notice", "Row"]

LONGEST = 500
MOST = 50

SKIPPING = ("vacuum.c", "analyze.c")
"""Where in the server it is said that a table is skipped."""

DROPPING = ("tablecmds.c", "dropcmds.c")
"""Where it is said that there is nothing to drop."""


@dataclass(frozen=True, slots=True)
class Notice:
    """
    What the server noticed; the driver's own object lives no longer than its handler.

    Attributes:
        skips: Whether it says that VACUUM or ANALYZE skip a table, which to the server is no error.
        missing: Whether it says that what was to be dropped is not there.
    """

    words: str
    skips: bool
    missing: bool

    @classmethod
    def of(cls, said: Diagnostic) -> Notice:
        """Take what matters."""
        parts = (said.message_primary or "a warning without a text", said.message_hint)
        # Not by its text, which comes in the server's language.
        file = (said.source_file or "").rpartition("/")[2]
        skips = said.severity_nonlocalized == "WARNING" and file in SKIPPING
        missing = file in DROPPING
        return cls("; ".join(part for part in parts if part), skips, missing)


@dataclass(slots=True)
class Row:
    """
    One table in the result of a job.

    Attributes:
        table: Its name as the job was given it, or a partition's.
        outcome: done, failed, or skipped by the server.
        reason: Why it isn't done.
        bytes_before: Of its indexes for a reindex, of its rows for an analyze; so is bytes_after.
        rebuilt, dropped: Indexes; only a reindex tells them.
        partition_of: The table that was asked for, if this one was not.
    """

    table: str
    outcome: str = "done"
    reason: str | None = None
    seconds: float = 0.0
    bytes_before: int | None = None
    bytes_after: int | None = None
    warnings: list[str] = field(default_factory=list)
    rebuilt: list[str] | None = None
    dropped: list[str] | None = None
    partition_of: str | None = None

    def fail(self, reason: str) -> None:
        """Say what went wrong; further reasons are added."""
        self.outcome = "failed"
        self.reason = f"{self.reason}; {reason}" if self.reason else reason

    def warn(self, text: str) -> None:
        """Say what somebody should know, once; a flood of it is cut."""
        if text[:LONGEST] in self.warnings:
            return
        if len(self.warnings) < MOST:
            self.warnings.append(text[:LONGEST])
        elif len(self.warnings) == MOST:
            self.warnings.append("and more")

    def plain(self) -> dict[str, Any]:
        """Make an object for the result, without what this kind of job doesn't tell."""
        told = {name: getattr(self, name) for name in self.__slots__}
        optional = ("rebuilt", "dropped", "partition_of")
        told["seconds"] = round(self.seconds, 3)
        return {
            name: value for name, value in told.items() if value is not None or name not in optional
        }
