"""Bodies in processes of their own, which can be ended for good."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.reduction import ForkingPickler

from pycortex._child import Begins, Order, Start, Stopped
from pycortex._guard import Guard
from pycortex._launch import Process, launch, main_module, socket_pair
from pycortex._line import Line
from pycortex._log import logger
from pycortex._memory import kills_for_memory
from pycortex._outcome import Body, Outcome
from pycortex._remote import Report, Task
from pycortex._text import describe, fit
from pycortex.models import JobStatus, Verdict
from pycortex.progress import JobProgress

__all__ = ["InProcess", "check_portable"]

GLANCE = 0.2
"""Seconds between two looks whether a process is over, or has used its time up."""

EXIT_LIMIT = 5.0
"""Seconds for a process to leave once its body is over, or its line to the runner is closed."""

COMPANY = 2.0
"""Seconds in which a runner learns of a signal that was sent to it and its processes at once."""

REQUESTS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals by which somebody asks a process to end."""

GUARD = Guard()
"""This process's."""


def check_portable(body: Body) -> bytes:
    """
    Pickle a body.

    Raises:
        TypeError: It can't be found again by its name.
    """
    try:
        pickled = bytes(ForkingPickler.dumps(body))
        if _needs_main(pickled) and not main_module():
            raise pickle.PicklingError("nothing can import the main module that it is part of")
    except Exception as error:
        raise TypeError(
            f"a process of its own can't have this body: {error}; define it at the top of a module"
        ) from error
    return pickled


class InProcess:
    """
    Carries one body in a fresh process.

    Args:
        kill_after: Seconds from SIGTERM to SIGKILL.
        leaving: Says whether the runner is shutting down.
    """

    ends_for_good = True

    def __init__(
        self, task: Task, progress: JobProgress, kill_after: float, leaving: Callable[[], bool]
    ) -> None:
        self._task = task
        self._progress = progress
        self._kill_after = kill_after
        self._leaving = leaving
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._line: Line | None = None
        self._begun = False
        self._ended: Report | Stopped | None = None
        self._verdict: Verdict | None = None
        self._why: Verdict | None = None
        self._sent: dict[signal.Signals, float] = {}
        self._kill_at = float("inf")

    def run(self) -> Outcome:
        """Run the body to its end, or the process to its."""
        if self._why is not None:
            return self._judge(None, "its body had not begun")
        kills = kills_for_memory()
        ours, theirs = socket_pair()
        with ours:
            try:
                with theirs:
                    order = self._order()
                    start = Start(theirs.fileno(), os.getpid())
                    process = launch(start, theirs, f"pycortex job {self._task.job.uuid}")
            except Exception as error:  # noqa: BLE001 - no job is left without an end
                what = f"no process could be had for it: {describe(error)}"
                return Outcome(JobStatus.FAILED, fit(what), error=error)
            GUARD.watch(process.pid)
            line = Line(ours)
            line.say(order)
            try:
                with self._lock:
                    self._process, self._line = process, line
                    if self._why is not None:
                        self._terminate()
                self._listen(line, process)
                self._await_end(process)
            finally:
                with self._lock:
                    self._process = self._line = None
                process.bury()
                GUARD.forget(process.pid)
        if isinstance(self._ended, Report):
            return self._ended.outcome
        return self._judge(process.code, self._epitaph(process.code, kills_for_memory() > kills))

    def hear(self, verdict: Verdict, *, hard: bool) -> None:
        """Tell the body; where that may be forced, end its process."""
        self._progress._hear(verdict)
        with self._lock:
            if verdict is not self._verdict:  # every beat says it again
                self._verdict = verdict
                if self._line is not None and self._begun:
                    self._line.say(verdict)
        if hard:
            self.end(verdict)

    def end(self, why: Verdict, seconds: float | None = None) -> None:
        """Send SIGTERM, once; SIGKILL follows after *seconds*, or as the runner was made."""
        with self._lock:
            if seconds is not None:
                self._kill_after = min(seconds, self._kill_after)
                self._kill_at = min(self._kill_at, time.monotonic() + seconds)
            if self._why is None:
                self._why = why
                self._terminate()

    def _order(self) -> Order:
        body = check_portable(self._task.body) if callable(self._task.body) else self._task.body
        levels = {"": logging.getLogger().level}
        for name, known in tuple(logging.Logger.manager.loggerDict.items()):
            if isinstance(known, logging.Logger) and known.level:
                levels[name] = known.level
        main = main_module() if _needs_main(body) else {}
        return Order(replace(self._task, body=body), main, levels)

    def _listen(self, line: Line, process: Process) -> None:
        """Hear the process until it falls silent."""
        while True:
            try:
                messages = line.hear(GLANCE)
            except EOFError:
                return
            for message in messages:
                self._take(message, line)
            if not messages and process.over():  # what it forked may hold the line open
                return
            self._kill_if_due(process)

    def _take(self, message: bytes, line: Line) -> None:
        try:
            said = pickle.loads(message)  # noqa: S301 - from our own process
        except Exception as error:  # noqa: BLE001 - what can't be read is not heard
            logger.warning("job %s said what can't be read: %s", self._task.job.uuid, error)
            return
        match said:
            case logging.LogRecord():
                there = logging.getLogger(said.name)
                if there.isEnabledFor(said.levelno):
                    there.handle(said)
            case Begins():
                with self._lock:
                    self._begun = True
                    if self._verdict is not None:
                        line.say(self._verdict)
            case Report() | Stopped():
                self._ended = said
                self._progress._latest = said.latest
                self._kill_at = min(self._kill_at, time.monotonic() + EXIT_LIMIT)
            case _:
                self._progress._latest = self._progress._written = said

    def _await_end(self, process: Process) -> None:
        self._kill_at = min(self._kill_at, time.monotonic() + EXIT_LIMIT)
        delay = 0.001
        while not process.over():
            self._kill_if_due(process)
            time.sleep(delay)
            delay = min(2 * delay, GLANCE)

    def _kill_if_due(self, process: Process) -> None:
        GUARD.tend()
        if time.monotonic() >= self._kill_at:
            self._kill_at = float("inf")
            self._signal(process, signal.SIGKILL)

    def _terminate(self) -> None:
        if self._process is not None:
            self._kill_at = min(self._kill_at, time.monotonic() + self._kill_after)
            self._signal(self._process, signal.SIGTERM)

    def _signal(self, process: Process, number: signal.Signals) -> None:
        self._sent[number] = time.monotonic()
        process.signal(number)

    def _epitaph(self, code: int | None, starved: bool) -> str:
        """Say how a process ended that didn't say how its body did."""
        if code is None:
            text = "its process ended, and this program keeps its runner from seeing how"
        elif code >= 0:
            text = f"its process ended with exit code {code}"
            text += " amid its body" if self._begun else " before its body; stderr may tell why"
        else:
            text = f"its process was ended by {_name(code)} (exit code {code})"
            if -code in self._sent:
                text += self._explain(-code)
            elif starved and -code == signal.SIGKILL:
                text += ", while the system killed for want of memory"
            elif -code in REQUESTS | {signal.SIGKILL}:
                text += ", which this runner did not send"
        if self._progress._latest is None:
            return fit(f"{text}; it had taken no step")
        current, total, message = self._progress._latest
        of = "" if total is None else f" of {total}"
        return fit(f"{text}; last step: {current}{of}{f', {message}' if message else ''}")

    def _explain(self, number: int) -> str:
        if number != signal.SIGKILL:
            return ""
        if signal.SIGTERM not in self._sent:
            return ", as it had closed its line to the runner"
        waited = self._sent[signal.SIGKILL] - self._sent[signal.SIGTERM]
        return f", {waited:.1f} s after SIGTERM"

    def _judge(self, code: int | None, epitaph: str) -> Outcome:
        if self._why is Verdict.CANCEL:
            return Outcome(JobStatus.CANCELLED, fit(f"cancelled on request; {epitaph}"))
        # A service manager may end the whole group at once; then the runner's leaving ends the job.
        asked = code is not None and -code in REQUESTS
        if self._why is Verdict.STOP or (asked and self._leaves()):
            return Outcome(None, note=epitaph)
        return Outcome(JobStatus.FAILED, epitaph)

    def _leaves(self) -> bool:
        until = time.monotonic() + COMPANY
        while not self._leaving() and time.monotonic() < until:
            time.sleep(0.05)
        return self._leaving()


def _needs_main(pickled: Body | bytes) -> bool:
    return isinstance(pickled, bytes) and b"__main__" in pickled


def _name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
