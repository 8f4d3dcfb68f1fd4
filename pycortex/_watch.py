"""Limits for calls whose answer the network has swallowed."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import Connection

from pycortex._fork import part_at_fork
from pycortex._threads import start_if_possible

__all__ = ["Watch", "cut"]

GLANCE = 0.5
"""Seconds between two looks at the calls that go on."""


class Watch:
    """
    Cuts connections whose calls take too long; the call then fails as if the server had gone.

    Keepalives and tcp_user_timeout find a peer that vanished. This finds one whose machine still
    acknowledges, but who says nothing: a proxy that lost its other side, a server that hangs.
    """

    def __init__(self) -> None:
        self._calls: dict[int, tuple[float, Connection[Any]]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._running = False
        part_at_fork(self)

    def _part(self) -> None:
        self._calls = {}
        self._lock = threading.Lock()
        self._running = False

    @contextmanager
    def limit(self, conn: Connection[Any], seconds: float) -> Iterator[None]:
        """Cut *conn* if the block takes longer."""
        number = next(self._numbers)
        with self._lock:
            self._calls[number] = (time.monotonic() + seconds, conn)
            if not self._running:
                self._running = start_if_possible(self._run, "pycortex-watch")
        try:
            yield
        finally:
            with self._lock:
                del self._calls[number]

    def _run(self) -> None:
        idle = 0
        while True:
            time.sleep(GLANCE)
            now = time.monotonic()
            with self._lock:
                idle = 0 if self._calls else idle + 1
                if idle > 20:
                    self._running = False
                    return
                for deadline, conn in self._calls.values():
                    if deadline <= now:
                        cut(conn)


def cut(conn: Connection[Any]) -> None:
    """Let the call that another thread waits for fail, as if the server had gone."""
    # Not close: another thread is waiting in the driver. It sees the end of the stream.
    with (
        suppress(psycopg.Error, OSError),
        socket.socket(fileno=os.dup(conn.fileno())) as end,
    ):
        end.shutdown(socket.SHUT_RDWR)
