"""Runners for tests: in this process, and in processes of their own that may be killed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pycortex import JobProgress, Runner

ROOT = Path(__file__).parents[1]


@pytest.fixture
def new_runner(database: str) -> Iterator[Callable[..., Runner]]:
    """Starts runners on `database`, with options as Runner has them; ends them after the test."""
    runners: list[Runner] = []

    def make(conninfo: str = database, **options: Any) -> Runner:
        runners.append(Runner(conninfo, **{"grace": 5, "poll_interval": 0.05, **options}))
        return runners[-1].start()

    yield make
    for runner in runners:
        runner.shutdown(0)


@pytest.fixture
def runner(new_runner: Callable[..., Runner]) -> Runner:
    """A started runner on `database`."""
    return new_runner()


@pytest.fixture
def make_runner_process() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a Python program of its own; killed after the test if it still runs."""
    processes: list[subprocess.Popen[str]] = []

    def make(program: str, *args: str) -> subprocess.Popen[str]:
        processes.append(
            subprocess.Popen(
                [sys.executable, "-W", "error", "-c", program, *args],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return processes[-1]

    yield make
    for process in processes:
        process.kill()
        process.communicate()


class Gate:
    """A body that says when it runs, and ends when it is told to."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.progress: JobProgress

    def __call__(self, progress: JobProgress) -> str:
        self.progress = progress
        self.entered.set()
        assert self.opened.wait(60), "nobody opened the gate"
        return "passed"

    def wait_entered(self) -> JobProgress:
        """Wait until the body runs; gives its progress object."""
        assert self.entered.wait(20), "the body did not start"
        return self.progress

    def open(self) -> None:
        """Let the body end."""
        self.opened.set()
