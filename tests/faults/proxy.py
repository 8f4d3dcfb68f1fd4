"""A TCP proxy before a server that can fall silent, cut its connections, or lose one answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from tests.servers import to_url

REQUESTS, ANSWERS = "requests", "answers"
BOTH = (REQUESTS, ANSWERS)


class Proxy:
    """Forwards connections on loopback to the server of *conninfo*, until told otherwise."""

    def __init__(self, conninfo: str) -> None:
        self._params = conninfo_to_dict(conninfo)
        self._target = (str(self._params["host"]), int(str(self._params["port"])))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._silent: frozenset[str] = frozenset()
        self._links: list[_Link] = []
        self._threads: list[threading.Thread] = []
        self._lose: bytes | None = None
        self._silence_at: tuple[bytes, tuple[str, ...]] | None = None
        self.lost = threading.Event()
        """Set when an answer was lost."""
        self.silenced = threading.Event()
        """Set when it fell silent at a statement."""
        self._start(self._accept)

    def url(self, **params: Any) -> str:
        """The URL of the same database through the proxy."""
        port = self._listener.getsockname()[1]
        return to_url(self._params | {"host": "127.0.0.1", "port": port} | params)

    def fall_silent(self, ways: tuple[str, ...] = BOTH) -> None:
        """
        Swallow what goes these ways, on the connections that there are and on new ones.

        Both ends see it acknowledged, and neither hears that the other has gone.
        """
        self._silent = frozenset(ways)
        for link in tuple(self._links):
            link.deaf |= self._silent

    def fall_silent_at(self, statement: bytes, ways: tuple[str, ...] = BOTH) -> None:
        """Fall silent when a request with *statement* in it comes, before it goes on."""
        self._silence_at = (statement, ways)

    def listen(self) -> None:
        """Forward again, for new connections; those that lost something stay silent."""
        self._silent = frozenset()

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
        self._listener.close()
        for link in self._links:
            link.client.close()
            link.server.close()

    def _end_all(self) -> None:
        for link in tuple(self._links):
            _shut(link.client)
            _shut(link.server)

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
            link = _Link(self, client, server)
            self._links.append(link)
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
        self.deaf = proxy._silent
        """The ways on which it has lost something, and so stays silent."""

    def requests(self) -> None:
        with contextlib.suppress(OSError):
            for data in self._read(self.client, REQUESTS):
                wanted = self.proxy._lose
                if wanted is not None and wanted in data:
                    self.proxy._lose = None
                    self.lossy = True
                self.server.sendall(data)
        self._end(REQUESTS)

    def answers(self) -> None:
        with contextlib.suppress(OSError):
            for data in self._read(self.server, ANSWERS):
                if self.lossy:
                    break
                self.client.sendall(data)
        if self.lossy:
            self.proxy.lost.set()  # before anybody can notice
        self._end(ANSWERS)

    def _read(self, source: socket.socket, way: str) -> Iterator[bytes]:
        while data := source.recv(65536):
            at = self.proxy._silence_at
            if at is not None and way == REQUESTS and at[0] in data:
                self.proxy._silence_at = None
                self.proxy.fall_silent(at[1])
                self.proxy.silenced.set()
            if way not in self.deaf:
                yield data

    def _end(self, way: str) -> None:
        if way not in self.deaf:
            _shut(self.client)
            _shut(self.server)


def _shut(end: socket.socket) -> None:
    # Not close: a thread that waits for it would go on waiting, and the peer hear nothing.
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
