"""What importing the package gives, and what it leaves alone."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

import pycortex

IMPORT = """
import atexit, logging, signal, sys, threading
hooks = sys.excepthook, threading.excepthook
signals = {number: signal.getsignal(number) for number in signal.valid_signals()}
root = logging.getLogger()
before = root.level, list(root.handlers), threading.active_count(), atexit._ncallbacks()
import pycortex, pycortex.sql, pycortex.builtin
assert (root.level, list(root.handlers)) == before[:2], "the root logger"
assert threading.active_count() == before[2], "threads"
assert (sys.excepthook, threading.excepthook) == hooks, "hooks"
assert signals == {number: signal.getsignal(number) for number in signals}, "signals"
assert not any(kind in sys.modules for kind in ("numpy", "rich", "click", "yoyo")), "slow imports"
pycortex.Runner("host=nowhere.invalid")
assert threading.active_count() == before[2], "threads of a runner that isn't started"
"""


def test_has_no_side_effects_on_import():
    """N12."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


def test_is_silent_until_the_application_wants_its_log():
    program = "import pycortex._log as log; log.logger.error('nobody asked')"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stderr == ""


@pytest.mark.parametrize(
    "name",
    sorted(
        module.name
        for module in pkgutil.walk_packages(pycortex.__path__, "pycortex.")
        if ".cli" not in module.name and not module.name.endswith(("__main__", "_demo_child"))
    ),
)
def test_every_module_says_what_it_offers(name):
    module = importlib.import_module(name)

    assert module.__doc__
    missing = [entry for entry in module.__all__ if not hasattr(module, entry)]
    assert missing == []
    own = {
        key
        for key, value in vars(module).items()
        if getattr(value, "__module__", None) == name
        and callable(value)
        and not key.startswith("_")
    }
    assert own <= set(module.__all__)


def test_offers_everything_that_a_program_needs():
    assert set(pycortex.__all__) >= {
        "Runner", "Job", "JobHandle", "JobProgress", "JobFailed", "JobCancelled", "JobStopped",
        "JobStatus", "Verdict", "DebounceMode", "job", "Worker", "CortexError", "JobNotFound",
        "RunnerNotFound", "WrongState", "AttemptLost", "__version__",
    }  # fmt: skip
    assert len(set(pycortex.__all__)) == len(pycortex.__all__)


def test_is_typed():
    assert (Path(pycortex.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("JC101", pycortex.JobNotFound),
        ("JC102", pycortex.RunnerNotFound),
        ("JC201", pycortex.WrongState),
        ("JC202", pycortex.AttemptLost),
    ],
)
def test_the_driver_itself_raises_our_errors(conn, code, expected):
    with pytest.raises(pycortex.CortexError) as caught:
        conn.execute(f"do $$ begin raise 'x' using errcode = '{code}', hint = 'y'; end $$")

    assert type(caught.value) is expected
    assert isinstance(caught.value, psycopg.DatabaseError)
    assert (caught.value.sqlstate, caught.value.diag.message_hint) == (code, "y")


def test_keeps_a_cancelled_body_from_swallowing_its_cancellation():
    assert not issubclass(pycortex.JobCancelled, Exception)
    assert issubclass(pycortex.JobStopped, pycortex.JobCancelled)
