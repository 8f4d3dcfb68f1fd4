"""What a forked child must not share with its parent: connections, threads, locks that are held."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from typing import Any, Protocol

import psycopg
from psycopg import Connection

__all__ = ["let_go", "part_at_fork"]


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


def let_go(conn: Connection[Any] | None) -> None:
    """
    Have a forked child hold its parent's session no more.

    The server sees a session end when the last process has closed its socket. To close the
    connection would say goodbye in the parent's name, so the socket is put away under it.
    """
    if conn is None:
        return
    with suppress(psycopg.Error, OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            os.dup2(nothing, conn.fileno(), inheritable=False)
        finally:
            os.close(nothing)


def _part_all() -> None:
    _lock.release()
    for shared in tuple(_shared):
        shared._part()
