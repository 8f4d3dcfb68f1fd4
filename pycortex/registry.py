"""Which function is the body of which kind; filled by the decorator ``@pycortex.job``."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from enum import StrEnum
from types import ModuleType
from typing import Any, TypeVar

__all__ = [
    "Isolation",
    "check_async_body",
    "check_body",
    "get",
    "import_app",
    "is_async",
    "isolation",
    "job",
    "kinds",
]

Body = Callable[[Any], Any]
B = TypeVar("B", bound=Body)

_bodies: dict[str, Body] = {}
_isolations: dict[str, Isolation] = {}


class Isolation(StrEnum):
    """How far a body is kept from its runner: in a thread, or in a fresh process of its own."""

    THREAD = "thread"
    PROCESS = "process"

    @classmethod
    def of(cls, value: str) -> Isolation:
        """
        Read what somebody wrote.

        Raises:
            ValueError: It is neither.
        """
        try:
            return cls(value)
        except ValueError:
            raise ValueError(f'isolation is {value!r}; give "thread" or "process"') from None


def job(kind: str, *, isolation: Isolation | str | None = None) -> Callable[[B], B]:
    """
    Make the decorated function the body of all jobs of *kind*; it can still be called as before.

    Args:
        kind: 1 to 200 characters.
        isolation: "thread" or "process"; by default as the runner was made.

    Raises:
        ValueError: The kind has a body already, or isn't 1 to 200 characters.
        TypeError: What is decorated can't be a body.
    """
    if not isinstance(kind, str):
        raise TypeError(f'write @job("kind"), with parentheses; got {kind!r}')
    if not kind.strip() or len(kind) > 200:
        raise ValueError(f"a kind has 1 to 200 characters and is not blank, {kind[:50]!r} isn't so")

    place = None if isolation is None else Isolation.of(isolation)

    def register(body: B) -> B:
        check_body(body)
        known = _bodies.get(kind)
        if known is not None and known is not body:
            raise ValueError(f"kind {kind!r} has two bodies: {_place(known)} and {_place(body)}")
        _bodies[kind] = body
        if place is not None:
            _isolations[kind] = place
        return body

    return register


def get(kind: str) -> Body | None:
    """Return the body of *kind*, or None."""
    return _bodies.get(kind)


def isolation(kind: str, body: Body) -> Isolation | None:
    """Return what was said with ``@pycortex.job``, if *body* is the body of *kind*."""
    return _isolations.get(kind) if _bodies.get(kind) is body else None


def kinds() -> list[str]:
    """List the kinds that have a body, sorted."""
    return sorted(_bodies)


def import_app(name: str) -> ModuleType:
    """
    Import the module that registers an application's bodies; the current folder counts.

    Raises:
        ImportError: It can't be found, or one of its own imports can't.
    """
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    return importlib.import_module(name)


def check_body(body: object) -> None:
    """
    Refuse what a thread can't run to its end.

    Raises:
        TypeError: Not callable, or a coroutine or generator function.
    """
    if not callable(body):
        raise TypeError(f"the body of a job must be callable, {body!r:.80} isn't")
    if is_async(body):
        raise TypeError(f"{_place(body)} is an async def function; AsyncRunner runs those")
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        raise TypeError(f"{_place(body)} is a generator; a body does its work when it is called")


def check_async_body(body: object) -> None:
    """
    Refuse what an event loop can't run.

    Raises:
        TypeError: Not a coroutine function.
    """
    if not is_async(body):
        check_body(body)
        raise TypeError(f"{_place(body)} is no async def function; Runner runs plain ones")


def is_async(body: object) -> bool:
    """Whether calling it gives a coroutine, as far as one can see."""
    called = getattr(body, "__call__", None)  # noqa: B004 - an object's own
    return inspect.iscoroutinefunction(body) or inspect.iscoroutinefunction(called)


def _place(body: Any) -> str:
    return f"{getattr(body, '__module__', '?')}.{getattr(body, '__qualname__', repr(body))}"
