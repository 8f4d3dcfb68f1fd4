"""Parsing an import's documents: here, or in processes that run ahead of the writer."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from pycortex._copy import Parsed, parsed
from pycortex._documents import Beat, Document
from pycortex._launch import Process, launch, socket_pair
from pycortex._line import Line
from pycortex._log import logger
from pycortex._memory import kills_for_memory
from pycortex._parser import Source, Start, log_of
from pycortex._text import describe
from pycortex._threads import start_thread
from pycortex.errors import JobFailed

__all__ = ["parse_all"]

ENOUGH = 500
"""Documents for which processes are worth their start."""

PROCESSES = 4
"""Processes of one import, at most; no more than there are processors."""

BATCH = 64
"""Documents that go to a process together."""

BATCH_BYTES = 2**20
"""Bytes that go to a process together, if a single document isn't longer."""

READ_AHEAD = 4
"""Batches that are read and not yet handed out."""

AHEAD = 8
"""Batches for each process that are on their way, or done and not yet stored."""

HELD = 64 * 2**20
"""Bytes of rows that wait to be stored; past them only what is needed next is heard."""

GLANCE = 0.5
"""Seconds between two signs of life, while nothing is ready."""

PATIENCE = 600.0
"""Seconds of waiting for one document in which there are signs of life; then it seems to hang."""

NAMED = 3
"""Documents that are named of those which a process had when it ended."""


def parse_all(
    documents: Iterator[Document], total: int, beat: Beat, stopped: Callable[[], bool]
) -> Generator[tuple[str, Parsed], None, None]:
    """
    Yield the name of each document, in order, and what it says; close it when it is of no use.

    Args:
        total: How many there may be.
        beat: Called twice a second while none is ready; what it raises ends all. Not called any
            more where a document seems to hang, so that this shows, until the job is stopped.
        stopped: Says whether the job is to end.

    Raises:
        JobFailed: A process that parsed was ended by somebody else.
    """
    count = min(PROCESSES, _processors()) if total >= ENOUGH else 0
    with _parsers(count) as parsers:
        if parsers:
            yield from _apart(documents, parsers, beat, stopped)
        else:
            for document in documents:
                yield document.entry, parsed(log_of(document.fetch(beat), beat))


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(slots=True)
class _Batch:
    """Documents that go to one process, and what it makes of them, piece by piece."""

    entries: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    answers: SimpleQueue[list[Parsed] | str] = field(default_factory=SimpleQueue)


class _Desk:
    """What the processes of one import have in common."""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[_Batch | None] = SimpleQueue()
        self.first: _Batch | None = None
        self._held = 0
        self._lock = threading.Lock()

    def hold(self, size: int) -> None:
        """Count bytes that wait, or no longer do."""
        with self._lock:
            self._held += size

    def wants(self, batch: _Batch) -> bool:
        """Whether there is room for what becomes of this batch, or it is needed next."""
        return self._held < HELD or (batch is self.first and batch.answers.empty())


class _Parser:
    """One process, and the thread that talks with it."""

    def __init__(self, desk: _Desk) -> None:
        self._desk = desk
        self._closed = False
        self._kills = kills_for_memory()
        ours, theirs = socket_pair()
        self._end = ours
        try:
            with theirs:
                start = Start(theirs.fileno(), os.getpid())
                self.process: Process = launch(start, theirs, "pycortex parser")
        except BaseException:
            ours.close()
            raise
        self._line = Line(ours)
        self._thread = start_thread(self._talk, "pycortex-parsing")

    def close(self) -> None:
        """End the process, whatever it does."""
        self._closed = True
        self.process.signal(signal.SIGKILL)

    def bury(self) -> None:
        """Wait until it is gone."""
        self._desk.tasks.put(None)
        self._thread.join()
        self._end.close()
        self.process.bury()

    def _talk(self) -> None:
        given: deque[tuple[_Batch, int]] = deque()
        while not self._closed:
            try:
                while len(given) < 2:  # so that it never waits for the next one
                    batch = self._desk.tasks.get(block=not given)
                    if batch is None:
                        self._desk.tasks.put(None)
                        return
                    self._line.say(batch.sources)
                    batch.sources = []
                    given.append((batch, 0))
            except Empty:
                pass
            if not self._desk.wants(given[0][0]):
                time.sleep(0.005)
                continue
            try:
                letters = self._line.hear(GLANCE)
            except EOFError:
                if not self._closed:
                    self._mourn(given)
                return
            for letter in letters:
                answers = [Parsed(*each) for each in pickle.loads(letter)]  # noqa: S301 - from it
                batch, done = given.popleft()
                self._desk.hold(sum(answer.size for answer in answers))
                batch.answers.put(answers)
                if done + len(answers) < len(batch.entries):
                    given.appendleft((batch, done + len(answers)))

    def _mourn(self, given: Iterable[tuple[_Batch, int]]) -> None:
        """Say how the process ended, and what it had in its hands."""
        while not self.process.over():
            time.sleep(0.01)
        code = self.process.code
        how = "ended" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            try:
                how = f"was ended by {signal.Signals(-code).name}"
            except ValueError:
                how = f"was ended by signal {-code}"
            if code == -signal.SIGKILL and kills_for_memory() > self._kills:
                how += ", while the system killed for want of memory"
        for batch, done in given:
            entries = batch.entries[done:]
            names = ", ".join(entries[:NAMED])
            more = len(entries) - NAMED
            rest = f" and {more} more" if more > 0 else ""
            batch.answers.put(f"a process that parses {how}; it had {names}{rest}")


@contextmanager
def _parsers(count: int) -> Iterator[list[_Parser]]:
    """Start processes; none where the system gives none."""
    desk = _Desk()
    started: list[_Parser] = []
    try:
        for _ in range(count):
            try:
                started.append(_Parser(desk))
            except Exception as error:  # noqa: BLE001 - it can be done without
                logger.warning("no process could be had for parsing: %s", describe(error))
                break
        yield started
    finally:
        for parser in started:
            parser.close()
        for parser in started:
            parser.bury()


def _apart(
    documents: Iterator[Document],
    parsers: list[_Parser],
    beat: Beat,
    stopped: Callable[[], bool],
) -> Iterator[tuple[str, Parsed]]:
    with _Reader(documents, stopped) as reader:
        yield from _each_in_turn(reader, parsers, beat, stopped)


def _each_in_turn(
    reader: _Reader,
    parsers: list[_Parser],
    beat: Beat,
    stopped: Callable[[], bool],
) -> Iterator[tuple[str, Parsed]]:
    desk = parsers[0]._desk
    waiting: deque[_Batch] = deque()
    while True:
        while len(waiting) < AHEAD * len(parsers):
            batch = reader.next(None if waiting else beat)
            if batch is None:
                break
            waiting.append(batch)
            desk.tasks.put(batch)
        if not waiting:
            return
        desk.first = batch = waiting.popleft()
        done = 0
        since = time.monotonic()
        while done < len(batch.entries):
            try:
                answers = batch.answers.get(timeout=GLANCE)
            except Empty:
                if time.monotonic() - since < PATIENCE or stopped():
                    beat()
                continue
            if isinstance(answers, str):
                raise JobFailed(answers)
            desk.hold(-sum(answer.size for answer in answers))
            yield from zip(batch.entries[done : done + len(answers)], answers, strict=True)
            done += len(answers)
            since = time.monotonic()


class _Left(Exception):  # noqa: N818 - no error
    """What is read is of no use any more."""


class _Reader:
    """Reads documents ahead in a thread, so that unpacking goes on while the server writes."""

    def __init__(self, documents: Iterator[Document], stopped: Callable[[], bool]) -> None:
        self._batches = _batches(documents, self._beat)
        self._stopped = stopped
        self._ready: SimpleQueue[_Batch | BaseException | None] = SimpleQueue()
        self._room = threading.Semaphore(READ_AHEAD)
        self._alive = True
        self._left = False
        self._over = False

    def __enter__(self) -> _Reader:
        self._thread = start_thread(self._read, "pycortex-reading")
        return self

    def __exit__(self, *_: object) -> None:
        self._left = True
        self._room.release()
        self._thread.join()

    def next(self, beat: Beat | None) -> _Batch | None:
        """
        Take the next batch; None if there is none any more, or without *beat* none that is ready.

        Args:
            beat: Called now and then while the thread reads; while it hangs, only when stopped.
        """
        while not self._over:
            try:
                found = self._ready.get(block=beat is not None, timeout=GLANCE)
            except Empty:
                if beat is None:
                    return None
                if self._alive or self._stopped():
                    self._alive = False
                    beat()
                continue
            if isinstance(found, _Batch):
                self._room.release()
                return found
            self._over = True
            if found is not None:
                raise found
        return None

    def _read(self) -> None:
        try:
            for batch in self._batches:
                self._ready.put(batch)
                self._room.acquire()
                self._beat()
        except _Left:
            pass
        except BaseException as error:  # noqa: BLE001 - raised where it is taken
            self._ready.put(error)
        else:
            self._ready.put(None)

    def _beat(self) -> None:
        if self._left:
            raise _Left
        self._alive = True


def _batches(documents: Iterator[Document], beat: Beat) -> Iterator[_Batch]:
    batch = _Batch()
    size = 0
    for document in documents:
        batch.entries.append(document.entry)
        batch.sources.append(document.fetch(beat))
        beat()
        size += document.size
        if len(batch.entries) >= BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = _Batch(), 0
    if batch.entries:
        yield batch
