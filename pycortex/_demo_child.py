"""A process of the demo that dies with the demo: ``python -m pycortex._demo_child ROLE``."""

import os
import signal
import sys
import threading
import time

from pycortex.cli import main
from pycortex.database import URL_VARIABLE
from pycortex.progress import JobProgress
from pycortex.runner import Runner

PAGES = 600


def steady(progress: JobProgress) -> None:
    """Work through pages, a step for each, for a minute."""
    for page in range(1, PAGES + 1):
        time.sleep(0.1)
        progress.step(page, PAGES, f"page {page} of {PAGES}")


def silent(progress: JobProgress) -> None:
    """Say that page 1 is at work, and then nothing for an hour."""
    progress.step(1, PAGES, f"page 1 of {PAGES}")
    time.sleep(3600)


def die_with_parent() -> None:
    """End this process when the pipe that is its standard input closes, however that happens."""

    def watch() -> None:
        while sys.stdin.readline():
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def run(role: str) -> None:
    """Be a worker, or a runner with one job of the kind that *role* names."""
    die_with_parent()
    if role == "worker":
        main(["worker"], prog_name="pycortex")
        return
    body = {"demo_steady": steady, "demo_silent": silent}[role]
    with Runner(os.environ[URL_VARIABLE], max_workers=1, name="demo", grace=0.5) as runner:
        job = runner.spawn(role, body, actor="demo")
        print(job.uuid, flush=True)  # noqa: T201 - the demo reads it
        job.wait()


if __name__ == "__main__":
    run(sys.argv[1])
