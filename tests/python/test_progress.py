"""JobProgress: what a body says, and what it hears."""

from __future__ import annotations

import time

import pytest

from pycortex import JobStatus
from tests.runners import Gate
from tests.waiting import wait_until


@pytest.fixture
def gate(runner):
    """The body of a job that runs; `gate.progress` is what it holds."""
    gate = Gate()
    gate.handle = runner.spawn("test", gate, actor="ada", params={"a": 1})
    gate.wait_entered()
    yield gate
    gate.open()


def shown(job):
    return job.progress_current, job.progress_total, job.message


def test_knows_its_job(gate, runner):
    progress = gate.progress

    assert (progress.uuid, progress.kind, progress.actor) == (gate.handle.uuid, "test", "ada")
    assert (progress.params, progress.attempt, progress.cancel_requested) == ({"a": 1}, 1, False)


def test_the_first_step_is_written_when_step_returns(gate):
    gate.progress.step(1, 9, "first")

    assert shown(gate.handle.job()) == (1, 9, "first")


def test_a_step_after_a_pause_is_written_when_step_returns(new_runner):
    gate = Gate()
    handle = new_runner(step_interval=0).spawn("test", gate)
    progress = gate.wait_entered()

    for n in (1, 2, 3):
        progress.step(n)
        assert handle.job().progress_current == n
    gate.open()


def test_steps_in_between_are_written_within_the_interval(gate):
    for n in range(1, 6):
        gate.progress.step(n, 9, f"step {n}")

    wait_until(lambda: shown(gate.handle.job()) == (5, 9, "step 5"), 5)


def test_a_flushed_step_is_written_when_step_returns(gate):
    gate.progress.step(1)
    gate.progress.step(2, flush=True)

    assert gate.handle.job().progress_current == 2


def test_the_last_step_is_written_before_the_end(runner):
    def body(progress):
        for n in range(1000):
            progress.step(n, 1000)

    job = runner.spawn("test", body).wait(20)

    assert (job.progress_current, job.progress_total) == (999, 1000)


def test_the_last_step_of_a_failed_job_tells_how_far_it_got(runner):
    def body(progress):
        for n in range(10):
            progress.step(n, 10)
        raise ValueError("bad")

    job = runner.spawn("test", body).wait(20)

    assert (job.status, job.progress_current) == (JobStatus.FAILED, 9)


def test_a_tight_loop_costs_little_and_writes_rarely(new_runner, committed):
    committed.conn.execute(
        "create table written (current bigint);"
        "create function note() returns trigger language plpgsql as"
        " $$ begin insert into public.written values (new.progress_current); return new; end $$;"
        "create trigger note before update of progress_current on cortex.job"
        " for each row execute function note()"
    )

    def body(progress):
        began = time.perf_counter()
        for n in range(300_000):
            progress.step(n, 300_000, "working")
        return time.perf_counter() - began

    job = new_runner(step_interval=0.1).spawn("test", body).wait(60)

    assert job.result / 300_000 < 20e-6
    written = [n for (n,) in committed.conn.execute("select current from written")]
    assert written == sorted(written)
    assert written[0] == 0
    assert written[-1] == 299_999
    assert len(written) < 5 + 2 * job.result / 0.1


@pytest.mark.parametrize(
    ("current", "total"),
    [(-1, 10), (5, 0), (11, 10), (5, None), (2**63 - 1, -(2**63)), (3.0, 9.0)],
)
def test_counts_are_stored_as_given(gate, current, total):
    """E12."""
    gate.progress.step(current, total)

    job = gate.handle.job()
    assert (job.progress_current, job.progress_total) == (current, total)


def test_progress_may_go_back(gate):
    """E12."""
    gate.progress.step(7, 10, flush=True)
    gate.progress.step(3, 10, flush=True)

    assert gate.handle.job().progress_current == 3


@pytest.mark.parametrize(
    ("current", "total", "error"),
    [
        (float("nan"), 1, ValueError),
        (1.5, 3, ValueError),
        (float("inf"), None, ValueError),
        (2**63, None, ValueError),
        (1, -(2**63) - 1, ValueError),
        (None, 3, TypeError),
        ("3", None, TypeError),
        (True, None, TypeError),
        (1, "9", TypeError),
    ],
)
def test_a_count_that_is_none_is_refused_and_changes_nothing(gate, current, total, error):
    """E12."""
    gate.progress.step(2, 4, "before")

    with pytest.raises(error, match=r"current|total"):
        gate.progress.step(current, total, "after")

    gate.progress.step(2, 4, "before", flush=True)
    assert shown(gate.handle.job()) == (2, 4, "before")


def test_a_count_of_another_integer_type_is_taken(gate):
    class Count:
        def __index__(self):
            return 7

    gate.progress.step(Count(), Count())

    assert shown(gate.handle.job())[:2] == (7, 7)


@pytest.mark.parametrize(
    ("message", "stored"),
    [
        ("a\nb\tc\r\x1b[31mred", "a\nb\tc\r\x1b[31mred"),
        ("\ud800\x00", "\ufffd\ufffd"),
        (None, ""),
        (7, "7"),
    ],
)
def test_any_message_is_stored(gate, message, stored):
    """E03, E13."""
    gate.progress.step(1, 2, message)

    assert gate.handle.job().message == stored


class Unspeakable:
    def __str__(self):
        raise RuntimeError("no")


class Loud(str):
    __str__ = Unspeakable.__str__


@pytest.mark.parametrize(
    ("message", "stored"),
    [(Unspeakable(), "Unspeakable whose text can't be had"), (Loud("hello"), "hello")],
    ids=["object", "text"],
)
def test_a_message_without_text_costs_no_step(gate, message, stored):
    """E07."""
    gate.progress.step(1, 2, message)

    assert shown(gate.handle.job())[:2] == (1, 2)
    assert gate.handle.job().message == stored


def test_a_huge_message_is_cut(gate):
    """E13."""
    for _ in range(100):
        gate.progress.step(1, 2, "x" * 1_000_000)

    assert len(gate.handle.job().message) <= 4000


def test_a_locked_row_does_not_hold_the_body(gate, connect, caplog):
    """G04."""
    gate.progress.step(1)
    other = connect()
    other.execute("select from cortex.job for update")
    began = time.monotonic()

    for n in range(2, 50):
        gate.progress.step(n, flush=n == 2)

    assert time.monotonic() - began < 20  # 48 waits would take 96
    wait_until(lambda: "is not written yet" in caplog.text)
    other.rollback()
    wait_until(lambda: gate.handle.job().progress_current == 49)
    assert caplog.text.count("is not written yet") == 1


def test_heartbeats_alone_do_not_wait_for_the_disk(new_runner, committed):
    """What sets no status is a heartbeat; whatever else is written is there after a crash too."""
    dbname = committed.conn.info.dbname
    committed.conn.execute(f"alter database {dbname} set synchronous_commit = on")
    committed.conn.execute("create table public.written (beat boolean, durable text)")
    committed.conn.execute(
        """
        create function public.note() returns trigger language plpgsql security definer as $$
        begin
            insert into public.written
            values (new.status = old.status, current_setting('synchronous_commit'));
            return null;
        end
        $$
        """
    )
    committed.conn.execute(
        "create trigger note after update on cortex.job for each row execute function public.note()"
    )
    runner = new_runner(step_interval=0, max_workers=2)

    def body(progress):
        for n in range(5):
            progress.step(n, 5, flush=True)

    for _ in range(6):
        runner.spawn("test", body).wait(30)

    seen = committed.conn.execute(
        "select beat, durable, count(*) from public.written group by 1, 2"
    )
    found = {(beat, durable): count for beat, durable, count in seen.fetchall()}
    assert set(found) == {(True, "off"), (False, "on")}
    assert found[True, "off"] >= 30
    assert found[False, "on"] == 12
