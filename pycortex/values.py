"""
What becomes of Python values in params and results.

=============================================  ====================================================
Python                                         JSON
=============================================  ====================================================
None, bool, str, int, float                    the same; integers of any size exact
NaN, NaT, infinities                           null, with a warning
Decimal, Fraction, complex                     text, exact: ``"0.10"``, ``"1/3"``, ``"(1+2j)"``
datetime, date, time                           ISO 8601
timedelta                                      seconds, as a number
UUID, Path, IP address or network, UserString  text
bytes, bytearray, memoryview                   base64
Enum                                           its value
dataclass, named tuple, mapping                object
list, tuple, other sequences                   array
set, frozenset, dict views                     array; sets sorted where their members can be
numpy scalars and arrays, and their like       what ``item()`` and ``tolist()`` give;
                                               datetime64 ISO 8601, timedelta64 seconds
anything else, and what fails when it is read  its ``repr``, at most 1000 characters, with a warning
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
from collections import UserString
from collections.abc import Callable, Mapping, Sequence, Set, ValuesView
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import count
from os import PathLike, fsdecode
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from pycortex._call import LONGEST_INTEGER
from pycortex._log import brief
from pycortex._plainjson import JsonbArray, plain_json
from pycortex._text import clean

__all__ = ["LIMIT", "check_params", "params_to_array", "params_to_jsonb", "to_json", "to_jsonb"]

LIMIT = 8 * 1024 * 1024
"""Bytes of JSON text that params or a result may have."""

DEPTH = 200
REPR = 1000
HOPELESS = 4 * LIMIT
"""So many bytes at least: convert no further."""
_LARGE = 10**LONGEST_INTEGER
_NO_RULE = object()
_HOLDERS = frozenset({dict, list, tuple})

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
    if params is None:
        return None
    text = plain_json(params)
    return _wrap(check_params(params, name), name) if text is None else _hold(params, text)


def params_to_array(params: Sequence[Mapping[str, Any] | None], name: str = "params") -> JsonbArray:
    """Do the same for many, to an argument that is an array; None stays null in it."""
    texts: list[bytes | None] = []
    for place, each in enumerate(params):
        text = plain_json(each)
        if text is None and each is not None:
            where = f"{name}[{place}]"
            text = _text(check_params(each, where), where)
        texts.append(text)
    return JsonbArray(texts)


def _wrap(converted: Any, name: str) -> Jsonb:
    return _hold(converted, _text(converted, name))


def _text(converted: Any, name: str) -> bytes:
    text = json.dumps(
        converted, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode()
    if len(text) > LIMIT:
        raise ValueError(f"{name} too large ({len(text)} bytes; at most {LIMIT})")
    return text


def _hold(value: Any, text: bytes) -> Jsonb:
    return Jsonb(value, dumps=partial(_first, text))


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
        self.refusal: Exception | None = None

    def convert(self, value: Any, name: str) -> Any:
        self.name = name
        try:
            return self._convert(value, (None, name))
        except RecursionError:
            raise ValueError(f"{name} is nested too deeply") from None

    def _convert(self, value: Any, path: Path) -> Any:
        # Two frames for each level and no more, or Python's own limit comes before ours.
        try:
            # What is usual first, and by its exact type: a result may hold a million values.
            kind = type(value)
            if value is None or kind is bool:
                return value
            if kind is str:
                return self._text(value, path)
            if kind is int:
                return self._integer(value, path)
            if kind is float:
                return self._float(value, path)
            if kind not in _HOLDERS and (plain := self._single(value, path)) is not _NO_RULE:
                return plain
            if id(value) in self.open:
                return self._lossy(path, "contains itself", "…", ValueError)
            if len(self.open) >= DEPTH:
                raise self._refuse(
                    ValueError, f"{self.name} is nested too deeply (more than {DEPTH} levels)"
                )
            self.open.add(id(value))
            try:
                rule, content = self._rule(value)
                return rule(content, path)
            finally:
                self.open.discard(id(value))
        except Exception as error:
            if error is self.refusal or isinstance(error, RecursionError | MemoryError):
                raise
            # Its own methods fail: that costs this value, and nothing else of the result.
            return self._lossy(path, f"can't be read ({brief(error)})", _repr(value), TypeError)

    def _single(self, value: Any, path: Path) -> Any:
        """Return the JSON form of a single value, or _NO_RULE."""
        match value:
            case Enum():
                return self._convert(value.value, path)
            case str():
                return self._text(str.__str__(value), path)
            case int():
                return self._integer(int.__int__(value), path)
            case float():
                return self._float(float.__float__(value), path)
            case datetime() | date() | time():
                if value != value:  # pandas' NaT says that it is a datetime
                    return self._lossy(path, f"is {value}", None, ValueError)
                return self._text(value.isoformat(), path)
            case timedelta():
                return self._float(value.total_seconds(), path)
            case Decimal() if not value.is_finite():
                return self._lossy(path, f"is {value}", None, ValueError)
            case UUID() | Decimal() | Fraction() | complex() | UserString():
                return self._text(str(value), path)
            case IPv4Address() | IPv6Address() | IPv4Network() | IPv6Network():
                return self._text(str(value), path)
            case bytes() | bytearray() | memoryview():
                self._grow(memoryview(value).nbytes)
                return base64.b64encode(bytes(value)).decode()
            case PathLike():
                return self._text(fsdecode(value), path)
        return _NO_RULE

    def _rule(self, value: Any) -> tuple[Callable[[Any, Path], Any], Any]:
        """Return what to do with a value that holds others, and with what of it."""
        if type(value) in _HOLDERS:
            return self._object if type(value) is dict else self._array, value
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
            return self._object, fields
        if isinstance(value, Mapping):
            return self._object, value
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return self._object, value._asdict()
        if isinstance(value, Set):
            return self._array, _sorted(value)
        if isinstance(value, Sequence | ValuesView):
            return self._array, value
        if hasattr(type(value), "dtype"):
            self._grow(2 * int(getattr(value, "size", 1)))
            if getattr(value.dtype, "kind", "") in ("m", "M"):
                return self._convert, _moments(value)
            for method in ("tolist", "item"):
                given = getattr(value, method, None)
                if callable(given) and type(plain := given()) is not type(value):
                    return self._convert, plain
        return self._unknown, value

    def _array(self, values: Any, path: Path) -> list[Any]:
        self._grow(2 * len(values))
        converted: list[Any] = []
        for place, item in enumerate(values):
            if 2 * place > LIMIT:  # whatever its length said
                self._grow(HOPELESS)
            converted.append(self._convert(item, (path, place)))
        return converted

    def _object(self, mapping: Mapping[Any, Any], path: Path) -> dict[str, Any]:
        self._grow(6 * len(mapping))
        converted: dict[str, Any] = {}
        items: list[tuple[Any, Any]] = []
        for pair in list(mapping.items()) if type(mapping) is dict else mapping.items():
            if 5 * len(items) > LIMIT:
                self._grow(HOPELESS)
            items.append(pair)
        # Keys that are text keep their name, whatever else would take it.
        own = {key for key, _ in items if type(key) is str}
        for key, item in items:
            name = self._key(key, path)
            if name in converted or (type(key) is not str and name in own):
                name = self._free_name(name, own | converted.keys(), path)
            converted[name] = self._convert(item, (path, name))
        return converted

    def _key(self, key: Any, path: Path) -> str:
        if type(key) is str or (isinstance(key, str) and not isinstance(key, Enum)):
            return self._text(str.__str__(key), (path, "(a key)"))
        if self.strict:
            raise self._refuse(
                TypeError,
                f"{_say(path)} has the key {_repr(key):.80} of type {type(key).__name__}; "
                "JSON's keys are text",
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
            raise self._refuse(
                ValueError,
                f"{_say(path)} holds a NUL or a lone surrogate; PostgreSQL can't store that",
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
            raise self._refuse(
                ValueError, f"{self.name} too large ({self.size} bytes or more; at most {LIMIT})"
            )

    def _unknown(self, value: Any, path: Path) -> Any:
        what = f"is of type {type(value).__name__}, which has no rule"
        return self._lossy(path, what, _repr(value), TypeError)

    def _lossy(self, path: Path, what: str, instead: Any, error: type[Exception]) -> Any:
        if self.strict:
            raise self._refuse(error, f"{_say(path)} {what}; JSON can't hold that")
        self.warnings.append(f"{_say(path)} {what}; stored as {instead!r:.100}")
        return instead

    def _refuse(self, error: type[Exception], text: str) -> Exception:
        self.refusal = error(text)
        return self.refusal


def _say(path: Path) -> str:
    parts: list[str] = []
    outer: Path | None = path
    while outer is not None:
        outer, last = outer
        parts.append(f"[{last}]" if isinstance(last, int) else f".{last:.80}")
    return "".join(reversed(parts)).removeprefix(".")


def _repr(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - somebody's __repr__ may raise anything
        text = f"<{type(value).__name__} whose repr can't be had>"
    return clean(text if len(text) <= REPR else text[:REPR] + "…")


def _moments(value: Any) -> Any:
    """Spell out what numpy holds of time, whose nanoseconds it would give as bare integers."""
    unit: Any = str if value.dtype.kind == "M" else "timedelta64[us]"
    return _without_nat(value.astype(unit).tolist())


def _without_nat(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nat(item) for item in value]
    return math.nan if value is None or value == "NaT" else value


def _sorted(values: Set[Any]) -> list[Any]:
    try:
        if not any(isinstance(value, Set) for value in values):  # subsets are no order
            return sorted(values)
    except TypeError:
        pass
    return sorted(values, key=lambda value: (type(value).__name__, _place(value)))


def _place(value: Any) -> str:
    return _repr(_sorted(value) if isinstance(value, Set) else value)
