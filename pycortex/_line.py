"""How a runner and a body's process talk: pickles, each behind its length, on a socket."""

from __future__ import annotations

import pickle
import select
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["Inbox", "Line", "frame"]

HEAD = struct.Struct("!Q")
CHUNK = 2**18
"""Bytes to read at once."""


def frame(what: object) -> bytes:
    """Pickle a message and put its length before it."""
    data = pickle.dumps(what)
    return HEAD.pack(len(data)) + data


class Inbox:
    """Puts messages together from what comes in."""

    def __init__(self) -> None:
        self._data = bytearray()

    def put(self, data: bytes) -> Iterator[bytes]:
        """Take in some bytes; gives the messages that are whole now, still pickled."""
        self._data += data
        while len(self._data) >= HEAD.size:
            end = HEAD.size + HEAD.unpack_from(self._data)[0]
            if len(self._data) < end:
                return
            message = bytes(self._data[HEAD.size : end])
            del self._data[:end]
            yield message


class Line:
    """The runner's end. It never waits for the process, which may be stopped or hung."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._end = end
        self._inbox = Inbox()
        self._unsent = bytearray()
        self._lock = threading.Lock()

    def say(self, what: Any) -> None:
        """Say something as soon as the process takes it; from any thread."""
        with self._lock:
            self._unsent += frame(what)
            self._push()

    def hear(self, seconds: float) -> list[bytes]:
        """
        Wait for messages, at most so long.

        Raises:
            EOFError: Nobody is at the other end any more.
        """
        poll = select.poll()
        poll.register(self._end, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        for _, events in poll.poll(seconds * 1000):
            if events & select.POLLOUT:
                with self._lock:
                    self._push()
            if events & ~select.POLLOUT:
                return list(self._inbox.put(self._read()))
        return []

    def _read(self) -> bytes:
        try:
            data = self._end.recv(CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        return data

    def _push(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._end.send(self._unsent[:CHUNK])]
        except BlockingIOError:
            pass
        except OSError:  # nobody hears it any more
            self._unsent.clear()
