"""Text made fit for the database: what it can't hold is replaced, what is too long is cut."""

from __future__ import annotations

import re

import psycopg

__all__ = ["MESSAGE_LIMIT", "UnfitTextError", "clean", "describe", "fit", "refuse_unfit"]

MESSAGE_LIMIT = 4000
"""Characters of a message; as cortex.clip has it."""

_HEAD, _TAIL, _KEPT = 2950, 1000, 3950
_UNFIT = re.compile("[\x00\ud800-\udfff]")


class UnfitTextError(psycopg.DataError, ValueError):
    """A text that PostgreSQL can't store: it holds a NUL or a lone surrogate."""


def refuse_unfit(text: str, name: str) -> None:
    """
    Let pass what the database can hold.

    Raises:
        UnfitTextError: It can't hold this; says which argument is meant.
    """
    if _UNFIT.search(text):
        raise UnfitTextError(f"{name} holds a NUL or a lone surrogate; PostgreSQL can't store that")


def clean(text: str) -> str:
    """Replace each NUL and lone surrogate, which PostgreSQL can't store, by U+FFFD."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def fit(text: str) -> str:
    """Make a message of *text*: clean, and cut in the middle, visibly, to 4000 characters."""
    if len(text) > MESSAGE_LIMIT:
        mark = f" … [{len(text) - _KEPT} characters cut] … "
        text = text[:_HEAD] + mark + text[-_TAIL:]
    return clean(text)


def describe(error: BaseException) -> str:
    """
    Type and text of an exception, as a message; whatever its ``__str__`` does.

    Of what the database says its context is left out: the routines and statements on the way.
    """
    name = type(error).__name__
    try:
        text = str(error)
        if isinstance(error, psycopg.Error) and (context := error.diag.context):
            text = text.partition(context)[0].rpartition("\n")[0] or text
    except BaseException as inner:  # noqa: BLE001 - somebody's __str__ may raise anything
        return fit(f"{name} (its text can't be had: {type(inner).__name__})")
    return fit(f"{name}: {text}" if text else name)
