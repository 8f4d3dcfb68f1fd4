"""
Reads conversion logs of LaTeXML: what became of one document, and what was said on the way.

A message starts at the left margin, ``Severity:category:what the rest``; the lines that follow,
indented by a tab, belong to it. A message may quote several lines of TeX without indenting them:
they belong to it when tab-indented lines go on after them. Everything else (notes in nested
parentheses, progress, timings) carries no message.
"""

from __future__ import annotations

import enum
import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

__all__ = [
    "Log",
    "Message",
    "Severity",
    "Status",
    "clip",
    "invalid",
    "lines",
    "parse",
    "parse_whole",
    "read",
]

CATEGORY_LIMIT = 100
WHAT_LIMIT = 200
DETAILS_LIMIT = 2000

_LINE_LIMIT = 32 * 1024
"""Bytes of a line that are looked at; more than the details can hold, whatever the characters."""

_ROOM = 4 * DETAILS_LIMIT
"""Bytes of details that are looked at."""

MESSAGES_LIMIT = 64 * 2**20
"""Characters of all messages of one log; nobody reads more, but it would fill the memory."""

WHOLE_LIMIT = 4 * 2**20
"""Bytes of a log that is parsed in one go; a longer one is parsed line by line, as it is read."""


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

    @property
    def size(self) -> int:
        """About what it takes."""
        return 200 + len(self.category) + len(self.what) + len(self.details)


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


_USUAL = 2**16
"""Bytes of most logs, and more."""

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
_MARGIN = re.compile(rb"\n(?:Info|Warning|Error|Fatal):(?=\S)")
_BLANK = re.compile(rb"[ \t]")
_TABBED = re.compile(rb"(?:\t[^\r\n]*\n)*")


def clip(text: str, limit: int) -> str:
    """Return *text*, cut to *limit* characters, the last of which says so."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def lines(file: BinaryIO) -> Iterator[bytes]:
    """
    Yield the lines of *file* without their ends, each cut to a sensible length.

    However long a line is, only so much of it is ever held.
    """
    return _clip_lines(file)


def _clip_lines(file: BinaryIO | _Resumed) -> Iterator[bytes]:
    first = True
    while line := file.readline(_LINE_LIMIT):
        rest = line
        while not rest.endswith(b"\n") and (rest := file.readline(_LINE_LIMIT)):
            pass
        if first:
            line, first = line.removeprefix(_BOM), False
        yield line.rstrip(b"\r\n")


def read(file: BinaryIO, beat: Callable[[], object] | None = None) -> Log:
    """
    Parse the log in *file*, of which never more than WHOLE_LIMIT is held.

    Args:
        beat: Called now and then while a long one is read.

    Raises:
        OSError: The file can't be read.
    """
    head = file.read(_USUAL)
    if len(head) == _USUAL:
        head += file.read(WHOLE_LIMIT - _USUAL)
    if len(head) < WHOLE_LIMIT:
        return parse_whole(head)
    return parse(_clip_lines(_Resumed(head, file, beat or bool)))


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
    room = MESSAGES_LIMIT

    for number, line in enumerate(source):
        empty = empty and not line.strip()
        colon = line.find(b":", 0, 8) + 1
        severity = _MARGINS.get(line[:colon]) if colon else None
        if severity is not None and not line[colon : colon + 1].isspace() and len(line) > colon:
            if draft is not None:
                messages.append(draft.message())
                room -= messages[-1].size
                if room < 0:
                    return invalid("too_long", f"its messages are over {MESSAGES_LIMIT} characters")
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


def parse_whole(data: bytes) -> Log:
    """
    Parse a log that is all there; what parse makes of its lines, several times as fast.

    Most of a log says nothing: it goes from message to message and looks at little between them.
    """
    start = len(_BOM) if data.startswith(_BOM) else 0
    places = [place.start() + 1 for place in _MARGIN.finditer(data, start)]
    if data.startswith(tuple(_MARGINS), start) and _MARGIN.match(b"\n" + data[start : start + 16]):
        places.insert(0, start)
    messages: list[Message] = []
    known = data.find(b"(LaTeXML version ", start, _line_end(data, start)) >= 0
    plain = b"\r" not in data and b"\x00" not in data
    for place, end in pairwise([*places, len(data)]):
        message = _plain_message(data, place, end) if plain else None
        if message is None:
            draft = _draft(data, place, end)
            known = known or draft.well_formed
            message = draft.message()
        else:
            known = True
        messages.append(message)
    complete = any(data.startswith(m, start) or data.rfind(b"\n" + m, start) >= 0 for m in _ENDS)
    if not (known or complete):  # notes may still tell; rare enough to look at every line
        return parse(lines(io.BytesIO(data)))
    worst = min([_STATUS[message.severity] for message in messages], default=Status.NO_PROBLEM)
    return Log(worst, tuple(messages), complete)


def _plain_message(data: bytes, place: int, end: int) -> Message | None:
    """Make the usual message, a well-formed line and tab-indented ones; None of any other."""
    eol = data.find(b"\n", place, end)
    if eol < 0 or eol - place > _ROOM:
        return None
    after = end
    if eol + 1 < end:
        tabbed = _TABBED.match(data, eol + 1, min(end, eol + _ROOM))
        after = tabbed.end() if tabbed else eol + 1
        if after < end and not _is_note(data[after : _line_end(data, after)]):
            return None
    severity, _, text = data[place:eol].partition(b":")
    category, colon, text = text.partition(b":")
    if not colon or b" " in category or b"\t" in category:
        return None
    blank = _BLANK.search(text)
    what, rest = (text[: blank.start()], text[blank.start() :]) if blank else (text, b"")
    details = rest.strip() + data[eol : after - 1].replace(b"\n\t", b"\n")
    return Message(
        _MARGINS[severity + b":"],
        clip(category.decode("utf-8", "replace"), CATEGORY_LIMIT),
        clip(what.decode("utf-8", "replace"), WHAT_LIMIT),
        clip(details.strip().decode("utf-8", "replace"), DETAILS_LIMIT),
    )


def _draft(data: bytes, place: int, end: int) -> _Draft:
    """Make a message of whatever kind; those that follow it begin at *end*."""
    line = data[place : min(_line_end(data, place), end)].rstrip(b"\r\n")
    colon = line.index(b":") + 1
    draft = _Draft(_MARGINS[line[:colon]], line[colon:])
    place = data.find(b"\n", place, end) + 1 or end
    tabbed = _TABBED.match(data, place, min(end, place + draft.room))
    if tabbed and tabbed.end() > place:
        draft.add(data[place + 1 : tabbed.end() - 1].replace(b"\n\t", b"\n"))
        place = tabbed.end()
    while place < end and not draft.full:
        line = data[place : min(_line_end(data, place), end)].rstrip(b"\r\n")
        if line.startswith(b"\t"):
            draft.add(line[1:])
        elif _is_note(line) or line.startswith(_ENDS):
            break
        else:
            draft.hold(line)
        place = data.find(b"\n", place, end) + 1 or end
    return draft


def _line_end(data: bytes, place: int) -> int:
    """Say where the line at *place* ends, or where it is cut."""
    end = data.find(b"\n", place, place + _LINE_LIMIT)
    return end if end >= 0 else place + _LINE_LIMIT


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
        self.room = _ROOM - len(rest)
        self.well_formed = bool(colon) and not any(byte in b" \t" for byte in category)

    def add(self, line: bytes) -> None:
        """Take a line of details, and those before it that were on trial."""
        self.hold(line)
        self._details += self._held
        self._held.clear()

    def hold(self, line: bytes) -> None:
        """Keep a line that belongs here only if details go on after it."""
        if self.room >= 0:
            self._held.append(line)
            self.room -= len(line)

    @property
    def full(self) -> bool:
        """Whether nothing that follows can change it."""
        return self.room < 0 and not self._held

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


class _Resumed:
    """A file of which the beginning was read already."""

    def __init__(self, head: bytes, rest: BinaryIO, beat: Callable[[], object]) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest
        self._beat = beat
        self._until_beat = WHOLE_LIMIT

    def readline(self, limit: int) -> bytes:
        """Read a line, or the first *limit* bytes of it."""
        line = self._head.readline(limit)
        if not line.endswith(b"\n") and len(line) < limit:
            line += self._rest.readline(limit - len(line))
        self._until_beat -= len(line)
        if self._until_beat < 0:
            self._until_beat = WHOLE_LIMIT
            self._beat()
        return line
