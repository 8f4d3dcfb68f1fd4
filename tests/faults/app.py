"""The application of the worker processes that are ended, stopped and cut off."""

from __future__ import annotations

import time
from pathlib import Path

import pycortex
from pycortex import JobProgress
from tests.faults.ledger import main_journal


def hold(progress: JobProgress) -> str:
    """Go on until there is a file params.until; step all the while if params.steps."""
    until = Path(progress.params["until"])
    n = 1
    progress.step(n, None, "holding")
    while not until.exists():
        time.sleep(0.02)
        if progress.params.get("steps"):
            n += 1
            progress.step(n, None, "holding")
    return "held"


journal = main_journal()
pycortex.job("hold")(journal.body(hold))
