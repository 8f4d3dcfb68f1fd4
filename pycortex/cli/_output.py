"""What goes to the terminal: streams that never raise, safe text, JSON and tables."""

import dataclasses
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import IO, Any
from uuid import UUID

import click
from rich.cells import cell_len, set_cell_size

__all__ = [
    "clean",
    "clip",
    "colours",
    "is_terminal",
    "out",
    "paint",
    "plain",
    "prepare_streams",
    "print_json",
    "print_json_line",
    "say",
    "speaks_unicode",
    "width",
    "wrapped",
]

STATUS_COLOURS = {
    "queued": "cyan",
    "running": "blue",
    "succeeded": "green",
    "failed": "red",
    "interrupted": "yellow",
    "cancelled": "magenta",
    "ok": "green",
    "warning": "yellow",
    "error": "red",
    "alive": "green",
    "dead": "red",
}


def prepare_streams() -> None:
    """Let no character that the console can't show end a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def out(text: str = "", *, end: str = "\n") -> None:
    """Write data to standard output."""
    _write(text + end, sys.stdout)


def say(text: str = "") -> None:
    """Write talk to standard error."""
    _write(text + "\n", sys.stderr)


def _write(text: str, stream: IO[str] | None) -> None:
    # Not click.echo: in a C locale it would write UTF-8 past the stream's own encoding.
    if stream is not None:
        stream.write(text if colours(stream) else click.unstyle(text))
        stream.flush()


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether *stream* is a terminal that may be sent control sequences."""
    try:
        return (
            stream is not None
            and stream.isatty()
            and os.environ.get("TERM", "dumb") not in ("dumb", "unknown", "")
        )
    except ValueError:  # closed
        return False


def colours(stream: IO[str] | None) -> bool:
    """Whether *stream* gets colours: a terminal, and nobody asked for none."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def speaks_unicode(stream: IO[str] | None) -> bool:
    """Whether *stream* can show more than ASCII."""
    return (getattr(stream, "encoding", None) or "ascii").lower().startswith("utf")


def width(stream: IO[str] | None) -> int | None:
    """Columns of the terminal that *stream* is; None for a file or a pipe, which has no end."""
    if stream is None or not stream.isatty():
        return None
    if os.environ.get("COLUMNS", "").isdigit():
        return max(int(os.environ["COLUMNS"]), 10)
    try:
        return max(os.get_terminal_size(stream.fileno()).columns or 80, 10)
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


def wrapped(prefix: str, text: str, stream: IO[str] | None) -> str:
    """Write *text* behind *prefix*, over as many lines as the terminal needs, words kept whole."""
    columns = width(stream)
    if columns is None or cell_len(prefix) + cell_len(text) <= columns:
        return prefix + text
    indent = cell_len(prefix) if cell_len(prefix) * 3 <= columns else 2
    lines = textwrap.wrap(
        text,
        columns - indent,
        break_long_words=False,
        break_on_hyphens=False,
        initial_indent=" " * (cell_len(prefix) - indent),
    )
    first, *rest = lines or [""]
    return f"\n{' ' * indent}".join([prefix + first.lstrip(), *rest])


def paint(text: str, status: str) -> str:
    """Colour *text* as *status* is coloured; the colour is dropped where none is wanted."""
    return click.style(text, fg=STATUS_COLOURS.get(status))


def clean(text: str) -> str:
    """Text on one line, with what a terminal would obey written out (a newline as \\n)."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def clip(text: str, columns: int, *, mark: str = "…") -> str:
    """Cut *text* to so many columns of a terminal, and pad it to exactly that."""
    if cell_len(text) > columns:
        mark = mark if cell_len(mark) < columns else ""
        text = set_cell_size(text, columns - cell_len(mark)).rstrip() + mark
    return set_cell_size(text, columns)


def print_json(value: Any) -> None:
    """Write *value* as JSON in ASCII: dataclasses as objects, times in ISO 8601 with offset."""
    out(json.dumps(plain(value), ensure_ascii=True, indent=2, allow_nan=False))


def print_json_line(value: Any) -> None:
    """Write *value* as one line of JSON, as `print_json` does otherwise."""
    out(json.dumps(plain(value), ensure_ascii=True, allow_nan=False))


def plain(value: Any) -> Any:
    """Turn *value* into what JSON has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    match value:
        case Enum():
            return value.value
        case None | bool() | str() | int():
            return value
        case float():
            return value if value == value and abs(value) != float("inf") else None
        case Decimal():
            # Only what neither int nor float can hold arrives here.
            return str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID():
            return str(value)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case Sequence() | Iterable():
            return [plain(item) for item in value]
        case _:
            return str(value)
