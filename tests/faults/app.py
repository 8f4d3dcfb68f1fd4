"""The application of the worker processes that are ended, stopped and cut off."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pycortex
from pycortex import JobProgress
from tests.faults.ledger import main_journal


def hold(progress: JobProgress) -> str:
    """
    Go on until there is a file params.until.

    Steps all the while if params.steps; says which process it is if params.pid.
    """
    until = Path(progress.params["until"])
    message = str(os.getpid()) if progress.params.get("pid") else "holding"
    n = 1
    progress.step(n, None, message)
    while not until.exists():
        time.sleep(0.02)
        if progress.params.get("steps"):
            n += 1
            progress.step(n, None, message)
    return "held"


if "PYCORTEX_TEST_JOURNAL" in os.environ:
    journal = main_journal()
    pycortex.job("hold")(journal.body(hold))
