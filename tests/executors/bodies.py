"""Bodies that find their way by name to wherever an executor brings them."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from pycortex import JobCancelled, JobFailed, JobProgress, _parsing
from pycortex.corpus_import import corpus_import
from tests.waiting import wait_until


def name_sessions() -> None:
    """Make all sessions of this process known by its number."""
    os.environ["PGAPPNAME"] = f"place {os.getpid()}"


class Signs:
    """Files that a test and bodies in other processes leave for each other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def params(self) -> dict[str, str]:
        """What a body must be asked with to give signs."""
        return {"folder": str(self.folder)}

    def give(self, what: str, text: str = "") -> None:
        """Leave a sign; each one given adds a line."""
        with (self.folder / what).open("a") as file:
            file.write(f"{text}\n")

    def see(self, what: str) -> list[str]:
        """What was given, in order."""
        file = self.folder / what
        return file.read_text().splitlines() if file.exists() else []

    def wait(self, what: str, times: int = 1) -> list[str]:
        """Wait until a sign was given so many times."""
        return wait_until(
            lambda: len(seen := self.see(what)) >= times and seen, 60, what=f"{times} x {what}"
        )


def signs_of(progress: JobProgress) -> Signs:
    """The signs of the test that asked."""
    return Signs(Path(progress.params["folder"]))


def tell_where(progress: JobProgress) -> dict[str, int]:
    """Take two steps and say in which process and thread, and which session is its own."""
    progress.step(1, 2, "here", flush=True)
    backend = progress.connection().info.backend_pid
    progress.step(2, 2, "there")
    return {"pid": os.getpid(), "thread": threading.get_ident(), "backend": backend}


def hold(progress: JobProgress) -> str:
    """Step until there is a sign to end."""
    signs = signs_of(progress)
    progress.step(1, None, "holding", flush=True)
    signs.give("held", f"{os.getpid()} {progress.attempt}")
    n = 1
    try:
        while not signs.see("end"):
            n += 1
            progress.step(n, None, "holding")
            time.sleep(0.02)
    except JobCancelled as error:
        signs.give("heard", type(error).__name__)
        raise
    return "held"


def hold_in_silence(progress: JobProgress) -> str:
    """Never step, but ask whether the end is wanted."""
    signs = signs_of(progress)
    signs.give("held", str(os.getpid()))
    while not progress.cancel_requested and not signs.see("end"):
        time.sleep(0.02)
    if progress.cancel_requested:
        raise JobCancelled("asked in silence")
    return "held"


def fail(progress: JobProgress) -> None:
    """End failed for a reason."""
    raise JobFailed("no more paper")


def stumble(progress: JobProgress) -> None:
    """Raise."""
    raise ValueError("a stone")


class Unpicklable(Exception):
    """An exception that can't be made anew from what is pickled of it."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("odd")


def raise_odd(progress: JobProgress) -> None:
    """Raise what no other process can have."""
    raise Unpicklable(1, 2)


def return_odd(progress: JobProgress) -> dict[str, Any]:
    """Return what can't be pickled, but told."""
    return {"lock": threading.Lock(), "path": Path("/a"), "uuid": UUID(int=7), "set": {3}}


def count_once(progress: JobProgress) -> int:
    """Leave a sign, and end."""
    signs_of(progress).give("ran", f"{os.getpid()} {progress.attempt}")
    return 1


def import_and_count_parsers(progress: JobProgress) -> dict[str, Any]:
    """Import what the params say; tell what was imported, where, and by how many processes."""
    started: list[Any] = []
    launch = _parsing.launch

    def count(*args: Any) -> Any:
        started.append(launch(*args))
        return started[-1]

    _parsing.launch = count
    try:
        result = corpus_import(progress)
    finally:
        _parsing.launch = launch
    return {
        "documents": result["documents"],
        "messages": result["messages"]["error"],
        "pid": os.getpid(),
        "parsers": len(started),
    }
