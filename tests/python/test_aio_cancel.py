"""The end of a body of asyncio's that somebody asked for, or that came from outside."""

from __future__ import annotations

import asyncio
import threading

import psycopg
import pytest

from pycortex import AsyncRunner, JobCancelled, JobStatus, JobStopped, sql
from tests.aio import AsyncGate, run, until


@pytest.fixture(autouse=True)
def quick_beat(committed):
    sql.configure(committed.conn, runner_beat="100 ms")


def test_a_step_hears_of_a_request(in_runner, committed):
    async def body(progress):
        n = 0
        while True:
            n += 1
            await progress.step(n)
            await asyncio.sleep(0.01)

    async def main(runner):
        handle = await runner.spawn("test", body)
        await until(lambda: sql.find_job(committed.conn, handle.uuid).progress_current)
        sql.cancel_job(committed.conn, handle.uuid)
        return await handle.wait(30)

    job = in_runner(main)

    assert (job.status, job.message) == (JobStatus.CANCELLED, "cancelled on request")


def test_a_body_that_takes_no_steps_sees_a_request_by_itself(in_runner, committed):
    async def body(progress):
        while not progress.cancel_requested:
            await asyncio.sleep(0.01)
        return "wound down"

    async def main(runner):
        handle = await runner.spawn("test", body)
        await until(lambda: (found := handle._handle.job()).status is JobStatus.RUNNING and found)
        sql.cancel_job(committed.conn, handle.uuid)
        return await handle.wait(30)

    job = in_runner(main)

    assert (job.status, job.result) == (JobStatus.SUCCEEDED, "wound down")


def test_a_request_leaves_a_task_alone_that_waits(in_runner, committed):
    async def main(runner):
        gate = AsyncGate()
        handle = await runner.spawn("test", gate)
        progress = await gate.wait_entered()
        sql.cancel_job(committed.conn, handle.uuid)
        await until(lambda: progress.cancel_requested)
        with pytest.raises(JobCancelled):
            await progress.step(1)
        gate.open()
        return await handle.wait(30), gate.cancelled

    job, cancelled = in_runner(main)

    assert (job.status, cancelled) == (JobStatus.SUCCEEDED, 0)


def test_a_request_heard_in_one_of_several_tasks_cancels_the_job(in_runner, committed):
    async def worker(progress, n):
        while True:
            await progress.step(n)
            await asyncio.sleep(0.01)

    async def body(progress):
        async with asyncio.TaskGroup() as group:
            for n in range(3):
                group.create_task(worker(progress, n))

    async def main(runner):
        handle = await runner.spawn("test", body)
        await until(lambda: (found := handle._handle.job()).status is JobStatus.RUNNING and found)
        sql.cancel_job(committed.conn, handle.uuid)
        return await handle.wait(30)

    job = in_runner(main)

    assert (job.status, job.message) == (JobStatus.CANCELLED, "cancelled on request")


def test_a_hard_cancel_ends_a_task_that_waits(in_runner, committed):
    async def main(runner):
        gate = AsyncGate()
        handle = await runner.spawn("test", gate)
        await gate.wait_entered()
        sql.cancel_job(committed.conn, handle.uuid, hard=True)
        return await handle.wait(30), gate.cancelled

    job, cancelled = in_runner(main)

    assert (job.status, cancelled) == (JobStatus.CANCELLED, 1)
    assert "cancelled on request" in job.message


def test_a_hard_cancel_ends_a_task_that_swallows_it_once(in_runner, committed, monkeypatch):
    monkeypatch.setattr("pycortex._loop.AGAIN", 0.1)
    swallowed = 0

    async def body(progress):
        nonlocal swallowed
        entered.set()
        while swallowed < 3:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                swallowed += 1
        await asyncio.sleep(60)

    async def main(runner):
        nonlocal entered
        entered = asyncio.Event()
        handle = await runner.spawn("test", body)
        await entered.wait()
        sql.cancel_job(committed.conn, handle.uuid, hard=True)
        return await handle.wait(30)

    entered = None
    job = in_runner(main)

    assert (job.status, swallowed) == (JobStatus.CANCELLED, 3)


def test_what_a_cancelled_body_cleans_up_is_not_cut_short(in_runner, committed):
    cleaned = []

    async def body(progress):
        entered.set()
        try:
            await asyncio.sleep(60)
        finally:
            for n in range(10):
                await asyncio.sleep(0.05)
                cleaned.append(n)

    async def main(runner):
        nonlocal entered
        entered = asyncio.Event()
        handle = await runner.spawn("test", body)
        await entered.wait()
        sql.cancel_job(committed.conn, handle.uuid, hard=True)
        return await handle.wait(30)

    entered = None
    job = in_runner(main)

    assert job.status is JobStatus.CANCELLED
    assert cleaned == list(range(10))


def test_a_result_that_comes_in_spite_of_the_cancellation_counts(in_runner, committed):
    async def body(progress):
        entered.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "saved what there was"

    async def main(runner):
        nonlocal entered
        entered = asyncio.Event()
        handle = await runner.spawn("test", body)
        await entered.wait()
        sql.cancel_job(committed.conn, handle.uuid, hard=True)
        return await handle.wait(30)

    entered = None
    assert in_runner(main).result == "saved what there was"


def test_a_hard_cancel_ends_the_statement_of_a_body(in_runner, committed):
    async def body(progress):
        conn = await progress.connection()
        entered.set()
        await conn.execute("select pg_sleep(60)")

    async def main(runner):
        nonlocal entered
        entered = asyncio.Event()
        handle = await runner.spawn("test", body)
        await entered.wait()
        await until(lambda: [row.state for row in sql.list_activity(committed.conn)] == ["active"])
        sql.cancel_job(committed.conn, handle.uuid, hard=True)
        return await handle.wait(30)

    entered = None
    job = in_runner(main)

    assert job.status is JobStatus.CANCELLED


def test_a_statement_that_is_ended_in_one_of_several_tasks_is_a_cancellation_too(
    in_runner, committed
):
    # The end comes by the statement, not by the beat.
    sql.configure(committed.conn, runner_beat="60 s", runner_grace="10 min")

    async def body(progress):
        conn = await progress.connection()
        entered.set()
        async with asyncio.TaskGroup() as group:
            group.create_task(conn.execute("select pg_sleep(60)"))

    async def main(runner):
        nonlocal entered
        entered = asyncio.Event()
        handle = await runner.spawn("test", body)
        await entered.wait()
        await until(lambda: [row.state for row in sql.list_activity(committed.conn)] == ["active"])
        sql.cancel_job(committed.conn, handle.uuid, hard=True)
        return await handle.wait(30)

    entered = None
    job = in_runner(main)

    assert (job.status, job.message) == (
        JobStatus.CANCELLED,
        "cancelled on request, amid a statement",
    )


def test_what_the_reaper_ended_is_cancelled_and_writes_nothing(in_runner, committed):
    async def main(runner):
        gate = AsyncGate()
        handle = await runner.spawn("test", gate)
        progress = await gate.wait_entered()
        committed.conn.execute("update cortex.job set updated_at = now() - interval '3 hours'")
        sql.reap_stale(committed.conn)
        await until(lambda: gate.task.done())
        with pytest.raises(JobStopped):
            await progress.step(1)
        await until(lambda: runner._runner._bodies.find(handle.uuid) is None)
        return await handle.job(), gate.cancelled

    job, cancelled = in_runner(main)

    assert (job.status, job.result, cancelled) == (JobStatus.INTERRUPTED, None, 1)
    assert "presumed" in job.message


def test_another_attempt_of_what_the_reaper_ended_runs_here(in_runner, committed):
    sql.configure_kind(
        committed.conn, "hung", max_attempts=2, backoff="1 ms", on_interrupt="requeue"
    )
    attempts = []

    async def body(progress):
        attempts.append(progress.attempt)
        if progress.attempt == 1:
            await asyncio.sleep(60)
        return "second try"

    async def main(runner):
        handle = await runner.spawn("hung", body)
        await until(lambda: attempts)
        committed.conn.execute("update cortex.job set updated_at = now() - interval '3 hours'")
        sql.reap_stale(committed.conn)
        return await handle.wait(30)

    job = in_runner(main)

    assert (job.status, job.result, attempts) == (JobStatus.SUCCEEDED, "second try", [1, 2])


def test_a_queued_job_that_is_cancelled_never_begins(in_runner, committed):
    async def main(runner):
        gate, second = AsyncGate(), AsyncGate()
        await runner.spawn("test", gate)
        await gate.wait_entered()
        handle = await runner.spawn("test", second)
        sql.cancel_job(committed.conn, handle.uuid)
        job = await handle.wait(30)
        gate.open()
        await until(lambda: runner._runner._bodies.busy == 0)
        return job, second.entered.is_set()

    job, entered = in_runner(main, max_jobs=1)

    assert (job.status, entered) == (JobStatus.CANCELLED, False)


def test_a_task_that_the_application_cancels_ends_its_job_failed(in_runner):
    async def main(runner):
        gate = AsyncGate()
        handle = await runner.spawn("test", gate)
        await gate.wait_entered()
        gate.task.cancel()
        return await handle.wait(30)

    job = in_runner(main)

    assert (job.status, job.message) == (
        JobStatus.FAILED,
        "its task was cancelled by the application",
    )


# A spawn that is cancelled before it returns


def blocked_spawns(conn):
    """How many sessions wait for a lock in spawn_job."""
    query = (
        "select count(*) from pg_stat_activity"
        " where wait_event_type = 'Lock' and query like '%spawn_job%'"
    )
    return conn.execute(query).fetchone()[0]


def test_a_spawn_that_is_cancelled_before_it_begins_leaves_no_job(in_runner, committed, connect):
    async def main(runner):
        blocker = connect()
        blocker.execute("lock table cortex.job")
        blocked = [asyncio.create_task(runner.spawn("test", AsyncGate())) for _ in range(4)]
        await until(lambda: blocked_spawns(committed.conn) == 4)
        late = asyncio.create_task(runner.spawn("late", AsyncGate()))
        await asyncio.sleep(0)
        late.cancel()
        with pytest.raises(asyncio.CancelledError):
            await late
        blocker.rollback()
        for handle in await asyncio.gather(*blocked):
            sql.cancel_job(committed.conn, handle.uuid, hard=True)

    in_runner(main)

    assert [job.kind for job in sql.list_recent(committed.conn)] == ["test"] * 4


def test_a_spawn_that_is_cancelled_amid_its_statement_leaves_a_cancelled_job(
    in_runner, committed, connect
):
    async def main(runner):
        gate = AsyncGate()
        blocker = connect()
        blocker.execute("lock table cortex.job")
        spawning = asyncio.create_task(runner.spawn("test", gate))
        await until(lambda: blocked_spawns(committed.conn) == 1)
        spawning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await spawning
        blocker.rollback()
        await until(lambda: sql.list_recent(committed.conn))
        await until(lambda: not sql.list_recent(committed.conn, active_only=True))
        return gate.entered.is_set()

    assert in_runner(main) is False
    assert [job.status for job in sql.list_recent(committed.conn)] == [JobStatus.CANCELLED]


def test_spawns_that_are_cancelled_at_any_moment_leave_nothing_to_run(in_runner, committed):
    ran = []

    async def body(progress):
        ran.append(progress.uuid)
        await progress.step(1)
        await asyncio.sleep(60)

    async def main(runner):
        kept = []
        for n in range(60):
            spawning = asyncio.create_task(runner.spawn("test", body))
            await asyncio.sleep(n / 10_000)
            spawning.cancel()
            try:
                kept.append((await spawning).uuid)
            except asyncio.CancelledError:
                continue
        for uuid in kept:
            sql.cancel_job(committed.conn, uuid, hard=True)
        await until(lambda: not sql.list_recent(committed.conn, active_only=True))

    in_runner(main)

    jobs = sql.list_recent(committed.conn)
    assert {job.status for job in jobs} <= {JobStatus.CANCELLED}


def test_a_spawn_that_is_cancelled_far_from_its_time_frees_its_scope(in_runner, committed, connect):
    async def main(runner):
        blocker = connect()
        blocker.execute("lock table cortex.job")
        moment = sql.db_now(committed.conn).replace(year=2100)
        spawning = asyncio.create_task(
            runner.spawn("test", AsyncGate(), run_at=moment, debounce_scope={})
        )
        await until(lambda: blocked_spawns(committed.conn) == 1)
        spawning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await spawning
        blocker.rollback()
        await until(lambda: sql.list_recent(committed.conn))
        await until(lambda: not sql.list_recent(committed.conn, active_only=True))
        gate = AsyncGate()
        gate.open()
        return await (await runner.spawn("test", gate, debounce_scope={})).wait(30)

    assert in_runner(main).result == "passed"


def test_a_spawn_that_finds_a_job_leaves_it_when_cancelled(in_runner, committed):
    async def main(runner):
        gate = AsyncGate()
        handle = await runner.spawn("test", gate, debounce_scope={})
        await gate.wait_entered()
        for n in range(20):
            again = asyncio.create_task(runner.spawn("test", gate, debounce_scope={}))
            await asyncio.sleep(n / 2_000)
            again.cancel()
            await asyncio.wait([again])
        gate.open()
        return await handle.wait(30)

    assert in_runner(main).result == "passed"


def test_a_spawn_that_is_cancelled_while_it_starts_the_runner_leaves_it_usable(
    database, committed, connect
):
    async def main():
        blocker = connect()
        blocker.execute("lock table cortex.runner")
        runner = AsyncRunner(database)
        first = asyncio.create_task(runner.spawn("first", AsyncGate()))
        waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        await until(lambda: committed.conn.execute(waits).fetchone() != (0,))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        blocker.rollback()
        gate = AsyncGate()
        gate.open()
        handles = await asyncio.gather(*(runner.spawn("test", gate) for _ in range(20)))
        threads = [t.name for t in threading.enumerate() if t.name.startswith("pycortex-call")]
        jobs = [await handle.wait(30) for handle in handles]
        await runner.shutdown()
        return len(set(threads)), {job.result for job in jobs}

    assert run(main) == (4, {"passed"})
    assert {job.kind for job in sql.list_recent(committed.conn)} == {"test"}


def test_an_unknown_database_error_at_spawn_is_raised(in_runner):
    async def main(runner):
        with pytest.raises(psycopg.DataError):
            await runner.spawn("x" * 201, AsyncGate())
        with pytest.raises(TypeError, match="params"):
            await runner.spawn("test", AsyncGate(), params=[1])

    in_runner(main)
