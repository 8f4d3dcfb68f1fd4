"""Fixtures for tests with faults: runners on a fresh database, and in processes to be killed."""

from tests.runners import make_runner_process, new_runner, runner

__all__ = ["make_runner_process", "new_runner", "runner"]
