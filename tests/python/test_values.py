"""What becomes of Python values in params and results."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections import OrderedDict, UserString, deque, namedtuple
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address, ip_network
from itertools import count
from pathlib import PurePosixPath
from unittest.mock import ANY
from uuid import UUID

import pytest

from pycortex.values import LIMIT, check_params, to_json, to_jsonb

ONE_EAST = timezone(timedelta(hours=1))


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    when: date


Pair = namedtuple("Pair", "left right")


class Scalar:
    """Stands in for a scalar of numpy."""

    dtype = "int64"
    size = 1

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


class Array(Scalar):
    """Stands in for an array of numpy."""

    def tolist(self):
        return self.value


class Endless(Scalar):
    """A scalar whose item() is one again, as of numpy.longdouble."""

    def item(self):
        return self

    def __repr__(self):
        return "Endless"


class Loud(str):
    """A text whose own methods can't be trusted."""

    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


class LoudInt(int):
    def __int__(self):
        raise RuntimeError("no")

    __str__ = __repr__ = __int__


class LoudFloat(float):
    def __float__(self):
        raise RuntimeError("no")


class Broken(list):
    """A list that fails when it is read."""

    def __iter__(self):
        raise RuntimeError("no")

    def __repr__(self):
        return "Broken"


class BrokenMapping(dict):
    def items(self):
        raise KeyError("no")

    def __repr__(self):
        return "BrokenMapping"


class BrokenPath:
    def __fspath__(self):
        raise OSError("no")

    def __repr__(self):
        return "BrokenPath"


class NotATime(datetime):
    """Stands in for NaT of pandas, which says that it is a datetime."""

    def __eq__(self, other):
        return False

    def __ne__(self, other):
        return True

    __hash__ = datetime.__hash__

    def __str__(self):
        return "NaT"


class EndlessMapping(Mapping):
    def __len__(self):
        return 1

    def __iter__(self):
        return map(str, count())

    def __getitem__(self, key):
        return 1


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


class NoPath:
    def __fspath__(self):
        return b"/a/\xff"


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (0, 0),
        ("", ""),
        (False, False),
        ([], []),
        (9007199254740993, 9007199254740993),
        (Decimal("0.1000000000000000055"), "0.1000000000000000055"),
        (Fraction(1, 3), "1/3"),
        (1 + 2j, "(1+2j)"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(minutes=1.5), 90.0),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a/b"), "/a/b"),
        (b"\xff\x00", "/wA="),
        (bytearray(b"a"), "YQ=="),
        (memoryview(b"abcd")[::2], "YWM="),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Permission.READ | Permission.WRITE, 3),
        ([Loud("abc"), LoudInt(7), LoudFloat(1.5)], ["abc", 7, 1.5]),
        (UserString("abc"), "abc"),
        (ip_address("::1"), "::1"),
        (ip_network("10.0.0.0/8"), "10.0.0.0/8"),
        (datetime.fromisoformat("2026-01-02T03:04:05"), "2026-01-02T03:04:05"),
        (
            datetime(2026, 10, 25, 2, tzinfo=timezone(timedelta(hours=1))),
            "2026-10-25T02:00:00+01:00",
        ),
        (-0.0, -0.0),
        (NoPath(), "/a/\ufffd"),
        ("e\u0301", "e\u0301"),
        ({frozenset({2}), frozenset({1, 3})}, [[1, 3], [2]]),
        (Point(1, date(2026, 1, 2)), {"x": 1, "when": "2026-01-02"}),
        (Pair(1, [2]), {"left": 1, "right": [2]}),
        ((1, (2,)), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({1, "a"}, [1, "a"]),
        (deque([1]), [1]),
        (range(3), [0, 1, 2]),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        ({"a": 1}.values(), [1]),
        ({"a": 1}.keys(), ["a"]),
        (Scalar(7), 7),
        (Array([1, [2.5]]), [1, [2.5]]),
        ({1: "a", None: "b", 1.5: "c"}, {"1": "a", "null": "b", "1.5": "c"}),
        ({True: 1}, {"true": 1}),
        ({date(2026, 1, 2): 1, (1, 2): 2}, {"2026-01-02": 1, "[1, 2]": 2}),
    ],
)
def test_converts_by_the_documented_rules(value, expected):
    """E10, E15."""
    converted, warnings = to_json(value)

    assert converted == expected
    assert type(converted) is type(expected)
    assert warnings == []
    json.dumps(converted, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        ({"score": float("inf")}, {"score": None}),
        ([Decimal("NaN")], [None]),
        (Scalar(float("-inf")), None),
        (Endless(0), "Endless"),
        (Broken([1]), "Broken"),
        ([1, {"a": Broken([1])}], [1, {"a": "Broken"}]),
        (BrokenMapping(a=1), "BrokenMapping"),
        (BrokenPath(), "BrokenPath"),
        (NotATime(2026, 1, 1), None),
        ((item for item in "ab"), ANY),
        (Unspeakable(), "<Unspeakable whose repr can't be had>"),
        ({1: "a", "1": "b"}, {"1 (2)": "a", "1": "b"}),
        ({"a\x00": 1, "a\ufffd": 2}, {"a\ufffd": 1, "a\ufffd (2)": 2}),
        (len, "<built-in function len>"),
    ],
)
def test_warns_of_what_a_result_loses(value, expected):
    """E04, E09."""
    converted, warnings = to_json(value)

    assert converted == expected
    assert len(warnings) == 1
    json.dumps(converted, allow_nan=False)


def test_names_the_place_of_what_is_lost():
    _, [warning] = to_json({"runs": [{"score": 1.0}, {"score": float("nan")}]})

    assert "result.runs[1].score" in warning


def test_replaces_what_postgresql_cannot_store():
    """E03."""
    converted, warnings = to_json({"a\x00": "b\ud800c"})

    assert converted == {"a\ufffd": "b\ufffdc"}
    assert warnings == []


def test_ends_at_a_value_that_contains_itself():
    loop: list[object] = [1]
    loop.append(loop)

    converted, [warning] = to_json(loop)

    assert converted == [1, "…"]
    assert "itself" in warning


def test_takes_the_same_value_in_two_places():
    shared = [1]

    assert to_json([shared, shared]) == ([[1], [1]], [])


def test_shortens_an_endless_repr():
    class Long:
        def __repr__(self):
            return "x" * 100_000

    converted, [warning] = to_json(Long())

    assert len(converted) == 1001
    assert len(warning) < 400


@pytest.mark.parametrize("hold", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_takes_what_is_nested_as_deeply_as_promised(hold):
    """E08: also where the caller's own frames have used up some of Python's limit."""
    nested: object = 1
    for _ in range(200):
        nested = hold(nested)

    to_jsonb(nested)
    check_params({"a": nested[0] if isinstance(nested, list) else nested["a"]})


@pytest.mark.parametrize("depth", [201, 20_000])
def test_refuses_what_is_nested_too_deeply(depth):
    """E08."""
    nested: list[object] = []
    for _ in range(depth):
        nested = [nested]

    with pytest.raises(ValueError, match="nested too deeply"):
        to_json(nested)


def test_keeps_an_integer_that_python_would_not_print():
    """E10."""
    converted, [warning] = to_json(10**5000)

    assert int(converted, 16) == 10**5000
    assert "4000 digits" in warning
    with pytest.raises(ValueError, match=r"params\.a"):
        check_params({"a": 10**5000})


@pytest.mark.parametrize(
    "make",
    [
        lambda: "x" * (LIMIT - 1),
        lambda: "é" * (LIMIT // 2),
        lambda: [10**6] * (LIMIT // 8 + 1),
        lambda: b"x" * LIMIT,
    ],
    ids=["text", "bytes count", "many", "base64"],
)
def test_refuses_what_is_too_large_and_says_how_large(make):
    """E08."""
    with pytest.raises(ValueError, match=r"result too large \(\d+ bytes"):
        to_jsonb(make())
    with pytest.raises(ValueError, match=r"params too large \(\d+ bytes"):
        check_params({"a": make()})


@pytest.mark.parametrize(
    "make",
    [lambda: range(10**12), lambda: ["x" * 10**6] * 1000, lambda: b"x" * 10**8, EndlessMapping],
    ids=["range", "texts", "bytes", "endless"],
)
def test_gives_up_early_on_what_is_far_too_large(make):
    """E08."""
    with pytest.raises(ValueError, match=r"result too large \(\d+ bytes or more"):
        to_json(make())


@pytest.mark.parametrize(
    ("params", "error", "place"),
    [
        ({"x": float("-inf")}, ValueError, "params.x"),
        ({"a": [{"b": float("nan")}]}, ValueError, r"params\.a\[0\]\.b"),
        ({"a": "\x00"}, ValueError, "params.a"),
        ({"a": ["\udcff"]}, ValueError, r"params\.a\[0\]"),
        ({"\x00": 1}, ValueError, r"params\.\(a key\)"),
        ({1: "a", "1": "b"}, TypeError, "params has the key 1"),
        ({"a": {None: 1}}, TypeError, "params.a has the key None"),
        ({True: 1}, TypeError, "the key True"),
        ({"a": object()}, TypeError, "params.a"),
        ({"a": Broken([1])}, TypeError, "params.a can't be read"),
        ({"a": BrokenMapping(b=1)}, TypeError, "params.a can't be read"),
        (BrokenMapping(b=1), TypeError, "params can't be read"),
        ({"a": [BrokenPath()]}, TypeError, r"params\.a\[0\] can't be read"),
        ({"a": NoPath()}, ValueError, "params.a"),
        ({"a": NotATime(2026, 1, 1)}, ValueError, "params.a is NaT"),
        ({"a": (1 for _ in ())}, TypeError, "params.a is of type generator"),
        ({"a": "\ud83d\ude00"}, ValueError, "params.a"),
        ({"a": {Unspeakable(): 1}}, TypeError, "params.a has the key <Unspeakable"),
        ([], TypeError, "params must be a mapping"),
        ("{}", TypeError, "params must be a mapping"),
    ],
)
def test_refuses_params_that_json_cannot_hold_and_says_where(params, error, place):
    """E03, E04, E08, E09."""
    with pytest.raises(error, match=place):
        check_params(params)


def test_refuses_params_that_contain_themselves():
    loop: dict[str, object] = {}
    loop["again"] = loop

    with pytest.raises(ValueError, match=r"params\.again contains itself"):
        check_params(loop)


def test_gives_params_as_the_body_will_see_them():
    params = {"id": 9007199254740993, "amt": Decimal("0.10"), "at": date(2026, 1, 2)}

    seen = check_params(params)

    assert seen == {"id": 9007199254740993, "amt": "0.10", "at": "2026-01-02"}
    assert check_params(None) == {}


def test_converts_real_numpy_values():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: pip install numpy")
    values = {
        "n": numpy.int64(7),
        "x": numpy.float64("nan"),
        "a": numpy.array([[1, 2]]),
        "b": numpy.bool_(1),
        "t": numpy.datetime64("2026-01-02"),
        "ns": numpy.datetime64("2026-01-02T03:04:05.123456789"),
        "span": numpy.timedelta64(1_500_000_000, "ns"),
        "many": numpy.array(["2026-01-02T03:04:05", "NaT"], dtype="datetime64[ns]"),
        "record": numpy.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
        "most": numpy.uint64(2**64 - 1),
        "text": numpy.str_("a"),
        "masked": numpy.ma.array([1, 2], mask=[0, 1]),
    }

    converted, warnings = to_json(values)

    assert converted == {
        "n": 7,
        "x": None,
        "a": [[1, 2]],
        "b": True,
        "t": "2026-01-02",
        "ns": "2026-01-02T03:04:05.123456789",
        "span": 1.5,
        "many": ["2026-01-02T03:04:05.000000000", None],
        "record": [[1, 2.5]],
        "most": 2**64 - 1,
        "text": "a",
        "masked": [1, None],
    }
    assert [warning.split(" is ")[0] for warning in warnings] == ["result.x", "result.many[1]"]
