"""Fixtures for tests of the Python layer: runners on a fresh database."""

from tests.runners import make_runner_process, new_runner, runner

__all__ = ["make_runner_process", "new_runner", "runner"]
