"""Fixtures for bodies in processes of their own: a quick beat, and runners that use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from pycortex import Runner, sql
from tests.runners import make_runner_process
from tests.runners import new_runner as new_thread_runner

__all__ = ["make_runner_process", "new_thread_runner"]


@pytest.fixture
def database(database: str) -> str:
    """As everywhere, and its runners beat often."""
    with psycopg.connect(database, autocommit=True) as conn:
        sql.configure(conn, runner_beat="100 ms", runner_grace="1 second")
    return database


@pytest.fixture
def new_runner(new_thread_runner: Callable[..., Runner]) -> Callable[..., Runner]:
    """Starts runners whose bodies run in processes, with options as Runner has them."""
    return lambda **options: new_thread_runner(
        **{"isolation": "process", "kill_after": 60, **options}
    )


@pytest.fixture
def runner(new_runner: Callable[..., Runner]) -> Runner:
    """A started runner whose bodies run in processes, which get long to heed SIGTERM."""
    return new_runner()


@pytest.fixture
def impatient(new_runner: Callable[..., Runner]) -> Runner:
    """A started runner whose bodies' processes are killed soon."""
    return new_runner(kill_after=0.2)


@pytest.fixture
def run(runner: Runner) -> Callable[..., Any]:
    """Spawns a job, waits until it is over, and gives the job."""
    return lambda body, **options: runner.spawn("test", body, **options).wait(60)
