"""Bodies in processes of their own, which can be ended for good."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler

from pycortex import _child
from pycortex._guard import Guard
from pycortex._log import logger
from pycortex._memory import kills_for_memory
from pycortex._outcome import Body, Outcome
from pycortex._remote import Report, Task
from pycortex._text import describe, fit
from pycortex.models import JobStatus, Verdict
from pycortex.progress import JobProgress

__all__ = ["InProcess", "check_portable"]

GLANCE = 0.2
"""Seconds between two looks whether a process that was told to end has used its time up."""

EXIT_LIMIT = 5.0
"""Seconds for a process to leave once its body is over."""

FROM_OUTSIDE = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL})
"""Signals that somebody sends, rather than the system for what the body did."""

FRESH = multiprocessing.get_context("spawn")
"""No copy of a process with threads: a lock that one of them held would stay locked for ever."""

GUARD = Guard()
"""This process's."""


def check_portable(body: Body) -> bytes:
    """
    Pickle a body.

    Raises:
        TypeError: It can't be found again by its name.
    """
    try:
        return bytes(ForkingPickler.dumps(body))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"a process of its own can't have this body: {error}; define it at the top of a module"
        ) from error


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
        self._process: BaseProcess | None = None
        self._pipe: Pipe | None = None
        self._why: Verdict | None = None
        self._kill_at = float("inf")
        self._sent: signal.Signals | None = None

    def run(self) -> Outcome:
        """Run the body to its end, or the process to its."""
        before = kills_for_memory()
        ours, theirs = FRESH.Pipe()
        with ours:
            process = FRESH.Process(
                target=_child.main,
                args=(theirs, self._task, os.getpid(), logging.getLogger().getEffectiveLevel()),
                name=f"pycortex job {self._task.job.uuid}",
            )
            try:
                process.start()
            except (OSError, AssertionError) as error:
                what = f"no process could be started for it: {describe(error)}"
                return Outcome(JobStatus.FAILED, fit(what), error=error)
            finally:
                theirs.close()
            GUARD.watch(_pid(process))
            try:
                with self._lock:
                    self._process, self._pipe = process, ours
                    if self._why is not None:
                        self._terminate()
                taken, report = self._listen(ours, process)
            finally:
                with self._lock:
                    self._process = self._pipe = None
                self._bury(process)
        if report is not None:
            self._progress._latest = report.latest
            return report.outcome
        code = process.exitcode or 0
        epitaph = self._epitaph(code, taken=taken, memory=kills_for_memory() > before)
        return self._judge(code, epitaph)

    def hear(self, verdict: Verdict, *, hard: bool) -> None:
        """Tell the body; where that may be forced, end its process."""
        self._progress._hear(verdict)
        with self._lock, suppress(OSError, ValueError):
            if self._pipe is not None:
                self._pipe.send(verdict)
        if hard:
            self.end(verdict)

    def end(self, why: Verdict, seconds: float | None = None) -> None:
        """Send SIGTERM, once; SIGKILL follows after *seconds*, or as the runner was made."""
        with self._lock:
            if seconds is not None:
                self._kill_after = min(seconds, self._kill_after)
                self._kill_at = min(self._kill_at, time.monotonic() + seconds)
            if self._why is not None:
                return
            self._why = why
            self._terminate()

    def _listen(self, pipe: Pipe, process: BaseProcess) -> tuple[bool, Report | None]:
        """Hear the process until it falls silent; returns whether it began, and how it ended."""
        taken = False
        report = None
        while True:
            if pipe in wait([pipe, process.sentinel], GLANCE):
                try:
                    said = pipe.recv()
                except (EOFError, OSError):
                    return taken, report
                except Exception as error:  # noqa: BLE001 - what can't be read is not heard
                    logger.warning("job %s said what can't be read: %s", self._task.job.uuid, error)
                    continue
                match said:
                    case Report():
                        report = said
                        self._kill_at = min(self._kill_at, time.monotonic() + EXIT_LIMIT)
                    case _child.Taken():
                        taken = True
                    case logging.LogRecord():
                        logging.getLogger(said.name).handle(said)
                    case _:
                        self._progress._latest = self._progress._written = said
            elif _is_over(process):  # what it forked may hold the pipe open
                return taken, report
            self._kill_if_due(process)

    def _bury(self, process: BaseProcess) -> None:
        """Wait for the process's end, and end what it has started and left."""
        self._kill_at = min(self._kill_at, time.monotonic() + EXIT_LIMIT)
        while not _is_over(process):
            if wait([process.sentinel], GLANCE):
                time.sleep(0.01)
            self._kill_if_due(process)
        _signal(process, signal.SIGKILL)  # not waited for yet: its number is still its own
        process.join()
        GUARD.forget(_pid(process))

    def _kill_if_due(self, process: BaseProcess) -> None:
        if time.monotonic() >= self._kill_at:
            self._kill_at = float("inf")
            self._sent = signal.SIGKILL
            _signal(process, signal.SIGKILL)

    def _terminate(self) -> None:
        if self._process is not None:
            self._sent = signal.SIGTERM
            self._kill_at = time.monotonic() + self._kill_after
            _signal(self._process, signal.SIGTERM)

    def _epitaph(self, code: int, *, taken: bool, memory: bool) -> str:
        """Say how a process ended that didn't say how its body did."""
        if code < 0:
            text = f"its process was ended by {_name(code)} (exit code {code})"
            if self._sent == signal.SIGKILL == -code:
                text += (
                    ", as it had closed its line to the runner"
                    if self._why is None
                    else f", {self._kill_after:g} s after SIGTERM"
                )
            elif memory and -code == signal.SIGKILL:
                text += ", while the system killed for want of memory"
            elif self._sent is None and -code in FROM_OUTSIDE:
                text += ", which this runner did not send"
        else:
            text = f"its process ended with exit code {code}"
            text += " amid its body" if taken else " before its body; see what it wrote to stderr"
        latest = self._progress._latest
        if latest is None:
            return fit(f"{text}; it had taken no step")
        current, total, message = latest
        of = "" if total is None else f" of {total}"
        return fit(f"{text}; last step: {current}{of}{f', {message}' if message else ''}")

    def _judge(self, code: int, epitaph: str) -> Outcome:
        if self._why is Verdict.CANCEL:
            return Outcome(JobStatus.CANCELLED, fit(f"cancelled on request; {epitaph}"))
        # A service manager may end the whole group at once; then the runner's leaving ends the job.
        left = self._leaving() and -code in FROM_OUTSIDE
        if self._why is Verdict.STOP or left:
            return Outcome(None, note=epitaph)
        return Outcome(JobStatus.FAILED, epitaph)


def _pid(process: BaseProcess) -> int:
    assert process.pid is not None  # noqa: S101 - it was started
    return process.pid


def _is_over(process: BaseProcess) -> bool:
    """Look without waiting for it, so that its number, and its group's, stays its own."""
    try:
        return os.waitid(os.P_PID, _pid(process), os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except (ChildProcessError, AttributeError):  # waited for; or a system without waitid
        return process.exitcode is not None


def _signal(process: BaseProcess, number: signal.Signals) -> None:
    """Signal a process and what it has started."""
    try:
        os.killpg(_pid(process), number)
    except (ProcessLookupError, PermissionError):  # not a leader yet, or gone
        with suppress(ProcessLookupError):
            os.kill(_pid(process), number)


def _name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
