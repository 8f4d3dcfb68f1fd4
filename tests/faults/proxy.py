"""A TCP proxy before a server that can fall silent, cut its connections, or lose one answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from tests.servers import to_url


class Proxy:
    """Forwards connections on loopback to the server of *conninfo*, until told otherwise."""

    def __init__(self, conninfo: str) -> None:
        self._params = conninfo_to_dict(conninfo)
        self._target = (str(self._params["host"]), int(str(self._params["port"])))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = True
        self._epoch = 0
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lose: bytes | None = None
        self.lost = threading.Event()
        """Set when an answer was lost."""
        self._start(self._accept)

    def url(self, **params: Any) -> str:
        """The URL of the same database through the proxy."""
        port = self._listener.getsockname()[1]
        return to_url(self._params | {"host": "127.0.0.1", "port": port} | params)

    def fall_silent(self) -> None:
        """Swallow what comes in, on the connections that there are and on new ones."""
        self._open = False
        self._epoch += 1

    def listen(self) -> None:
        """Forward again, for new connections; those that lost something stay silent."""
        self._epoch += 1
        self._open = True

    def speak(self) -> None:
        """Forward again, for new connections; those that lost something are cut."""
        self._end_all()
        self.listen()

    def lose_answer_to(self, statement: bytes) -> None:
        """Let the next request with *statement* in it through, and cut instead of answering."""
        self._lose = statement

    def cut(self) -> None:
        """End all connections."""
        self._end_all()

    def close(self) -> None:
        """End it all."""
        _shut(self._listener)
        self.speak()
        for thread in self._threads:
            thread.join(10)
        for end in (self._listener, *self._ends):
            end.close()

    def _end_all(self) -> None:
        for end in tuple(self._ends):
            _shut(end)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            self._ends += [client, server]
            link = _Link(self, client, server)
            self._start(link.requests)
            self._start(link.answers)

    def _start(self, target: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=target, daemon=True))
        self._threads[-1].start()


class _Link:
    """One connection through the proxy."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self.proxy, self.client, self.server = proxy, client, server
        self.lossy = False
        self.epoch = proxy._epoch

    @property
    def speaks(self) -> bool:
        return self.proxy._open and self.epoch == self.proxy._epoch

    def requests(self) -> None:
        with contextlib.suppress(OSError):
            for data in self._read(self.client):
                wanted = self.proxy._lose
                if wanted is not None and wanted in data:
                    self.proxy._lose = None
                    self.lossy = True
                self.server.sendall(data)
        self._end()

    def answers(self) -> None:
        with contextlib.suppress(OSError):
            for data in self._read(self.server):
                if self.lossy:
                    break
                self.client.sendall(data)
        self._end()
        if self.lossy:
            self.proxy.lost.set()

    def _read(self, source: socket.socket) -> Iterator[bytes]:
        while data := source.recv(65536):
            if self.speaks:
                yield data

    def _end(self) -> None:
        if self.speaks or self.epoch < self.proxy._epoch:
            _shut(self.client)
            _shut(self.server)


def _shut(end: socket.socket) -> None:
    # Not close: a thread that waits for it would go on waiting, and the peer hear nothing.
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
