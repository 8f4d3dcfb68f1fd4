"""The inside of a process that runs one body: it says how that ends, and dies with its runner."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import spawn
from queue import SimpleQueue
from types import FrameType
from typing import NoReturn

import psycopg
from psycopg.pq import TransactionStatus

from pycortex._line import CHUNK, Inbox, frame
from pycortex._log import logger
from pycortex._outcome import Body, Outcome, run_body
from pycortex._remote import Desk, Report, Task, report
from pycortex._steps import plain_step
from pycortex._text import describe, fit
from pycortex._threads import start_thread
from pycortex.errors import JobStopped
from pycortex.models import JobStatus, Verdict
from pycortex.progress import JobProgress, Step

__all__ = ["Begins", "Order", "Start", "Stopped"]

GLANCE = 0.5
"""Seconds between two looks whether the runner is still there."""

BACKLOG = 1000
"""Log records that wait to be sent, at most."""

LAST_WORDS = 2.0
"""Seconds for a word that can wait no longer: which step was written, that a statement be ended."""


@dataclass(frozen=True, slots=True)
class Order:
    """
    The first thing that a runner says.

    Attributes:
        task: Its body is pickled.
        main: How to import the runner's main module, where the body needs it.
        levels: The levels of the runner's loggers; "" is the root.
    """

    task: Task
    main: dict[str, str]
    levels: dict[str, int]


@dataclass(frozen=True, slots=True)
class Begins:
    """Said once: the process is set up, now comes the body."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Said of a body that was stopped by a signal, of which the process dies next."""

    latest: Step | None


@dataclass(frozen=True, slots=True)
class Start:
    """
    What a fresh process finds to do; in the manner of multiprocessing.

    Attributes:
        line: The socket to the runner.
        runner: The runner's process.
    """

    line: int
    runner: int

    def _bootstrap(self, sentinel: int) -> int:
        os.close(sentinel)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # a runner may have blocked it
        line = _Line(socket.socket(fileno=self.line), self.runner)
        ended = _live(line)
        line.close()
        if isinstance(ended, Stopped):
            _end_by(signal.SIGTERM)
        return 0


class _Line:
    """
    The body's end of the line to its runner.

    A thread of its own speaks: a signal's handler may interrupt the body anywhere, and raise there,
    but never amid a message.
    """

    def __init__(self, end: socket.socket, runner: int) -> None:
        end.set_inheritable(False)
        self._end = end
        self._runner = runner
        self._unsaid: SimpleQueue[tuple[bytes, threading.Event | None] | None] = SimpleQueue()
        self._orders: SimpleQueue[Order] = SimpleQueue()
        self._progress: JobProgress | None = None
        self._speaker = start_thread(self._speak, "pycortex-speaker")
        start_thread(self._listen, "pycortex-listener")

    def order(self) -> Order:
        """Wait for what the runner wants done."""
        return self._orders.get()

    def begin(self, progress: JobProgress) -> None:
        """Say that the body begins; from now on it hears what the runner hears."""
        self._progress = progress
        self.say(Begins())

    def say(self, what: Report | Begins | Stopped | logging.LogRecord) -> None:
        """Say something, if somebody still hears."""
        self._unsaid.put((frame(what), None))

    def say_now(self, step: Step) -> None:
        """Say which step was written, before the body goes on and perhaps lets no thread move."""
        said = threading.Event()
        self._unsaid.put((frame(step), said))
        said.wait(LAST_WORDS)

    def tell(self, record: logging.LogRecord) -> None:
        """Say a log record; no faster than they are heard."""
        while self._unsaid.qsize() > BACKLOG and self._speaker.is_alive():
            time.sleep(0.001)
        self.say(record)

    def close(self) -> None:
        """Wait until all is said, or nobody hears it any more."""
        self._unsaid.put(None)
        self._speaker.join()

    def _speak(self) -> None:
        with suppress(OSError):
            while (entry := self._unsaid.get()) is not None:
                message, said = entry
                self._end.sendall(message)
                if said is not None:
                    said.set()

    def _listen(self) -> None:
        with suppress(OSError):
            for message in self._messages():
                said = pickle.loads(message)  # noqa: S301 - from the runner
                if isinstance(said, Order):
                    self._orders.put(said)
                elif isinstance(said, Verdict) and self._progress is not None:
                    self._progress._hear(said)
            _die()
        while os.getppid() == self._runner:  # the body closed the line, of which the runner hears
            time.sleep(GLANCE)
        _die()

    def _messages(self) -> Iterator[bytes]:
        """Hear messages until the runner is gone."""
        inbox = Inbox()
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        # Not only the end of the line: a process that the runner forked may hold it open.
        while os.getppid() == self._runner:
            if poll.poll(GLANCE * 1000):
                try:
                    data = self._end.recv(CHUNK)
                except ConnectionResetError:
                    return
                if not data:
                    return
                yield from inbox.put(data)


class _Relay(logging.Handler):
    """Brings log records to the runner's process, whose handlers know what to do with them."""

    def __init__(self, line: _Line) -> None:
        super().__init__()
        self._line = line
        self._home = os.getpid()

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record, made of plain values."""
        if os.getpid() != self._home:  # a fork of the body's has no line
            if logging.lastResort is not None and record.levelno >= logging.lastResort.level:
                logging.lastResort.handle(record)
            return
        try:
            fields = vars(record) | {"msg": record.getMessage(), "args": None, "exc_info": None}
            if record.exc_info:
                fields["exc_text"] = logging.Formatter().formatException(record.exc_info)
            try:
                self._line.tell(logging.makeLogRecord(fields))
            except Exception:  # noqa: BLE001 - somebody's field may be of any type
                fields = {name: value for name, value in fields.items() if _is_plain(value)}
                self._line.tell(logging.makeLogRecord(fields))
        except Exception:  # noqa: BLE001 - as every handler
            self.handleError(record)


def _live(line: _Line) -> Report | Stopped:
    """Do what is ordered; says and returns how it ended."""
    order = line.order()
    _relay_logs(line, order.levels)
    here = Desk(order.task.conninfo, order.task.step_interval, line.say_now)
    progress = here.progress(order.task.job)
    try:
        body = _unpickle(order)
    except BaseException as error:  # noqa: BLE001 - importing its module may raise anything
        what = fit(f"its body can't be had in a process of its own: {describe(error)}")
        ended: Report | Stopped = report(Outcome(JobStatus.FAILED, what, error=error), progress)
    else:
        line.begin(progress)
        ended = _run(body, progress)
    line.say(ended)
    if isinstance(ended, Stopped):
        _cancel_statements(progress)
    here.end(progress)
    if isinstance(ended, Report):
        here.close()
    return ended


def _unpickle(order: Order) -> Body:
    if order.main:
        with _inheriting():
            spawn.prepare(order.main)
    assert isinstance(order.task.body, bytes)  # noqa: S101 - see Task
    body: Body = pickle.loads(order.task.body)  # noqa: S301 - from the runner
    return body


@contextmanager
def _inheriting() -> Iterator[None]:
    """Have processes and runners refused that a main module without its guard would start."""
    process = multiprocessing.current_process()
    process._inheriting = True  # type: ignore[attr-defined]
    try:
        yield
    finally:
        del process._inheriting  # type: ignore[attr-defined]


def _run(body: Body, progress: JobProgress) -> Report | Stopped:
    stopped = threading.Event()
    here = os.getpid()

    def stop(number: int, _: FrameType | None) -> None:
        if os.getpid() != here:  # a fork of the body's, such as a Pool ends by this signal
            _end_by(signal.SIGTERM)
        if not stopped.is_set():  # the body cleans up in peace
            stopped.set()
            raise JobStopped(f"job {progress.uuid} is ended by {signal.Signals(number).name}")

    outcome = Outcome(None)
    with suppress(JobStopped):  # it may come before the body, or as soon as that is over
        signal.signal(signal.SIGTERM, stop)
        outcome = run_body(body, progress)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if stopped.is_set() and outcome.status is not JobStatus.SUCCEEDED:
        if outcome.error is not None:
            logger.warning("job %s was ended, and raised", progress.uuid, exc_info=outcome.error)
        latest = progress._latest
        return Stopped(None if latest is None else plain_step(latest))
    return report(outcome, progress)


def _cancel_statements(progress: JobProgress) -> None:
    """End what the body waits for in the database, which would go on without it."""
    for conn in progress._connections:
        with suppress(psycopg.Error):
            if conn.info.transaction_status == TransactionStatus.ACTIVE:
                conn.cancel_safe(timeout=LAST_WORDS)


def _relay_logs(line: _Line, levels: dict[str, int]) -> None:
    logging.getLogger().addHandler(_Relay(line))
    for name, level in levels.items():
        logging.getLogger(name or None).setLevel(level)


def _is_plain(value: object) -> bool:
    return value is None or type(value) in (str, int, float, bool)


def _end_by(number: signal.Signals) -> NoReturn:
    """Die of a signal, so that whoever asks for the exit code hears of it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _die() -> NoReturn:
    """End this process and all that the body has started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
