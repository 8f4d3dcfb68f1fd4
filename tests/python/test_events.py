"""on_event: an application hears what the log says, with the same fields."""

from __future__ import annotations

import logging
from collections import Counter

import psycopg
import pytest

from pycortex import JobFailed, RunnerEvent, Worker, registry, sql
from tests.runners import Gate
from tests.waiting import wait_until

FIELDS = ("event", "kind", "actor", "job", "attempt", "elapsed", "status")


@pytest.fixture
def heard():
    return []


def fails(progress):
    raise JobFailed("no such folder")


def test_tells_of_spawn_start_and_end(new_runner, heard):
    runner = new_runner(on_event=heard.append)

    job = runner.spawn("test", lambda progress: 1, actor="ada")
    job.wait(20)

    spawned, started, ended = wait_until(lambda: len(heard) == 3 and heard)
    assert spawned == RunnerEvent("spawned", "test", "ada", job.uuid)
    assert started == RunnerEvent("started", "test", "ada", job.uuid, 1)
    assert ended == RunnerEvent("ended", "test", "ada", job.uuid, 1, ended.elapsed, "succeeded")
    assert ended.elapsed >= 0


def test_tells_why_a_job_failed(new_runner, heard):
    new_runner(on_event=heard.append).spawn("test", fails).wait(20)

    ended = wait_until(lambda: len(heard) == 3 and heard)[-1]
    assert (ended.status, ended.message) == ("failed", "no such folder")


def test_tells_of_a_debounced_spawn(new_runner, heard):
    runner, gate = new_runner(on_event=heard.append), Gate()
    first = runner.spawn("test", gate, debounce_scope={})

    second = runner.spawn("test", gate, debounce_scope={}, actor="bob")

    assert RunnerEvent("debounced", "test", "bob", first.uuid) in heard
    gate.open()
    assert second.wait(20).uuid == first.uuid


def test_tells_of_a_claim(new_runner, heard, connect, monkeypatch):
    monkeypatch.setattr(registry, "_bodies", {"test": lambda progress: 1})
    runner = new_runner(on_event=heard.append)
    with connect(autocommit=True) as conn:
        job = sql.spawn_job(conn, "test").uuid
    stopped = type("Stop", (), {"is_set": lambda self: len(heard) >= 3, "wait": lambda *_: None})

    Worker(runner).run(stopped())

    assert [event.event for event in heard] == ["claimed", "started", "ended"]
    assert {event.job for event in heard} == {job}


def test_has_the_fields_of_the_log_lines(new_runner, heard, caplog):
    caplog.set_level(logging.INFO, "pycortex")
    job = new_runner(on_event=heard.append).spawn("test", lambda progress: 1)
    job.wait(20)

    def lines():
        return [record for record in caplog.records if hasattr(record, "event")]

    wait_until(lambda: len(heard) == len(lines()) == 3)
    logged = [tuple(getattr(record, field) for field in FIELDS) for record in lines()]
    assert logged == [tuple(getattr(event, field) for field in FIELDS) for event in heard]


def test_a_listener_that_raises_harms_no_job(new_runner, caplog):
    def listener(event):
        raise ValueError(event.event)

    job = new_runner(on_event=listener).spawn("test", lambda progress: 7)

    assert job.wait(20).result == 7
    wait_until(lambda: sum("on_event failed" in r.getMessage() for r in caplog.records) == 3)


def test_hears_each_end_once_of_many(new_runner, heard, database):
    runner = new_runner(on_event=heard.append, max_workers=8)
    jobs = [runner.spawn("test", lambda progress: 1) for _ in range(40)]
    for job in jobs:
        job.wait(30)

    wait_until(lambda: len(heard) == 120)
    assert Counter((event.event, event.job) for event in heard) == Counter(
        {(name, job.uuid): 1 for name in ("spawned", "started", "ended") for job in jobs}
    )
    with psycopg.connect(database) as conn:
        assert sql.count_recent_with_status(conn, "succeeded") == 40
