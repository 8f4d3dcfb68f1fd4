"""What went wrong, in one sentence and a hint, and the exit code that goes with it."""

import re
import sys
from dataclasses import dataclass

import psycopg

from pycortex._text import UnfitTextError
from pycortex.database import DatabaseUrlError, EmbeddedError

__all__ = ["INTERRUPTED", "REFUSED", "UNREACHABLE", "USAGE", "RefusedError", "Report", "explain"]

REFUSED = 1
USAGE = 2
UNREACHABLE = 3
INTERRUPTED = 130

# Schema, table, function or column missing: this package's objects aren't there, or are older.
NOT_INSTALLED = {"3F000", "42883", "42P01", "42704", "42703"}
# Classes and codes that mean the session is gone or never came to be.
GONE = ("08", "57P", "53300", "28", "3D000")


class RefusedError(Exception):
    """A command that could not do what it was asked; one sentence and a hint."""

    def __init__(self, message: str, hint: str = "", *, code: int = REFUSED) -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code


@dataclass(frozen=True, slots=True)
class Report:
    """An exit code, one sentence, and what to do."""

    code: int
    message: str
    hint: str = ""


def explain(error: BaseException) -> Report:
    """Put *error* into words for a person at a terminal."""
    match error:
        case RefusedError():
            return Report(error.code, str(error), error.hint)
        case DatabaseUrlError():
            return Report(USAGE, str(error), error.hint)
        case EmbeddedError():
            return Report(UNREACHABLE, str(error), error.hint)
        case UnicodeEncodeError() | UnfitTextError():
            known = sys.getfilesystemencoding()
            if known != "utf-8":
                return Report(
                    USAGE,
                    f"an argument is no text in {known}, which is all that this locale knows",
                    "set LC_ALL=C.UTF-8 or PYTHONUTF8=1",
                )
            return Report(USAGE, "an argument holds bytes that are no text in UTF-8")
        case psycopg.Error():
            return _of_database(error)
        case OSError():
            name = f"{error.filename}: " if error.filename else ""
            return Report(REFUSED, f"{name}{error.strerror or error}")
        case _:
            text = _one_line(str(error))
            return Report(
                REFUSED,
                f"{type(error).__name__}: {text}" if text else type(error).__name__,
                "pycortex --verbose … shows where",
            )


def _of_database(error: psycopg.Error) -> Report:
    state = error.sqlstate or ""
    message = _one_line(error.diag.message_primary or str(error))
    hint = _one_line(error.diag.message_hint or "")
    if not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return Report(UNREACHABLE, f"the database is out of reach: {_reason(str(error))}")
    # A routine of ours that raises such a code itself, say of a table that isn't one, exists.
    raised = error.diag.source_function == "exec_stmt_raise"
    if state.startswith(GONE) and not raised:
        return Report(UNREACHABLE, f"the database is out of reach: {message}", hint)
    if state in NOT_INSTALLED and not raised and re.search(r"\b(cortex|corpus)\b", message):
        return Report(
            REFUSED,
            f"pycortex isn't installed in this database, or is older than this program: {message}",
            "run: pycortex install",
        )
    if state == "42501" and not hint and re.search(r"^permission denied for (?!table)", message):
        hint = "docs/security.md says which of the four roles may do this; ask to be made a member"
    if state == "25006":
        return Report(REFUSED, f"the database only reads here: {message}", hint)
    return Report(REFUSED, message, hint)


def _reason(text: str) -> str:
    """The heart of what libpq says of a failed connection; it may have tried several addresses."""
    lines = [line.strip(" -\t") for line in text.splitlines() if line.strip()]
    attempts = [line for line in lines if "failed" in line or "FATAL" in line] or lines
    line = attempts[0].removeprefix("connection failed: ") if attempts else "no reason given"
    return _one_line(line)


def _one_line(text: str) -> str:
    return " ".join(text.split())
