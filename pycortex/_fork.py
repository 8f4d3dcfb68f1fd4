"""What a forked child must not share with its parent: connections, threads, locks that are held."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

__all__ = ["part_at_fork"]


class _Shared(Protocol):
    def _part(self) -> None: ...


_shared: weakref.WeakSet[_Shared] = weakref.WeakSet()
_lock = threading.Lock()
_registered = False


def part_at_fork(shared: _Shared) -> None:
    """Have ``shared._part()`` called in every child that is forked from now on."""
    global _registered
    with _lock:
        if not _registered and hasattr(os, "register_at_fork"):
            os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release,
                                after_in_child=_part_all)  # fmt: skip
            _registered = True
        _shared.add(shared)


def _part_all() -> None:
    _lock.release()
    for shared in tuple(_shared):
        shared._part()
