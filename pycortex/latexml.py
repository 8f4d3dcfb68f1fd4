"""
Reads conversion logs of LaTeXML: what became of one document, and what was said on the way.

A message starts at the left margin, ``Severity:category:what the rest``; the lines that follow,
indented by a tab, belong to it. A message may quote several lines of TeX without indenting them:
they belong to it when tab-indented lines go on after them. Everything else (notes in nested
parentheses, progress, timings) carries no message.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

__all__ = ["Log", "Message", "Severity", "Status", "clip", "invalid", "lines", "parse", "read"]

CATEGORY_LIMIT = 100
WHAT_LIMIT = 200
DETAILS_LIMIT = 2000

_LINE_LIMIT = 32 * 1024
"""Bytes of a line that are looked at; more than the details can hold, whatever the characters."""


class Severity(enum.StrEnum):
    """How bad a message is; each has a log table of its own."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    FATAL = "fatal"
    INVALID = "invalid"


class Status(enum.IntEnum):
    """What became of a document: its worst message."""

    TODO = 0
    NO_PROBLEM = -1
    WARNING = -2
    ERROR = -3
    FATAL = -4
    INVALID = -5


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a log, cut to what its row can hold."""

    severity: Severity
    category: str
    what: str
    details: str


@dataclass(frozen=True, slots=True)
class Log:
    """
    What a log says.

    Attributes:
        status: That of the worst message.
        messages: In the order of the log.
        complete: Whether the log tells how the conversion ended; one that was cut off doesn't.
    """

    status: Status
    messages: tuple[Message, ...]
    complete: bool


_MARGINS = {
    b"Info:": Severity.INFO,
    b"Warning:": Severity.WARNING,
    b"Error:": Severity.ERROR,
    b"Fatal:": Severity.FATAL,
}
_STATUS = {
    Severity.INFO: Status.NO_PROBLEM,
    Severity.WARNING: Status.WARNING,
    Severity.ERROR: Status.ERROR,
    Severity.FATAL: Status.FATAL,
    Severity.INVALID: Status.INVALID,
}
_NOTES = (
    b"(Digesting ",
    b"(Loading ",
    b"(Processing ",
    b"(Building",
    b"(Rewriting",
    b"(Finalizing",
    b"(Math Parsing ",
)
_ENDS = (b"Conversion complete", b"Conversion failed")
_BOM = b"\xef\xbb\xbf"


def clip(text: str, limit: int) -> str:
    """Return *text*, cut to *limit* characters, the last of which says so."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def lines(file: BinaryIO) -> Iterator[bytes]:
    """
    Yield the lines of *file* without their ends, each cut to a sensible length.

    However long a line is, only so much of it is ever held.
    """
    first = True
    while line := file.readline(_LINE_LIMIT):
        rest = line
        while not rest.endswith(b"\n") and (rest := file.readline(_LINE_LIMIT)):
            pass
        if first:
            line, first = line.removeprefix(_BOM), False
        yield line.rstrip(b"\r\n")


def read(file: BinaryIO) -> Log:
    """
    Parse the log in *file*.

    Raises:
        OSError: The file can't be read.
    """
    return parse(lines(file))


def parse(source: Iterable[bytes]) -> Log:
    """
    Parse the lines of one log; a text that isn't one makes an invalid document.

    Args:
        source: The lines, without their ends.
    """
    empty = True
    known = False
    complete = False
    messages: list[Message] = []
    draft: _Draft | None = None

    for number, line in enumerate(source):
        empty = empty and not line.strip()
        colon = line.find(b":", 0, 8) + 1
        severity = _MARGINS.get(line[:colon]) if colon else None
        if severity is not None and not line[colon : colon + 1].isspace() and len(line) > colon:
            if draft is not None:
                messages.append(draft.message())
            draft = _Draft(severity, line[colon:])
            known = known or draft.well_formed
        elif draft is not None and line.startswith(b"\t"):
            draft.add(line[1:])
        elif _is_note(line) or line.startswith(_ENDS):
            ended = line.startswith(_ENDS)
            complete = complete or ended
            known = known or ended or b"..." in line
            if draft is not None:
                messages.append(draft.message())
                draft = None
        elif draft is not None:
            draft.hold(line)
        if number == 0 and b"(LaTeXML version " in line:
            known = True

    if draft is not None:
        messages.append(draft.message())
    if empty:
        return invalid("empty", "the file is empty")
    if not known:
        return invalid("not_a_log", "the file is not a conversion log of LaTeXML")
    worst = min((_STATUS[message.severity] for message in messages), default=Status.NO_PROBLEM)
    return Log(worst, tuple(messages), complete)


def invalid(what: str, reason: str) -> Log:
    """Return what stands for a document whose log can't be used, with the *reason* in words."""
    message = Message(
        Severity.INVALID, "import", _text(what.encode(), WHAT_LIMIT), clip(reason, DETAILS_LIMIT)
    )
    return Log(Status.INVALID, (message,), complete=False)


def _is_note(line: bytes) -> bool:
    """Whether *line* opens a note, or closes some: `` 0.01 sec) 0.43 sec)``."""
    return line.startswith(_NOTES) or (line.startswith(b" ") and line.endswith(b" sec)"))


def _text(raw: bytes, limit: int) -> str:
    """Decode *raw*; what isn't UTF-8, and NUL, which PostgreSQL refuses, become U+FFFD."""
    return clip(raw.decode("utf-8", "replace").replace("\x00", "\ufffd"), limit)


class _Draft:
    """A message whose details may still grow."""

    def __init__(self, severity: Severity, text: bytes) -> None:
        self._severity = severity
        category, colon, rest = text.partition(b":")
        if not colon:  # "Warning:odd text": the first word is all the name there is
            category, _, rest = text.partition(b" ")
            rest = b" " + rest
        self._category = category
        self._what, rest = _first_word(rest)
        self._details = [rest.strip()]
        self._held: list[bytes] = []
        self._room = 4 * DETAILS_LIMIT - len(rest)
        self.well_formed = bool(colon) and not any(byte in b" \t" for byte in category)

    def add(self, line: bytes) -> None:
        """Take a line of details, and those before it that were on trial."""
        self.hold(line)
        self._details += self._held
        self._held.clear()

    def hold(self, line: bytes) -> None:
        """Keep a line that belongs here only if details go on after it."""
        if self._room >= 0:
            self._held.append(line)
            self._room -= len(line)

    def message(self) -> Message:
        """Return the message as far as it was told."""
        return Message(
            self._severity,
            _text(self._category, CATEGORY_LIMIT),
            _text(self._what, WHAT_LIMIT),
            _text(b"\n".join(self._details).strip(), DETAILS_LIMIT),
        )


def _first_word(text: bytes) -> tuple[bytes, bytes]:
    """Split *text* behind its first word, which is empty when it starts with a blank."""
    blank, tab = text.find(b" "), text.find(b"\t")
    end = min((place for place in (blank, tab) if place >= 0), default=len(text))
    return text[:end], text[end:]
