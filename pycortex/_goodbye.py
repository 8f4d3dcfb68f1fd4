"""What happens to runners that nobody shut down, when the interpreter ends."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable
from typing import Protocol

__all__ = ["afterwards", "remember"]


class _Leaving(Protocol):
    grace: float

    def shutdown(self, grace: float | None = None) -> None: ...

    def _hurry(self, grace: float) -> None: ...


_runners: weakref.WeakSet[_Leaving] = weakref.WeakSet()
_afterwards: list[Callable[[], None]] = []


def remember(runner: _Leaving) -> None:
    """See to it that a runner says goodbye before the interpreter ends."""
    atexit.unregister(_shut_down_all)
    atexit.register(_shut_down_all)
    _runners.add(runner)


def afterwards(call: Callable[[], None]) -> None:
    """Have *call* made when all runners have left."""
    _afterwards.append(call)


def _shut_down_all() -> None:
    runners = tuple(_runners)
    for runner in runners:
        runner._hurry(runner.grace)  # all at once, not one after the other
    for runner in runners:
        runner.shutdown()
    for call in _afterwards:
        call()
