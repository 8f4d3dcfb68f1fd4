"""The library's log lines, on standard error, with their fields."""

import logging
import sys

from pycortex.cli._output import clean

__all__ = ["log_to_stderr"]

FIELDS = ("kind", "actor", "job", "elapsed")


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z")
        fields = []
        for name in FIELDS:
            value = getattr(record, name, None)
            if value not in (None, ""):
                fields.append(f"{name}={value:.3f}" if name == "elapsed" else f"{name}={value}")
        head = " ".join([when, record.levelname.lower(), record.getMessage(), *fields])
        text = clean(head)
        if record.exc_info:
            # Indented and clean: whatever an exception says, no line of it passes for an event.
            for line in self.formatException(record.exc_info).splitlines():
                text += f"\n    {clean(line)}"
        return text


def log_to_stderr(*, verbose: bool = False) -> None:
    """Show what the library logs; only a command may do this, never the library."""
    logger = logging.getLogger("pycortex")
    if any(isinstance(handler.formatter, _Lines) for handler in logger.handlers):
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
