"""The shop of examples/compose, whose jobs the examples run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Command

SHOP = ROOT / "examples" / "compose" / "app"


@pytest.fixture
def command_of_shop(database: str, tmp_path: Path) -> Command:
    """The command on `database`, in the folder of the shop."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    environment = kept | {
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYCORTEX_DATABASE_URL": database,
    }
    return Command(environment, SHOP)
