"""The inside of a process that parses documents for an import; it dies with who started it."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pycortex import latexml
from pycortex._copy import Parsed, parsed
from pycortex._documents import Beat, File
from pycortex._line import CHUNK, Inbox, frame
from pycortex._text import describe
from pycortex._threads import start_thread
from pycortex.latexml import Log

__all__ = ["Source", "Start", "log_of"]

GLANCE = 0.5
"""Seconds between two looks whether the starter is still there."""

LETTER = 2**18
"""Bytes of rows that are sent together."""

Source = File | bytes | Log
"""What a document is made of."""


@dataclass(frozen=True, slots=True)
class Start:
    """
    What a fresh process finds to do; in the manner of multiprocessing.

    Attributes:
        line: The socket to the starter.
        starter: Its process.
    """

    line: int
    starter: int

    def _bootstrap(self, sentinel: int) -> int:
        os.close(sentinel)
        # Its starter decides when it ends; a signal to a whole group is the starter's to heed.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        start_thread(self._die_with_starter, "pycortex-parser")
        with socket.socket(fileno=self.line) as line:
            line.set_inheritable(False)
            try:
                _serve(line)
            except (ConnectionError, EOFError):
                return 1
        return 0

    def _die_with_starter(self) -> None:
        while os.getppid() == self.starter:
            time.sleep(GLANCE)
        os._exit(1)


def log_of(source: Source, beat: Beat | None = None) -> Log:
    """
    Parse a document; what can't be parsed is an invalid document.

    Args:
        beat: Called now and then while a long one is read; what it raises is passed on.
    """
    if isinstance(source, Log):
        return source
    try:
        return source.read(beat) if isinstance(source, File) else latexml.parse_whole(source)
    except Exception as error:  # noqa: BLE001 - one document never stops the others
        return latexml.invalid("unreadable", f"the file can't be parsed: {describe(error)}")


def _serve(line: socket.socket) -> None:
    inbox = Inbox()
    while data := line.recv(CHUNK):
        for message in inbox.put(data):
            _answer(line, pickle.loads(message))  # noqa: S301 - from the starter


def _answer(line: socket.socket, sources: Sequence[Source]) -> None:
    """Send what becomes of each document, in order, as soon as it is a letter's worth."""
    ready: list[Parsed] = []
    size = 0
    for source in sources:
        ready.append(made := parsed(log_of(source)))
        size += made.size
        if size >= LETTER:
            line.sendall(_letter(ready))
            ready.clear()
            size = 0
    if ready:
        line.sendall(_letter(ready))


def _letter(ready: Sequence[Parsed]) -> bytes:
    return frame([(each.status, each.complete, each.counts, each.rows) for each in ready])
