"""What the reaper ends is ended for good, and its message gets to say how."""

from __future__ import annotations

import pytest

from pycortex import JobStatus, sql
from tests.isolation import bodies
from tests.isolation.processes import ended, state, wait_at_it
from tests.waiting import wait_until

OVERDUE = "running for over 60 minutes, its run_timeout; interrupted; "
HUNG = "no progress for over 120 minutes; presumed stalled; "


@pytest.fixture
def age(committed):
    """Has a job run, and be silent, for longer than it may."""

    def age(handle, columns):
        committed.conn.execute(
            "update cortex.job set "
            + ", ".join(f"{name} = {name} - interval '3 hours'" for name in columns)
            + " where uuid = %s",
            [handle.uuid],
        )

    return age


def wait_for_note(handle):
    return wait_until(lambda: (job := handle.job()).message.count("its process") and job)


def test_ends_a_body_that_runs_for_longer_than_its_kind_may(runner, committed, age):
    sql.configure_kind(committed.conn, "test", run_timeout="60 minutes")
    handle = runner.spawn("test", bodies.spin)
    [pid] = wait_at_it(handle)

    age(handle, ["created_at", "run_at", "started_at"])

    job = wait_for_note(handle)
    assert job.status is JobStatus.INTERRUPTED
    assert job.message == (
        f"{OVERDUE}its process was ended by SIGTERM (exit code -15); last step: 1 of 2, {pid}"
    )
    assert state(pid) == ""


def test_a_real_timeout_passes(runner, committed):
    sql.configure_kind(committed.conn, "test", run_timeout="1 second")

    handle = runner.spawn("test", bodies.nap)

    job = wait_for_note(handle)
    assert job.status is JobStatus.INTERRUPTED
    assert "its run_timeout; interrupted; its process was ended by SIGTERM" in job.message


def test_ends_a_body_that_says_nothing(impatient, committed, age):
    handle = impatient.spawn("test", bodies.hold_the_gil)
    [pid] = wait_at_it(handle)

    age(handle, ["created_at", "run_at", "started_at", "updated_at"])

    job = wait_for_note(handle)
    assert job.status is JobStatus.INTERRUPTED
    assert job.message.startswith(f"{HUNG}its process was ended by SIGKILL (exit code -9), 0.")
    assert job.message.endswith(f"s after SIGTERM; last step: 1 of 2, {pid}")
    assert ended(pid)


def test_writes_how_it_ended_to_the_event_too(runner, committed, age):
    sql.configure_kind(committed.conn, "test", run_timeout="60 minutes")
    handle = runner.spawn("test", bodies.nap)
    wait_at_it(handle)

    age(handle, ["created_at", "run_at", "started_at"])

    job = wait_for_note(handle)
    assert sql.list_events(committed.conn, job.uuid)[-1].message == job.message


def test_another_attempt_waits_for_the_end_of_the_one_that_hung(
    impatient, committed, age, tmp_path
):
    sql.configure_kind(
        committed.conn,
        "test",
        stale_after="120 minutes",
        max_attempts=2,
        on_interrupt="requeue",
        backoff="0 seconds",
    )
    file = tmp_path / "file"
    handle = impatient.spawn("test", bodies.overlap, params={"file": str(file)})
    [first] = wait_at_it(handle)

    age(handle, ["created_at", "run_at", "started_at", "updated_at"])

    job = handle.wait(60)
    (_, one, pid), (_, two, other) = [line.split() for line in file.read_text().splitlines()]
    assert (job.status, job.result) == (JobStatus.SUCCEEDED, 2)
    assert (one, two) == ("1", "2")
    assert int(pid) == first != int(other)
    notes = [event.message for event in sql.list_events(committed.conn, job.uuid)]
    assert any(note.startswith(HUNG) and "SIGKILL" in note for note in notes)
