"""The inside of a process that runs one body: it says how that ends, and dies with its runner."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from types import FrameType
from typing import NoReturn

from pycortex._outcome import Outcome, run_body
from pycortex._remote import Desk, Report, Task, report
from pycortex._text import describe
from pycortex._threads import start_thread
from pycortex.errors import JobStopped
from pycortex.models import JobStatus, Verdict
from pycortex.progress import JobProgress, Step

__all__ = ["Taken", "main"]

GLANCE = 0.5
"""Seconds between two looks whether the runner is still there."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Said once by a process that stands on its own feet."""


class _Line:
    """The pipe to the runner; several threads speak."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._speaking = threading.RLock()  # a signal's handler may log amid a message

    def say(self, what: Report | Step | Taken | logging.LogRecord) -> None:
        """Say something, if somebody still hears."""
        with suppress(OSError, ValueError), self._speaking:
            self._pipe.send(what)

    def listen(self, progress: JobProgress, runner: int) -> None:
        """Hear what the database wants of the job, until the runner is gone; then go too."""
        with suppress(EOFError, OSError):
            # Not only the end of the pipe: a process that the runner forked may hold it open.
            while os.getppid() == runner:
                if self._pipe.poll(GLANCE):
                    verdict = self._pipe.recv()
                    assert isinstance(verdict, Verdict)  # noqa: S101 - nothing else is sent
                    progress._hear(verdict)
        _die()


class _Relay(logging.Handler):
    """Brings log records to the runner's process, whose handlers know what to do with them."""

    def __init__(self, line: _Line) -> None:
        super().__init__()
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record, made of plain values."""
        try:
            record.msg, record.args = record.getMessage(), None
            if record.exc_info:
                record.msg += "\n" + logging.Formatter().formatException(record.exc_info)
                record.exc_info = None
            self._line.say(record)
        except Exception:  # noqa: BLE001 - as every handler
            self.handleError(record)


def main(pipe: Pipe, task: Task, runner: int, level: int) -> None:
    """Run the body of *task*; the other end of *pipe* hears how it ended."""
    with suppress(OSError):
        os.setsid()  # what the body starts can be ended with it, and Ctrl-C is the runner's
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = _Line(pipe)
    _relay_logs(line, level)
    here = Desk(task.conninfo, task.step_interval, line.say)
    progress = here.progress(task.job)
    start_thread(lambda: line.listen(progress, runner), "pycortex-line")
    line.say(Taken())
    with suppress(JobStopped):
        line.say(_report(here, progress, task))
        here.close()
        return
    _end_by(signal.SIGTERM)


def _report(here: Desk, progress: JobProgress, task: Task) -> Report:
    assert isinstance(task.body, bytes)  # noqa: S101 - see Task
    try:
        body = pickle.loads(task.body)  # noqa: S301 - from the runner
    except BaseException as error:  # noqa: BLE001 - importing its module may raise anything
        what = f"the body can't be had in a process of its own: {describe(error)}"
        outcome = Outcome(JobStatus.FAILED, what, error=error)
        return report(outcome, progress)
    stopped: list[int] = []

    def stop(number: int, _: FrameType | None) -> NoReturn:
        stopped.append(number)
        raise JobStopped(f"job {progress.uuid} is ended by {signal.Signals(number).name}")

    signal.signal(signal.SIGTERM, stop)
    outcome = run_body(body, progress)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if stopped and outcome.status is not JobStatus.SUCCEEDED:
        raise JobStopped
    here.end(progress)
    return report(outcome, progress)


def _relay_logs(line: _Line, level: int) -> None:
    # This process is ours. If the application has set up logging on import, that stands.
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(_Relay(line))
        root.setLevel(level)


def _end_by(number: int) -> NoReturn:
    """Die of a signal, so that whoever asks for the exit code hears of it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _die() -> NoReturn:
    """End this process and all that the body started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
