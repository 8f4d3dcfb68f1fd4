"""Fixtures for tests of executors that carry bodies: runners on a fresh database, and places."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.executors.bodies import Signs
from tests.runners import make_runner_process, new_runner

__all__ = ["make_runner_process", "new_runner"]


@pytest.fixture
def signs(tmp_path: Path) -> Signs:
    """Signs that this test and its bodies give each other, wherever those run."""
    return Signs(tmp_path)
