"""What may be written on the command line: uuids, JSON, points in time, numbers of hours."""

import json
import math
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import click
from click.shell_completion import CompletionItem

from pycortex.cli._complete import jobs, kinds, runners

__all__ = [
    "CURSOR",
    "HOURS",
    "JOB",
    "JSON_OBJECT",
    "KIND",
    "KINDS",
    "LIMIT",
    "MOMENT",
    "NAME",
    "RUNNER",
    "SECONDS",
    "UuidRange",
    "is_text",
]

LEAST_DIGITS = 8
LONGEST_NAME = 200


def is_text(argument: str) -> bool:
    """Whether *argument* is text; Python keeps bytes that are not as surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in argument)


class UuidRange:
    """A uuid, or all those that begin with the given hexadecimal digits."""

    def __init__(self, digits: str) -> None:
        self.digits = digits
        self.first = UUID(digits.ljust(32, "0"))
        self.last = UUID(digits.ljust(32, "f"))

    @property
    def exact(self) -> bool:
        """Whether it is one whole uuid."""
        return len(self.digits) == 32


class _Type(click.ParamType):  # type: ignore[type-arg] # generic only in newer click
    pass


class _Seconds(click.FloatRange):
    """A number from 0 up; not NaN, which would mean for ever."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number of seconds from 0 up", param, ctx)
        return number


class _Runner(_Type):
    name = "uuid"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return runners(ctx, param, incomplete)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> UUID:
        try:
            return value if isinstance(value, UUID) else UUID(str(value).strip())
        except ValueError:
            self.fail(f"{value!r} is not a uuid", param, ctx)


class _Job(_Type):
    name = "uuid"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return jobs(ctx, param, incomplete)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> UuidRange:
        if isinstance(value, UuidRange):
            return value
        text = str(value).strip().lower()
        try:
            return UuidRange(UUID(text).hex)
        except ValueError:
            digits = text.replace("-", "")
            if LEAST_DIGITS <= len(digits) < 32 and re.fullmatch("[0-9a-f]+", digits):
                return UuidRange(digits)
        raise click.BadParameter(
            f"{value!r} is not a uuid, nor the first {LEAST_DIGITS} digits of one", ctx, param
        )


class _JsonObject(_Type):
    name = "json"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        try:
            text = _text_of(str(value))
            parsed = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            self.fail(
                f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}", param, ctx
            )
        except RecursionError:
            self.fail("not usable JSON: it is nested too deeply", param, ctx)
        except OSError as error:
            self.fail(f"{error.filename}: {error.strerror}", param, ctx)
        except ValueError as error:
            self.fail(f"not usable JSON: {error}", param, ctx)
        if not isinstance(parsed, dict):
            found = {list: "array", str: "string", bool: "boolean", type(None): "null"}
            name = found.get(type(parsed), "number")
            self.fail(
                f"a JSON object is needed, such as '{{\"key\": 1}}', not a JSON {name}", param, ctx
            )
        return parsed


class _Moment(_Type):
    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(str(value).strip())
        except ValueError:
            moment = None
        if moment is None:
            self.fail(
                f"{value!r} is not a point in time, such as 2031-05-01T03:00:00+02:00", param, ctx
            )
        if moment.utcoffset() is None:
            self.fail(
                f"{value!r} has no time zone: add an offset such as +02:00, or Z for UTC",
                param,
                ctx,
            )
        return moment


class _Hours(_Type):
    name = "hours"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            hours = float(value)
        except ValueError:
            hours = math.nan
        if not hours >= 0:
            self.fail(f"{value!r} is not a number of hours from 0 up", param, ctx)
        return hours


class _Name(_Type):
    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not text.strip() or len(text) > LONGEST_NAME or "\0" in text or not is_text(text):
            self.fail(f"a name has 1 to {LONGEST_NAME} characters and is not blank", param, ctx)
        return text


class _Kind(_Type):
    name = "kind"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return kinds(ctx, param, incomplete)


class _Kinds(_Type):
    name = "kinds"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        return [
            CompletionItem(before + comma + item.value, help=item.help)
            for item in kinds(ctx, param, last)
        ]

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        kinds = tuple(dict.fromkeys(kind.strip() for kind in str(value).split(",")))
        if "" in kinds:
            self.fail(f"{value!r} holds an empty kind", param, ctx)
        return kinds


def _text_of(value: str) -> str:
    """The value itself, or what the file behind an @, or standard input, holds."""
    if value == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise ValueError("standard input is closed")
        return sys.stdin.read()
    if value.startswith("@"):
        return Path(value[1:]).read_text(encoding="utf-8")
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


class _Cursor(_Type):
    name = "cursor"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[datetime, UUID]:
        if isinstance(value, tuple):
            return value
        at, _, uuid = str(value).strip().rpartition("/")
        try:
            return MOMENT.convert(at, param, ctx), UUID(uuid)
        except (ValueError, click.BadParameter):
            self.fail(
                f"{value!r} is not the created_at and the uuid of a job, with a slash between",
                param,
                ctx,
            )


JOB = _Job()
SECONDS = _Seconds(min=0)
LIMIT = _Seconds(min=0, max=2_147_483)
RUNNER = _Runner()
CURSOR = _Cursor()
JSON_OBJECT = _JsonObject()
MOMENT = _Moment()
HOURS = _Hours()
KIND = _Kind()
KINDS = _Kinds()
NAME = _Name()
