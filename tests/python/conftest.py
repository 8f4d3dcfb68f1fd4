"""Fixtures for tests of the Python layer: runners on a fresh database."""

from tests.aio import in_runner
from tests.runners import make_runner_process, new_runner, runner

__all__ = ["in_runner", "make_runner_process", "new_runner", "runner"]
