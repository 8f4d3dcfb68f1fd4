"""A disk that is full, or writes that fail otherwise, for a while."""

from __future__ import annotations

import threading

import psycopg
import pytest

import pycortex
from pycortex import JobStatus, Worker, registry, sql
from tests.runners import Gate
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("writes refused")

TRIGGER = """
create sequence public.tries;
create table public.trouble (phase text, state text);
create function public.trouble() returns trigger language plpgsql as $$
declare
    v_phase text := 'beat';
    v_state text;
begin
    if tg_table_name = 'job' then
        v_phase := case
            when tg_op = 'INSERT' then 'spawn'
            when new.status = 'running' and old.status = 'queued' then 'start'
            when new.status = 'running' then 'step'
            else 'finish'
        end;
    end if;
    select t.state into v_state from public.trouble as t where t.phase = v_phase;
    if found then
        perform nextval('public.tries');
        raise exception 'could not extend file' using errcode = v_state;
    end if;
    return new;
end;
$$;
create trigger trouble before insert or update on cortex.job
    for each row execute function public.trouble();
create trigger trouble before update on cortex.runner
    for each row execute function public.trouble();
"""

STATES = ["53100", "53200", "58030", "XX000"]
"""Disk full, out of memory, an error of the disk, an error of the server itself."""


class Trouble:
    """Errors that writes of one phase raise, until it is over."""

    def __init__(self, conn, ledger):
        self.conn, self.ledger = conn, ledger
        conn.execute(TRIGGER)

    def begin(self, phase, state="53100"):
        self.ledger.fault()
        self.conn.execute("select setval('public.tries', 1)")
        self.conn.execute("insert into public.trouble values (%s, %s)", [phase, state])

    def wait_for_tries(self, count):
        tries = "select last_value > %s from public.tries"
        wait_until(lambda: self.conn.execute(tries, [count]).fetchone()[0])

    def end(self):
        self.conn.execute("delete from public.trouble")


@pytest.fixture
def trouble(committed, ledger):
    return Trouble(committed.conn, ledger)


@pytest.fixture
def gate(runner):
    gate = Gate()
    gate.handle = runner.spawn("test", gate)
    gate.wait_entered()
    yield gate
    gate.open()


@pytest.mark.parametrize("state", STATES)
def test_an_end_that_cannot_be_written_is_written_later(trouble, gate, state):
    gate.progress.step(1, 2)
    trouble.begin("finish", state)

    gate.progress.step(2, 2)
    gate.open()
    trouble.wait_for_tries(3)
    assert gate.handle.job().status is JobStatus.RUNNING
    trouble.end()

    job = gate.handle.wait(30)
    assert (job.status, job.result, job.progress_current) == (JobStatus.SUCCEEDED, "passed", 2)


def test_a_failure_keeps_its_reason_through_it(trouble, runner):
    trouble.begin("finish")

    def body(progress):
        raise pycortex.JobFailed("no such corpus")

    handle = runner.spawn("test", body)
    trouble.wait_for_tries(2)
    trouble.end()

    job = handle.wait(30)
    assert (job.status, job.message) == (JobStatus.FAILED, "no such corpus")


@pytest.mark.parametrize("state", STATES)
def test_a_spawn_that_cannot_be_written_raises_and_leaves_nothing(
    trouble, runner, committed, state
):
    trouble.begin("spawn", state)
    for _ in range(runner.max_workers + 2):
        with pytest.raises(psycopg.Error) as caught:
            runner.spawn("test", lambda progress: 1)
    trouble.end()

    assert caught.value.sqlstate == state
    assert runner.spawn("test", lambda progress: 2).wait(20).result == 2
    assert committed.conn.execute("select count(*) from cortex.jobs").fetchone() == (1,)


@pytest.mark.parametrize("state", STATES)
def test_a_start_that_cannot_be_written_comes_later(trouble, runner, state):
    trouble.begin("start", state)
    handle = runner.spawn("test", lambda progress: progress.attempt)
    trouble.wait_for_tries(2)
    assert handle.job().status is JobStatus.QUEUED
    trouble.end()

    assert handle.wait(30).result == 1


@pytest.mark.parametrize("state", STATES)
def test_a_step_that_cannot_be_written_harms_no_body(trouble, gate, state):
    trouble.begin("step", state)
    for n in range(1, 4):
        gate.progress.step(n, 3)
    trouble.wait_for_tries(2)
    trouble.end()

    wait_until(lambda: gate.handle.job().progress_current == 3)
    gate.open()
    assert gate.handle.wait(20).result == "passed"


def test_a_claim_that_cannot_be_written_comes_later(
    trouble, runner, committed, ledger, monkeypatch
):
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("test")(lambda progress: progress.attempt)
    trouble.begin("start")
    jobs = [ledger.enqueue(committed.conn, "test").uuid for _ in range(6)]
    stop = threading.Event()
    thread = threading.Thread(target=Worker(runner, poll_interval=0.05).run, args=[stop])
    thread.start()
    trouble.wait_for_tries(2)
    trouble.end()

    for job in jobs:
        wait_until(lambda job=job: sql.find_job(committed.conn, job).result == 1)
    stop.set()
    thread.join(20)


def test_a_runner_whose_beats_cannot_be_written_is_not_dead(trouble, new_runner, committed):
    sql.configure(committed.conn, runner_beat="50 ms", runner_grace="200 ms")
    gate = Gate()
    handle = new_runner().spawn("test", gate)
    gate.wait_entered()
    trouble.begin("beat")
    trouble.wait_for_tries(4)

    silence = "select clock_timestamp() - seen_at > '400 ms' from cortex.runner"
    wait_until(lambda: committed.conn.execute(silence).fetchone()[0])
    assert handle.job().status is JobStatus.RUNNING
    trouble.end()

    before = sql.list_runners(committed.conn)[0].seen_at
    wait_until(lambda: sql.list_runners(committed.conn)[0].seen_at > before)
    gate.open()
    assert handle.wait(20).result == "passed"


def test_a_runner_does_not_take_itself_for_dead(trouble, new_runner, committed, ledger):
    """Its beats are refused and its lease is free; its own upkeep could close its jobs."""
    sql.configure(committed.conn, runner_beat="50 ms", runner_grace="200 ms")
    gate = Gate()
    runner = new_runner()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    trouble.begin("beat")
    trouble.wait_for_tries(2)
    holder = "select backend_pid from cortex.runner"
    ledger.terminate(committed.conn, *committed.conn.execute(holder).fetchone())
    trouble.wait_for_tries(10)

    silence = "select clock_timestamp() - seen_at > '600 ms' from cortex.runner"
    wait_until(lambda: committed.conn.execute(silence).fetchone()[0])
    assert handle.job().status is JobStatus.RUNNING
    trouble.end()

    wait_until(lambda: not runner._outage.is_on("lease"))
    gate.open()
    assert handle.wait(20).result == "passed"


def test_a_shutdown_ends_in_time_though_nothing_can_be_written(trouble, new_runner, committed):
    """C10. What it leaves is closed by upkeep when writes go through again."""
    runner, gate = new_runner(), Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    trouble.begin("finish")
    trouble.begin("beat")

    ended = threading.Thread(target=runner.shutdown, args=[0.2])
    ended.start()
    ended.join(60)  # of its own accord, with the trouble going on
    assert not ended.is_alive()

    trouble.end()
    gate.open()
    wait_until(lambda: handle.job().result == "passed")
