"""JSON of what needs no conversion, and arrays of it: the short way for many params at once."""

from __future__ import annotations

import json
import struct
from typing import Any

from psycopg.adapt import Dumper
from psycopg.pq import Format

__all__ = ["JsonbArray", "JsonbArrayDumper", "plain_json"]

LONG = 4000
"""So long a text is looked at closely: it may hold a number with too many digits."""

_SINGLE = frozenset({str, int, float, bool, type(None)})
_JSONB, _JSONB_ARRAY = 3802, 3807
"""PostgreSQL's own numbers of the types, the same everywhere."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def plain_json(value: object) -> bytes | None:
    """
    Write a dictionary of single values as JSON; None if it is anything else or needs a closer look.

    What is written is just what the rules of pycortex.values make of it.
    """
    if type(value) is not dict:
        return None
    try:
        for key, item in value.items():
            if type(key) is not str or type(item) not in _SINGLE:
                return None
        text = _encode(value)
        # NUL, which JSON spells so, or a number that is too long. A lone surrogate has no bytes.
        return None if len(text) > LONG or "\\u0000" in text else text.encode()
    except (ValueError, RuntimeError):  # no number; or somebody else changes it meanwhile
        return None


class JsonbArray:
    """JSON texts, None for null, to be sent as one array of jsonb."""

    __slots__ = ("texts",)

    def __init__(self, texts: list[bytes | None]) -> None:
        self.texts = texts


class JsonbArrayDumper(Dumper):
    """Writes such an array as the server reads it, without a look at each of its members."""

    format = Format.BINARY
    oid = _JSONB_ARRAY

    def dump(self, obj: Any) -> bytes:
        """Dimensions, the members' type, bounds; then each with its length and version."""
        texts = obj.texts
        if not texts:
            return struct.pack("!iiI", 0, 0, _JSONB)
        pack = struct.Struct("!i").pack
        parts = [struct.pack("!iiIii", 1, None in texts, _JSONB, len(texts), 1)]
        for text in texts:
            parts += (pack(-1),) if text is None else (pack(len(text) + 1), b"\x01", text)
        return b"".join(parts)
