"""Fixtures for tests of executors that carry bodies: runners on a fresh database, and places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.executors.bodies import Signs
from tests.runners import make_runner_process, new_runner

__all__ = ["make_runner_process", "new_runner"]


@pytest.fixture
def signs(tmp_path: Path) -> Iterator[Signs]:
    """Signs that this test and its bodies give each other, wherever those run."""
    signs = Signs(tmp_path)
    yield signs
    signs.give("end")  # the interpreter waits for bodies in threads of an executor
