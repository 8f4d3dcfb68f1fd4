"""The library's log lines, on standard error, with their fields."""

import json
import logging
import sys

from pycortex._text import fit
from pycortex.cli._output import clean

__all__ = ["log_to_stderr"]

FIELDS = ("kind", "actor", "job", "elapsed")


ENDS = 100
"""So many lines of a traceback's beginning and end are shown."""


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z")
        fields = []
        for name in FIELDS:
            value = getattr(record, name, None)
            if value not in (None, ""):
                words = f"{value:.3f}" if name == "elapsed" else _quoted(str(value))
                fields.append(f"{name}={words}")
        trace = getattr(record, "trace", "")
        message = record.getMessage().removesuffix(f"\n{trace}")
        if record.exc_info:
            trace = self.formatException(record.exc_info)
        trace = trace or record.exc_text or ""
        text = clean(fit(" ".join([when, record.levelname.lower(), message, *fields])))
        # Indented and clean: whatever an exception says, no line of it passes for an event.
        return "".join([text, *(f"\n    {clean(fit(line))}" for line in _ends(trace.splitlines()))])


def _quoted(value: str) -> str:
    """A value as logfmt has it: in quotes where it would not stand as one word."""
    if value.isprintable() and not any(char in value for char in ' "=\\'):
        return value
    return json.dumps(value, ensure_ascii=False)


def _ends(lines: list[str]) -> list[str]:
    if len(lines) <= 2 * ENDS:
        return lines
    return [*lines[:ENDS], f"[{len(lines) - 2 * ENDS} lines cut]", *lines[-ENDS:]]


def log_to_stderr(*, verbose: bool = False) -> None:
    """Show what the library logs; only a command may do this, never the library."""
    logger = logging.getLogger("pycortex")
    if any(isinstance(handler.formatter, _Lines) for handler in logger.handlers):
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
