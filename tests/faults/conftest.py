"""Fixtures for tests with faults: a ledger for each test, and runners that are entered in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

import pycortex
from pycortex import JobHandle, Runner
from tests.faults.figures import NAME
from tests.faults.ledger import Ledger
from tests.faults.proxy import Proxy
from tests.runners import ROOT, new_runner, runner
from tests.servers import LocalServer
from tests.waiting import wait_until

__all__ = ["new_runner", "runner"]


@pytest.fixture(autouse=True)
def ledger(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ledger]:
    """
    The account of a test that is marked with its kind of fault.

    It fails the test if a job was lost, doubled or left running.
    """
    marker = request.node.get_closest_marker("fault")
    if marker is None:
        yield Ledger(tmp_path / "journal", "")
        return
    own = "own_database" in request.fixturenames
    conninfo = request.getfixturevalue("own_database" if own else "database")
    ledger = Ledger(tmp_path / "journal", conninfo)
    _enter_bodies(ledger, monkeypatch)
    _count_faults(ledger, monkeypatch)

    yield ledger

    figures = ledger.close()
    counted = {
        "lost": figures.lost,
        "doubled": figures.doubled,
        "left running": figures.left,
    }
    unexpected = {
        name: texts for name, texts in counted.items() if texts and name not in ledger.allowed
    }
    request.node.user_properties.append(
        (
            NAME,
            {
                "kind": marker.args[0],
                "tests": 1,
                "faults": ledger.faults,
                "jobs": figures.jobs,
                **{name: len(texts) for name, texts in counted.items()},
                "allowed": [
                    f"{len(counted[name])} {name} in {request.node.name}: {why}"
                    for name, why in ledger.allowed.items()
                    if counted[name]
                ],
            },
        )
    )
    assert not unexpected
    assert not figures.going, "bodies still run"
    assert ledger.faults, "this test made no fault"


def _enter_bodies(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the bodies of this process and the spawns of its runners written down."""
    spawn, job = Runner.spawn, pycortex.job

    @wraps(spawn)
    def spawn_and_note(self: Runner, kind: str, body: Any, **options: Any) -> JobHandle:
        handle = spawn(self, kind, ledger.body(body), **options)
        ledger.acknowledged(handle.uuid)
        return handle

    @wraps(job)
    def register_noted(kind: str, **options: Any) -> Callable[[Any], Any]:
        return lambda body: job(kind, **options)(ledger.body(body))

    monkeypatch.setattr(Runner, "spawn", spawn_and_note)
    monkeypatch.setattr(pycortex, "job", register_noted)


def _count_faults(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count what is done to servers and to the network."""

    def counting(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def call(*args: Any, **options: Any) -> Any:
            ledger.fault()
            return original(*args, **options)

        return call

    for owner, names in (
        (LocalServer, ["stop"]),
        (Proxy, ["fall_silent", "lose_answer_to", "cut"]),
    ):
        for name in names:
            monkeypatch.setattr(owner, name, counting(getattr(owner, name)))


@pytest.fixture(scope="module")
def own_server(own_server: LocalServer) -> LocalServer:
    """As everywhere, but safe: test servers take commits lightly, and a crash would lose some."""
    own_server.execute("alter system set synchronous_commit = on")
    own_server.execute("select pg_reload_conf()")
    with own_server.connect() as conn:
        wait_until(lambda: conn.execute("show synchronous_commit").fetchone() == ("on",))
    return own_server


@pytest.fixture
def make_runner_process(ledger: Ledger) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """
    Starts a Python program of its own, or a command; killed after the test if it still runs.

    It is entered in the ledger; its journal is the one that tests.faults.ledger.main_journal gives.
    """
    processes: list[subprocess.Popen[str]] = []

    def make(program: str | list[str], *args: str, **options: Any) -> subprocess.Popen[str]:
        command = (
            [sys.executable, "-W", "error", "-c", program]
            if isinstance(program, str)
            else (program)
        )
        processes.append(
            subprocess.Popen(
                [*command, *args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env=os.environ | {"PYCORTEX_TEST_JOURNAL": str(ledger.path)},
                **options,
            )
        )
        ledger.watch(processes[-1])
        return processes[-1]

    yield make
    for process in processes:
        process.kill()
        process.communicate()
