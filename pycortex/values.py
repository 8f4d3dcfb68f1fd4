"""
What becomes of Python values in params and results.

=============================================  ====================================================
Python                                         JSON
=============================================  ====================================================
None, bool, str, int, float                    the same; integers of any size exact
NaN, infinities                                null, with a warning
Decimal, Fraction, complex                     text, exact: ``"0.10"``, ``"1/3"``, ``"(1+2j)"``
datetime, date, time                           ISO 8601
timedelta                                      seconds, as a number
UUID, Path                                     text
bytes, bytearray, memoryview                   base64
Enum                                           its value
dataclass, named tuple, mapping                object
list, tuple, other sequences                   array
set, frozenset, dict views                     array; sets sorted where their members can be
numpy scalars and arrays, and their like       what ``item()`` and ``tolist()`` give
anything else                                  its ``repr``, at most 1000 characters, with a warning
=============================================  ====================================================

Object keys that aren't text become text by the same rules (``1``, ``true``, ``null``); where two
keys would become the same, the later one gets a number and a warning, so that none is lost. NUL and
lone surrogates become U+FFFD. At most 200 levels deep and 8 MiB long.

Params are stricter, because the caller is still there to be told: what would need a warning is
refused, and so are keys that aren't text and NUL and lone surrogates.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Mapping, Sequence, Set, ValuesView
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from itertools import count
from os import PathLike, fspath
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from pycortex._call import LONGEST_INTEGER
from pycortex._text import clean

__all__ = ["LIMIT", "check_params", "params_to_jsonb", "to_json", "to_jsonb"]

LIMIT = 8 * 1024 * 1024
"""Bytes of JSON text that params or a result may have."""

DEPTH = 200
REPR = 1000
HOPELESS = 4 * LIMIT
"""So many bytes at least: convert no further."""
_LARGE = 10**LONGEST_INTEGER
_NO_RULE = object()

Path = tuple[Any, str | int]
"""Where a value is: the path of what holds it, and its key or place; text only when needed."""


def to_json(value: Any) -> tuple[Any, list[str]]:
    """
    Convert the result of a body by the rules above.

    Returns:
        What ``json.dumps`` can write, and one warning for each thing that lost something.

    Raises:
        ValueError: It is nested too deeply or far too large.
    """
    converter = _Converter(strict=False)
    return converter.convert(value, "result"), converter.warnings


def to_jsonb(value: Any, name: str = "result") -> tuple[Jsonb, list[str]]:
    """
    Convert a result by the rules above, to an argument of a statement.

    Raises:
        ValueError: It is nested too deeply or too large.
    """
    converted, warnings = to_json(value)
    return _wrap(converted, name), warnings


def check_params(params: Mapping[str, Any] | None, name: str = "params") -> dict[str, Any]:
    """
    Convert the params of a job, or its scope, by the rules above, and refuse what JSON can't hold.

    Returns:
        What the body will get.

    Raises:
        TypeError: Not a mapping, or a value or key of a type that isn't accepted; says where.
        ValueError: A value that JSON or PostgreSQL can't hold, or too much of it; says where.
    """
    converted: dict[str, Any] = {}
    if params is not None:
        if not isinstance(params, Mapping):
            raise TypeError(f"{name} must be a mapping, not {type(params).__name__}")
        converted = _Converter(strict=True).convert(params, name)
        _wrap(converted, name)
    return converted


def params_to_jsonb(params: Mapping[str, Any] | None, name: str = "params") -> Jsonb | None:
    """Do the same for an argument of a statement; None stays None."""
    return None if params is None else _wrap(check_params(params, name), name)


def _wrap(converted: Any, name: str) -> Jsonb:
    text = json.dumps(
        converted, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode()
    if len(text) > LIMIT:
        raise ValueError(f"{name} too large ({len(text)} bytes; at most {LIMIT})")
    return Jsonb(converted, dumps=partial(_first, text))


def _first(text: bytes, _: object) -> bytes:
    return text


class _Converter:
    """One pass over a value; *strict* refuses where it would otherwise warn."""

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.warnings: list[str] = []
        self.open: set[int] = set()
        self.name = ""
        self.size = 0

    def convert(self, value: Any, name: str) -> Any:
        self.name = name
        try:
            return self._convert(value, (None, name))
        except RecursionError:
            raise ValueError(f"{name} is nested too deeply") from None

    def _convert(self, value: Any, path: Path) -> Any:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, Enum):
            return self._convert(value.value, path)
        if isinstance(value, str):
            return self._text(str.__str__(value), path)
        if isinstance(value, int):
            return self._integer(int(value), path)
        if isinstance(value, float):
            return self._float(float(value), path)
        return self._other(value, path)

    def _other(self, value: Any, path: Path) -> Any:
        plain = self._scalar(value, path)
        if plain is not _NO_RULE:
            return plain
        if id(value) in self.open:
            return self._lossy(path, "contains itself", "…", ValueError)
        if len(self.open) >= DEPTH:
            raise ValueError(f"{self.name} is nested too deeply (more than {DEPTH} levels)")
        self.open.add(id(value))
        try:
            return self._container(value, path)
        finally:
            self.open.discard(id(value))

    def _scalar(self, value: Any, path: Path) -> Any:
        """Return the JSON form of a single value, or _NO_RULE."""
        match value:
            case datetime() | date() | time():
                return value.isoformat()
            case timedelta():
                return value.total_seconds()
            case Decimal() if not value.is_finite():
                return self._lossy(path, f"is {value}", None, ValueError)
            case UUID() | Decimal() | Fraction() | complex():
                return str(value)
            case bytes() | bytearray() | memoryview():
                self._grow(memoryview(value).nbytes)
                return base64.b64encode(bytes(value)).decode()
            case PathLike():
                name = fspath(value)
                return self._text(name if isinstance(name, str) else repr(name), path)
        return _NO_RULE

    def _container(self, value: Any, path: Path) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
            return self._object(fields, path)
        if isinstance(value, Mapping):
            return self._object(value, path)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return self._object(value._asdict(), path)
        if isinstance(value, Set):
            return self._array(_sorted(value), path)
        if isinstance(value, Sequence | ValuesView):
            return self._array(value, path)
        if hasattr(type(value), "dtype"):
            self._grow(2 * int(getattr(value, "size", 1)))
            for method in ("tolist", "item"):
                given = getattr(value, method, None)
                if callable(given) and type(plain := given()) is not type(value):
                    return self._convert(plain, path)
        return self._unknown(value, path)

    def _array(self, values: Any, path: Path) -> list[Any]:
        self._grow(2 * len(values))
        return [self._convert(item, (path, place)) for place, item in enumerate(values)]

    def _object(self, mapping: Mapping[Any, Any], path: Path) -> dict[str, Any]:
        self._grow(6 * len(mapping))
        converted: dict[str, Any] = {}
        # Keys that are text keep their name, whatever else would take it.
        own = {key for key in mapping if type(key) is str}
        for key, item in mapping.items():
            name = self._key(key, path)
            if name in converted or (type(key) is not str and name in own):
                name = self._free_name(name, own | converted.keys(), path)
            converted[name] = self._convert(item, (path, name))
        return converted

    def _key(self, key: Any, path: Path) -> str:
        if isinstance(key, str) and not isinstance(key, Enum):
            return self._text(str.__str__(key), (path, "(a key)"))
        if self.strict:
            raise TypeError(
                f"{_say(path)} has the key {key!r:.80} of type {type(key).__name__}; "
                "JSON's keys are text"
            )
        plain = self._convert(key, (path, "(a key)"))
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

    def _free_name(self, name: str, taken: set[str], path: Path) -> str:
        free = next(f"{name} ({n})" for n in count(2) if f"{name} ({n})" not in taken)
        self.warnings.append(
            f"{_say(path)} has several keys that read {name!r:.80}; one is now {free!r:.80}"
        )
        return free

    def _text(self, text: str, path: Path) -> str:
        self._grow(len(text))
        cleaned = clean(text)
        if self.strict and cleaned != text:
            raise ValueError(
                f"{_say(path)} holds a NUL or a lone surrogate; PostgreSQL can't store that"
            )
        return cleaned

    def _integer(self, number: int, path: Path) -> Any:
        if -_LARGE < number < _LARGE:
            return number
        return self._lossy(path, "is an integer of over 4000 digits", hex(number), ValueError)

    def _float(self, number: float, path: Path) -> Any:
        if math.isfinite(number):
            return number
        return self._lossy(path, f"is {number}", None, ValueError)

    def _grow(self, size: int) -> None:
        self.size += size
        if self.size > HOPELESS:
            raise ValueError(f"{self.name} too large ({self.size} bytes or more; at most {LIMIT})")

    def _unknown(self, value: Any, path: Path) -> Any:
        try:
            text = repr(value)
        except Exception:  # noqa: BLE001 - somebody's __repr__ may raise anything
            text = f"<{type(value).__name__} whose repr can't be had>"
        if len(text) > REPR:
            text = text[:REPR] + "…"
        return self._lossy(
            path, f"is of type {type(value).__name__}, which has no rule", clean(text), TypeError
        )

    def _lossy(self, path: Path, what: str, instead: Any, error: type[Exception]) -> Any:
        if self.strict:
            raise error(f"{_say(path)} {what}; JSON can't hold that")
        self.warnings.append(f"{_say(path)} {what}; stored as {instead!r:.100}")
        return instead


def _say(path: Path) -> str:
    parts: list[str] = []
    outer: Path | None = path
    while outer is not None:
        outer, last = outer
        parts.append(f"[{last}]" if isinstance(last, int) else f".{last:.80}")
    return "".join(reversed(parts)).removeprefix(".")


def _sorted(values: Set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))
