"""Bodies that no other process can find are refused where somebody sees it."""

from __future__ import annotations

import functools
import threading

import pytest

import pycortex
from pycortex import JobStatus, Worker, registry, sql
from tests.isolation import bodies


def inner():
    def body(progress):
        return 1

    return body


class Holder:
    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, progress):
        return 1


class Shop:
    def __init__(self, name):
        self.name = name

    def __call__(self, progress):
        return self.name

    def open(self, progress):
        return f"{self.name} is open"


@pytest.mark.parametrize(
    "body", [lambda progress: 1, inner(), Holder(), functools.partial(inner())]
)
def test_are_refused_before_there_is_a_row(runner, committed, body):
    with pytest.raises(TypeError, match="define it at the top of a module"):
        runner.spawn("test", body)

    assert sql.list_recent(committed.conn) == []


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (functools.partial(bodies.count), 3),
        (Shop("bakery"), "bakery"),
        (Shop("bakery").open, "bakery is open"),
    ],
)
def test_partials_instances_and_methods_are_taken(run, body, result):
    assert run(body, params={"to": 3}).result == result


def test_are_refused_when_a_worker_starts(new_runner, monkeypatch):
    monkeypatch.setattr(registry, "_bodies", {})
    monkeypatch.setattr(registry, "_isolations", {})
    pycortex.job("test", isolation="process")(inner())

    with pytest.raises(TypeError, match="define it at the top of a module"):
        Worker(new_runner(isolation=None))


def test_a_body_that_cannot_be_found_there_fails_its_job(run, monkeypatch):
    """Its module is another one by then, or is not on the other process's path."""
    monkeypatch.setattr(bodies, "passing", functools.partial(bodies.count), raising=False)

    def passing(progress):
        return 1

    passing.__module__, passing.__qualname__ = bodies.__name__, "passing"
    monkeypatch.setattr(bodies, "passing", passing)

    job = run(passing)

    assert job.status is JobStatus.FAILED
    assert job.message.startswith("its body can't be had in a process of its own: AttributeError")
