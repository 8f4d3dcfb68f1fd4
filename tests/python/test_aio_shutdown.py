"""The end of an AsyncRunner, of its loop, and of the block around it."""

from __future__ import annotations

import asyncio
import signal
import threading
import time

import pytest

from pycortex import AsyncRunner, JobStatus, sql
from tests.aio import AsyncGate, run, until
from tests.waiting import wait_until


def rows(conn):
    return {job.kind: job for job in sql.list_recent(conn)}


def test_lets_bodies_end_within_the_grace(database, committed):
    async def main():
        gate = AsyncGate()
        async with AsyncRunner(database, grace=30) as runner:
            await runner.spawn("test", gate)
            await gate.wait_entered()
            asyncio.get_running_loop().call_later(0.2, gate.open)

    run(main)

    assert rows(committed.conn)["test"].result == "passed"


def test_works_off_what_it_accepted_within_the_grace(database, committed):
    async def body(progress):
        await asyncio.sleep(0.001)

    async def main():
        async with AsyncRunner(database, max_jobs=2, grace=30) as runner:
            for n in range(20):
                await runner.spawn(f"test {n}", body)

    run(main)

    assert {job.status for job in rows(committed.conn).values()} == {JobStatus.SUCCEEDED}


def test_the_loop_goes_on_meanwhile(database):
    async def main():
        turns = 0
        gate = AsyncGate()
        async with AsyncRunner(database, grace=30) as runner:
            await runner.spawn("test", gate)
            await gate.wait_entered()
            ending = asyncio.create_task(runner.shutdown())
            while not ending.done():
                turns += 1
                await asyncio.sleep(0.01)
                if turns == 20:
                    gate.open()
        return turns

    assert run(main) >= 20


def test_cancels_what_is_left_and_marks_it_interrupted(database, committed):
    async def main():
        running, waiting = AsyncGate(), AsyncGate()
        async with AsyncRunner(database, max_jobs=1, grace=0.4) as runner:
            await runner.spawn("running", running)
            await runner.spawn("waiting", waiting)
            progress = await running.wait_entered()
            await progress.step(1, 9)
            await progress.step(7, 9)
        return running.cancelled, running.task.done(), waiting.entered.is_set()

    assert run(main) == (1, True, False)

    found = rows(committed.conn)
    for kind in ("running", "waiting"):
        assert found[kind].status is JobStatus.INTERRUPTED
        assert "shutdown" in found[kind].message
        assert found[kind].finished_at is not None
    assert found["running"].progress_current == 7


def test_what_a_cancelled_body_returns_still_counts(database, committed):
    async def body(progress):
        entered.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.05)
            return "saved what there was"

    async def main():
        nonlocal entered
        entered = asyncio.Event()
        async with AsyncRunner(database, grace=1) as runner:
            await runner.spawn("test", body)
            await entered.wait()

    entered = None
    run(main)

    assert rows(committed.conn)["test"].result == "saved what there was"


def test_a_body_that_swallows_every_cancellation_delays_it_no_longer(database, committed):
    async def stubborn(progress):
        entered.set()
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                swallowed.append(1)
        return "after all"

    async def main():
        nonlocal entered, over
        entered, over = asyncio.Event(), asyncio.Event()
        runner = AsyncRunner(database, grace=0.2)
        handle = await runner.spawn("test", stubborn)
        await entered.wait()
        await runner.shutdown()
        interrupted = await handle.job()
        over.set()
        return interrupted, await until_succeeded(handle)

    async def until_succeeded(handle):
        while (job := await handle.job()).status is JobStatus.INTERRUPTED:
            await asyncio.sleep(0.02)
        return job

    entered = over = None
    swallowed = []
    interrupted, late = run(main)

    assert interrupted.status is JobStatus.INTERRUPTED
    assert len(swallowed) > 1
    assert (late.status, late.result) == (JobStatus.SUCCEEDED, "after all")


def test_refuses_to_spawn_before_there_is_a_row(database, committed):
    async def main():
        runner = AsyncRunner(database)
        await runner.start()
        await runner.shutdown()
        await runner.shutdown()
        with pytest.raises(RuntimeError, match="shut down"):
            await runner.spawn("test", AsyncGate())
        with pytest.raises(RuntimeError, match="shut down"):
            await runner.start()

    run(main)

    assert rows(committed.conn) == {}


def test_a_runner_that_never_started_has_nothing_to_shut_down(database):
    async def main():
        runner = AsyncRunner(database)
        await runner.shutdown()
        with pytest.raises(RuntimeError, match="shut down"):
            await runner.spawn("test", AsyncGate())

    run(main)


def test_a_handle_answers_after_the_shutdown(database):
    async def main():
        gate = AsyncGate()
        gate.open()
        async with AsyncRunner(database) as runner:
            handle = await runner.spawn("test", gate)
        return await handle.wait(30), await handle.job()

    job, again = run(main)

    assert (job.result, again.result) == ("passed", "passed")


def test_leaves_no_thread_and_no_connection_behind(database, committed):
    def ours():
        return {t.name for t in threading.enumerate() if t.name.startswith("pycortex")}

    before = ours() - {"pycortex-watch"}  # others' runners; the watch leaves by itself

    async def main():
        gate = AsyncGate()
        gate.open()
        async with AsyncRunner(database) as runner:
            await (await runner.spawn("test", gate)).wait(30)

    run(main)

    wait_until(lambda: ours() - {"pycortex-watch"} <= before)
    others = (
        "select count(*) from pg_stat_activity where datname = current_database() and pid <> %s"
    )
    pid = committed.conn.info.backend_pid
    wait_until(lambda: committed.conn.execute(others, [pid]).fetchone() == (0,))


def test_an_error_of_the_block_goes_on_after_the_shutdown(database, committed):
    async def main():
        gate = AsyncGate()
        async with AsyncRunner(database, grace=30) as runner:
            await runner.spawn("test", gate)
            await gate.wait_entered()
            asyncio.get_running_loop().call_later(0.1, gate.open)
            raise LookupError("the application's own")

    with pytest.raises(LookupError):
        run(main)

    assert rows(committed.conn)["test"].status is JobStatus.SUCCEEDED


def test_a_cancelled_block_gives_its_bodies_the_grace(database, committed):
    async def main():
        gate = AsyncGate()

        async def block():
            async with AsyncRunner(database, grace=30) as runner:
                await runner.spawn("test", gate)
                await asyncio.sleep(60)

        task = asyncio.create_task(block())
        await gate.wait_entered()
        task.cancel()
        asyncio.get_running_loop().call_later(0.1, gate.open)
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main)

    assert rows(committed.conn)["test"].status is JobStatus.SUCCEEDED


def test_a_shutdown_that_is_cancelled_makes_haste(database, committed):
    async def main():
        gate = AsyncGate()
        runner = AsyncRunner(database)
        await runner.spawn("test", gate)
        await gate.wait_entered()
        leaving = asyncio.create_task(runner.shutdown(3600))
        await until(lambda: runner.closing)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        return gate.cancelled

    assert run(main) == 1
    assert rows(committed.conn)["test"].status is JobStatus.INTERRUPTED


def test_hurries_when_called_again_with_a_shorter_grace(database, committed):
    async def main():
        gate = AsyncGate()
        runner = AsyncRunner(database)
        await runner.spawn("test", gate)
        await gate.wait_entered()
        patient = asyncio.create_task(runner.shutdown(3600))
        await until(lambda: runner.closing)
        await runner.shutdown(0)
        await patient

    run(main)

    assert rows(committed.conn)["test"].status is JobStatus.INTERRUPTED


def test_a_block_that_is_cancelled_while_it_starts_leaves_no_runner(database, committed, connect):
    async def main():
        blocker = connect()
        blocker.execute("lock table cortex.runner")
        runner = AsyncRunner(database)
        entering = asyncio.create_task(runner.__aenter__())
        waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        await until(lambda: committed.conn.execute(waits).fetchone() != (0,))
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering
        blocker.rollback()
        await until(lambda: [row.alive for row in sql.list_runners(committed.conn)] == [False])

    run(main)


# A loop that ends without a shutdown, or doesn't turn


def test_a_loop_that_is_closed_under_it_ends_its_jobs_interrupted(database, committed, caplog):
    sql.configure(committed.conn, runner_beat="100 ms")

    async def main():
        gate = AsyncGate()
        runner = AsyncRunner(database)
        await runner.spawn("test", gate)
        await gate.wait_entered()
        return runner

    runner = run(main)  # which cancels all tasks and closes the loop

    job = wait_until(lambda: (job := rows(committed.conn)["test"]).status.terminal and job)
    assert job.status is JobStatus.INTERRUPTED
    assert "its event loop was closed" in job.message
    assert runner.closing
    wait_until(lambda: [row.alive for row in sql.list_runners(committed.conn)] == [False])
    assert "its event loop was closed before it" in caplog.text


def test_a_loop_that_is_closed_with_queued_jobs_too(database, committed):
    sql.configure(committed.conn, runner_beat="100 ms")

    async def main():
        gate = AsyncGate()
        runner = AsyncRunner(database, max_jobs=1)
        await runner.spawn("running", gate)
        for n in range(5):
            await runner.spawn(f"queued {n}", gate)
        await gate.wait_entered()

    run(main)

    wait_until(lambda: all(job.status.terminal for job in rows(committed.conn).values()))
    assert {job.status for job in rows(committed.conn).values()} == {JobStatus.INTERRUPTED}


ABANDON = """
import asyncio, sys, pycortex
async def main():
    runs = asyncio.Event()
    async def body(progress):
        runs.set()
        await asyncio.sleep(3600)
    runner = pycortex.AsyncRunner(sys.argv[1], grace=60)
    await runner.spawn("test", body)
    await runs.wait()
asyncio.run(main())
"""


def test_a_program_that_ends_without_a_shutdown_says_goodbye(
    database, committed, make_runner_process
):
    process = make_runner_process(ABANDON, database)
    began = time.monotonic()

    process.communicate(timeout=55)

    assert time.monotonic() - began < 50  # not the grace: nobody could use it
    assert rows(committed.conn)["test"].status is JobStatus.INTERRUPTED


BLOCK = """
import asyncio, sys, pycortex
async def body(progress):
    print("runs", flush=True)
    try:
        await asyncio.sleep(3600)
    finally:
        print("cleans up", flush=True)
async def main():
    async with pycortex.AsyncRunner(sys.argv[1], grace={grace}) as runner:
        await runner.spawn("test", body)
        try:
            await asyncio.sleep(3600)
        finally:
            print("leaves", flush=True)
asyncio.run(main())
"""


@pytest.mark.parametrize(("grace", "interrupts"), [(0.5, 1), (3600, 2)])
def test_ctrl_c_ends_a_program_and_tells_the_truth(
    database, committed, make_runner_process, grace, interrupts
):
    process = make_runner_process(BLOCK.format(grace=grace), database)
    assert process.stdout.readline() == "runs\n"
    process.send_signal(signal.SIGINT)
    if interrupts == 2:
        assert process.stdout.readline() == "leaves\n"
        process.send_signal(signal.SIGINT)

    out, err = process.communicate(timeout=60)

    assert "KeyboardInterrupt" in err
    assert "pycortex job" not in err  # a task of ours that nobody asked how it ended
    assert "cleans up" in out
    assert process.returncode == -signal.SIGINT
    assert rows(committed.conn)["test"].status is JobStatus.INTERRUPTED


def test_a_loop_that_is_blocked_stops_neither_lease_nor_steps(database, committed):
    sql.configure(committed.conn, runner_beat="100 ms", runner_grace="500 ms")

    async def main():
        gate = AsyncGate()
        async with AsyncRunner(database, step_interval=0.3) as runner:
            handle = await runner.spawn("test", gate)
            progress = await gate.wait_entered()
            await progress.step(1)
            await progress.step(2)
            began = committed.conn.execute("select clock_timestamp()").fetchone()[0]
            wait_until(lambda: rows(committed.conn)["test"].progress_current == 2)  # blocks
            wait_until(lambda: sql.list_runners(committed.conn)[0].seen_at > began)
            time.sleep(1)
            sql.maintain(committed.conn)
            alive = [row.alive for row in sql.list_runners(committed.conn)]
            gate.open()
            return alive, await handle.wait(30)

    alive, job = run(main)

    assert alive == [True]
    assert job.status is JobStatus.SUCCEEDED


def test_a_shutdown_from_a_blocked_loop_ends_within_its_grace(database, committed):
    """Nothing of the loop is needed to tell the truth."""

    async def main():
        gate = AsyncGate()
        runner = AsyncRunner(database)
        await runner.spawn("test", gate)
        await gate.wait_entered()
        runner._runner.shutdown(0.2)  # in the loop's own thread, which can't cancel meanwhile
        return gate.cancelled

    assert run(main) == 0
    assert rows(committed.conn)["test"].status is JobStatus.INTERRUPTED
