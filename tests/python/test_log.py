"""The log lines of a job, with their fields, and the one warning per outage."""

from __future__ import annotations

import logging

import psycopg
import pytest

from pycortex import JobFailed
from pycortex._log import Outage, brief, logger
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def wanted(caplog):
    caplog.set_level(logging.INFO, "pycortex")


def lines_of(caplog, uuid):
    return [r for r in caplog.records if getattr(r, "job", None) == uuid]


def test_a_job_leaves_a_line_at_spawn_start_and_end(runner, caplog):
    handle = runner.spawn("test", lambda progress: 1, actor="ada")
    handle.wait(20)

    wait_until(lambda: len(lines_of(caplog, handle.uuid)) == 3)
    spawned, started, ended = lines_of(caplog, handle.uuid)
    assert [r.getMessage().split(":")[0] for r in (spawned, started, ended)] == [
        "job spawned",
        "job started",
        "job succeeded",
    ]
    for record in (spawned, started, ended):
        assert (record.kind, record.actor, record.levelname) == ("test", "ada", "INFO")
        assert str(handle.uuid) in record.getMessage()
        assert record.name == "pycortex"
    assert 0 <= ended.elapsed < 20
    assert ended.status == "succeeded"


def test_an_error_leaves_its_traceback(runner, caplog):
    def body(progress):
        raise ValueError("bad")

    handle = runner.spawn("test", body)
    handle.wait(20)

    [record] = wait_until(lambda: [r for r in lines_of(caplog, handle.uuid) if r.exc_info])
    assert record.levelname == "ERROR"
    assert record.exc_info[0] is ValueError


def test_a_reason_leaves_none(runner, caplog):
    def body(progress):
        raise JobFailed("no such folder")

    handle = runner.spawn("test", body)
    handle.wait(20)

    [record] = wait_until(
        lambda: [r for r in lines_of(caplog, handle.uuid) if r.levelname == "WARNING"]
    )
    assert not record.exc_info
    assert "no such folder" in record.getMessage()


def test_a_name_with_line_breaks_stays_on_its_line(runner, caplog):
    runner.spawn("test\nERROR forged", lambda progress: 1, actor="a\nb").wait(20)

    assert all("\n" not in r.getMessage() for r in caplog.records)


def test_an_outage_is_told_once_and_so_is_its_end(caplog):
    outage = Outage(logger)
    error = psycopg.OperationalError("refused\nIs the server running?")

    for part in ("lease", "steps", "lease", "steps"):
        outage.failed(part, error)
    outage.over("lease")
    outage.over("other")
    outage.over("steps")
    outage.failed("lease", error)

    levels = [r.levelname for r in caplog.records]
    assert levels == ["WARNING", "INFO", "WARNING"]
    assert "refused" in caplog.records[0].getMessage()
    assert "\n" not in caplog.records[0].getMessage()


def test_an_error_is_told_briefly():
    assert brief(psycopg.OperationalError("a\nb")) == "OperationalError: a"
    assert brief(ValueError()) == "ValueError"
