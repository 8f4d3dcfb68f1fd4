"""AsyncJobProgress: steps that never block the loop, connections, and code in threads."""

from __future__ import annotations

import asyncio
import contextlib
import time

import psycopg
import pytest

from pycortex import JobStatus, sql
from tests.aio import AsyncGate, until


def end(in_runner, body, **options):
    async def main(runner):
        return await (await runner.spawn("test", body)).wait(30)

    return in_runner(main, **options)


def shown(job):
    return job.progress_current, job.progress_total, job.message


def test_the_first_step_and_a_flushed_one_are_written_when_step_returns(in_runner, committed):
    async def body(progress):
        await progress.step(1, 9, "first")
        first = sql.find_job(committed.conn, progress.uuid)
        await progress.step(2, 9, "flushed", flush=True)
        second = sql.find_job(committed.conn, progress.uuid)
        return [shown(first), shown(second)]

    assert end(in_runner, body, step_interval=30).result == [[1, 9, "first"], [2, 9, "flushed"]]


def test_the_last_step_is_written_before_the_end(in_runner):
    async def body(progress):
        for n in range(1000):
            await progress.step(n, 1000)

    assert shown(end(in_runner, body, step_interval=30)) == (999, 1000, "")


def test_a_tight_loop_costs_little_and_lets_other_tasks_go_on(in_runner):
    turns = 0

    async def other():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def body(progress):
        await progress.step(0)
        task = asyncio.create_task(other())
        began = time.thread_time()
        for n in range(200_000):
            await progress.step(n, 200_000, "working")
        seconds = time.thread_time() - began
        task.cancel()
        return seconds

    job = end(in_runner, body)

    assert job.result / 200_000 < 20e-6
    assert turns > 20  # without a breath between steps it is 1 for each value that is written


def test_many_tight_loops_leave_room_for_others(in_runner):
    async def main(runner):
        stop = False

        async def body(progress):
            n = 0
            while not stop:
                n += 1
                await progress.step(n)
            return n

        handles = [await runner.spawn("test", body) for _ in range(20)]
        gate = AsyncGate()
        gate.open()
        last = await runner.spawn("test", gate)
        assert (await last.wait(30)).result == "passed"
        stop = True
        return [await handle.wait(30) for handle in handles]

    for job in in_runner(main):
        assert job.progress_current == job.result


@pytest.mark.parametrize(
    ("current", "total", "error"),
    [
        (1.5, None, ValueError),
        (2**63, None, ValueError),
        ("3", None, TypeError),
        (1, True, TypeError),
    ],
)
def test_a_count_that_is_none_is_refused(in_runner, current, total, error):
    async def body(progress):
        with pytest.raises(error, match=r"current|total"):
            await progress.step(current, total)
        return "refused"

    assert end(in_runner, body).result == "refused"


def test_odd_counts_and_messages_are_stored(in_runner, committed):
    async def body(progress):
        seen = []
        for odd in ((3.0, 9.0, None), (-7, 0, 7), (True + 1, None, "a\x00b")):
            await progress.step(*odd, flush=True)
            seen.append(shown(sql.find_job(committed.conn, progress.uuid)))
        return seen

    assert end(in_runner, body).result == [[3, 9, ""], [-7, 0, "7"], [2, None, "a\ufffdb"]]


def test_a_locked_row_blocks_neither_loop_nor_body_for_long(in_runner, connect, caplog):
    async def main(runner):
        gate = AsyncGate()
        handle = await runner.spawn("test", gate)
        progress = await gate.wait_entered()
        await progress.step(1)
        other = connect()
        other.execute("select from cortex.job for update")
        turns = 0

        async def turning():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.01)

        task = asyncio.create_task(turning())
        await progress.step(2, flush=True)  # gives up after a moment
        waited = turns
        for n in range(3, 50):
            await progress.step(n)
        task.cancel()
        await until(lambda: "is not written yet" in caplog.text)
        other.rollback()
        gate.open()
        return waited, await handle.wait(30)

    waited, job = in_runner(main)

    assert waited > 10
    assert (job.status, job.progress_current) == (JobStatus.SUCCEEDED, 49)


def test_a_step_that_is_cancelled_while_it_waits_is_written_all_the_same(in_runner, connect):
    async def main(runner):
        gate = AsyncGate()
        handle = await runner.spawn("test", gate)
        progress = await gate.wait_entered()
        other = connect()
        other.execute("select from cortex.job for update")
        step = asyncio.create_task(progress.step(5))
        await asyncio.sleep(0.05)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        other.rollback()
        await until(lambda: sql.find_job(other, handle.uuid).progress_current == 5)
        gate.open()
        return await handle.wait(30)

    assert in_runner(main).progress_current == 5


def test_the_connection_is_the_jobs_own_and_closed_at_its_end(in_runner, committed):
    async def body(progress):
        conn, same = await asyncio.gather(progress.connection(), progress.connection())
        further = await progress.connection(new=True)
        assert conn is same
        assert further is not conn
        assert isinstance(conn, psycopg.AsyncConnection)
        assert conn.autocommit
        assert further.autocommit
        [row] = sql.list_activity(committed.conn)
        assert (row.job, row.pid) == (progress.uuid, conn.info.backend_pid)
        await conn.close()
        again = await progress.connection()
        assert again is not conn
        await again.set_autocommit(False)
        await again.execute("select 1")
        return [again.info.backend_pid, further.info.backend_pid]

    job = end(in_runner, body)

    assert job.status is JobStatus.SUCCEEDED, job.message
    alive = "select count(*) from pg_stat_activity where pid = any(%s)"
    deadline = time.monotonic() + 30
    while committed.conn.execute(alive, [job.result]).fetchone() != (0,):
        assert time.monotonic() < deadline


def test_a_body_may_leave_its_connection_in_any_state(in_runner):
    async def body(progress):
        conn = await progress.connection()
        with contextlib.suppress(psycopg.Error):
            await conn.execute("select pg_terminate_backend(pg_backend_pid())")
        other = await progress.connection()
        asyncio.get_running_loop().create_task(_sleep(other))
        await asyncio.sleep(0.05)
        return "done"

    async def _sleep(conn):
        with contextlib.suppress(psycopg.Error):
            await conn.execute("select pg_sleep(60)")

    assert end(in_runner, body).result == "done"


def test_what_the_server_warns_of_reaches_the_log(in_runner, caplog):
    async def body(progress):
        conn = await progress.connection()
        await conn.execute("do $$ begin raise warning 'mind the gap'; end $$")

    job = end(in_runner, body)

    [record] = [r for r in caplog.records if "mind the gap" in r.getMessage()]
    assert (record.levelname, record.job) == ("WARNING", job.uuid)


def test_code_in_threads_has_the_same_job_to_step(in_runner, committed):
    def crunch(progress):
        progress.step(1, 2, "in a thread")
        seen = sql.find_job(committed.conn, progress.uuid)
        number = progress.connection().execute("select 7").fetchone()[0]
        return [shown(seen), number]

    async def body(progress):
        return await asyncio.to_thread(crunch, progress.blocking)

    assert end(in_runner, body).result == [[1, 2, "in a thread"], 7]
