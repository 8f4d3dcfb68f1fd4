"""AsyncRunner: jobs of an asyncio application, and what becomes of them."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import datetime
import functools
import sys
import threading
from uuid import UUID

import psycopg
import pytest

import pycortex
from pycortex import AsyncRunner, JobCancelled, JobFailed, JobStatus, RunnerEvent, sql
from tests.aio import AsyncGate, run, until


async def one(progress):
    return 1


def raising(error):
    async def body(progress):
        raise error

    return body


def end(in_runner, body, **options):
    """Spawn a job and return it as it ended."""

    async def main(runner):
        return await (await runner.spawn("test", body, **options)).wait(30)

    return in_runner(main)


def test_runs_a_body_and_keeps_its_result(in_runner, committed):
    async def body(progress):
        seen = (progress.uuid, progress.kind, progress.actor, progress.params, progress.attempt)
        await progress.step(1, 2, "half-way")
        return {"seen": str(seen), "same thread": threading.current_thread().name}

    async def main(runner):
        handle = await runner.spawn("export", body, actor="ada", params={"a": 1})
        assert handle.created
        job = await handle.wait(timeout=30)
        assert (await handle.job()).finished_at == job.finished_at
        return handle, job, runner.uuid

    handle, job, runner = in_runner(main)

    assert (job.uuid, job.kind, job.actor, job.params) == (handle.uuid, "export", "ada", {"a": 1})
    assert (job.status, job.progress_current, job.progress_total) == (JobStatus.SUCCEEDED, 1, 2)
    assert job.result == {
        "seen": str((handle.uuid, "export", "ada", {"a": 1}, 1)),
        "same thread": "MainThread",
    }
    assert (job.runner, job.attempt) == (runner, 1)
    assert [row.alive for row in sql.list_runners(committed.conn)] == [False]


def test_a_result_is_converted_as_anywhere(in_runner):
    @dataclasses.dataclass
    class Row:
        day: datetime.date
        ids: set[int]

    async def body(progress):
        return [Row(datetime.date(2031, 5, 1), {7}), UUID(int=1)]

    job = end(in_runner, body)

    assert job.result == [{"day": "2031-05-01", "ids": [7]}, str(UUID(int=1))]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (JobFailed("no such folder"), "no such folder"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError("of something else"), "CancelledError: of something else"),
        (ExceptionGroup("many", [JobFailed("no such folder")]), "no such folder"),
        (TimeoutError(), "TimeoutError"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_whatever_a_body_raises_ends_its_job_failed(in_runner, error, message):
    job = end(in_runner, raising(error))

    assert (job.status, job.message) == (JobStatus.FAILED, message)


def test_a_body_that_fails_may_keep_a_result(in_runner):
    job = end(in_runner, raising(JobFailed("2 of 3 failed", result={"done": ["a"]})))

    assert (job.status, job.message) == (JobStatus.FAILED, "2 of 3 failed")
    assert job.result == {"done": ["a"]}


def test_an_error_of_several_tasks_is_told_as_one_with_its_traceback(in_runner, caplog):
    async def fail(text):
        raise ValueError(text)

    async def body(progress):
        async with asyncio.TaskGroup() as group:
            group.create_task(fail("one"))
            group.create_task(fail("two"))

    job = end(in_runner, body)

    assert job.status is JobStatus.FAILED
    assert "2 sub-exceptions" in job.message
    [record] = [r for r in caplog.records if r.levelname == "ERROR" and r.name == "pycortex"]
    assert record.exc_info[0] is ExceptionGroup


def test_a_body_may_cancel_itself(in_runner):
    job = end(in_runner, raising(JobCancelled("not on Sundays")))

    assert (job.status, job.message) == (JobStatus.CANCELLED, "not on Sundays")


def test_what_a_body_waits_for_may_be_cancelled_without_it(in_runner):
    async def body(progress):
        inner = asyncio.create_task(asyncio.sleep(60))
        asyncio.get_running_loop().call_soon(inner.cancel)
        await inner

    job = end(in_runner, body)

    assert (job.status, job.message) == (JobStatus.FAILED, "CancelledError")


def test_a_timeout_within_a_body_is_its_own(in_runner):
    async def body(progress):
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        except TimeoutError:
            return "in time"

    assert end(in_runner, body).result == "in time"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda progress: 1, "async def"),
        (lambda progress: one(progress), "async def"),
        (None, "callable"),
        (print, "async def"),
    ],
    ids=["a function", "a function that gives a coroutine", "None", "a builtin"],
)
def test_refuses_what_is_no_async_function(in_runner, committed, body, reason):
    async def main(runner):
        with pytest.raises(TypeError, match=reason):
            await runner.spawn("test", body)

    in_runner(main)

    assert committed.conn.execute("select count(*) from cortex.jobs").fetchone() == (0,)


def test_refuses_a_generator(in_runner):
    async def body(progress):
        yield 1

    async def main(runner):
        with pytest.raises(TypeError, match="generator"):
            await runner.spawn("test", body)

    in_runner(main)


def test_takes_whatever_is_an_async_function_in_effect(in_runner):
    async def body(number, progress):
        return number

    class Body:
        async def method(self, progress):
            return "method"

        async def __call__(self, progress):
            return "object"

    async def main(runner):
        bodies = [functools.partial(body, 7), Body(), Body().method]
        handles = [await runner.spawn("test", body) for body in bodies]
        return [(await handle.wait(30)).result for handle in handles]

    assert in_runner(main) == [7, "object", "method"]


def test_a_runner_with_threads_leads_to_it(runner, committed):
    class Body:
        async def __call__(self, progress): ...

    for body in (one, Body(), functools.partial(one)):
        with pytest.raises(TypeError, match="AsyncRunner"):
            runner.spawn("test", body)

    assert committed.conn.execute("select count(*) from cortex.jobs").fetchone() == (0,)


def test_a_body_runs_in_a_copy_of_the_callers_context(in_runner):
    tenant = contextvars.ContextVar("tenant", default="nobody")

    async def body(progress):
        seen = tenant.get()
        tenant.set("changed by the body")
        await asyncio.sleep(0)
        return [seen, tenant.get()]

    async def main(runner):
        tenant.set("ada")
        handle = await runner.spawn("test", body)
        tenant.set("bob")
        result = (await handle.wait(30)).result
        return result, tenant.get()

    assert in_runner(main) == (["ada", "changed by the body"], "bob")


def test_debounces_within_a_scope(in_runner):
    async def main(runner):
        gate = AsyncGate()
        first = await runner.spawn("test", gate, debounce_scope={})
        await gate.wait_entered()
        again = await asyncio.gather(
            *(runner.spawn("test", raising(ValueError()), debounce_scope={}) for _ in range(20))
        )
        waiting = asyncio.create_task(again[0].wait(30))
        await asyncio.sleep(0)
        gate.open()
        return first, again, await waiting

    first, again, job = in_runner(main)

    assert {(handle.uuid, handle.created) for handle in again} == {(first.uuid, False)}
    assert (first.created, job.result) == (True, "passed")


def test_a_follow_up_waits_for_its_predecessor(in_runner):
    async def main(runner):
        gate, follow_up = AsyncGate(), AsyncGate()
        scope = {"debounce_scope": {}, "debounce_on": "queued"}
        await runner.spawn("test", gate, **scope)
        await gate.wait_entered()
        second = await runner.spawn("test", follow_up, **scope)
        third = await runner.spawn("test", one, **scope)
        await (await runner.spawn("test", one)).wait(30)  # there is a place, not for this one
        waits = not follow_up.entered.is_set()
        gate.open()
        follow_up.open()
        return waits, second, third, await third.wait(30)

    waits, second, third, job = in_runner(main)

    assert waits
    assert (second.created, third.created, third.uuid) == (True, False, second.uuid)
    assert job.result == "passed"


def test_starts_a_job_when_its_time_has_come(in_runner, committed):
    async def main(runner):
        moment = sql.db_now(committed.conn) + datetime.timedelta(seconds=0.5)
        handle = await runner.spawn("test", one, run_at=moment)
        return moment, await handle.wait(30)

    moment, job = in_runner(main)

    assert job.started_at >= moment


def test_runs_so_many_at_once_and_the_rest_in_order(in_runner):
    running = []
    most = 0
    order = []

    async def body(progress):
        nonlocal most
        running.append(progress.uuid)
        order.append(progress.params["n"])
        most = max(most, len(running))
        await asyncio.sleep(0.02)
        running.remove(progress.uuid)

    async def main(runner):
        handles = [await runner.spawn("test", body, params={"n": n}) for n in range(20)]
        for handle in handles:
            await handle.wait(30)

    in_runner(main, max_jobs=1)

    assert most == 1
    assert order == list(range(20))


def test_a_retry_of_its_own_job_is_run_too(in_runner, committed):
    sql.configure_kind(committed.conn, "flaky", max_attempts=3, backoff="1 ms")

    async def body(progress):
        if progress.attempt < 3:
            raise ValueError(f"attempt {progress.attempt}")
        return progress.attempt

    async def main(runner):
        handle = await runner.spawn("flaky", body)
        return await handle.wait(30)

    job = in_runner(main)

    assert (job.status, job.result, job.attempt) == (JobStatus.SUCCEEDED, 3, 3)


def test_tells_its_events_in_the_loop(in_runner):
    events = []

    def listen(event):
        events.append((event, threading.current_thread() is threading.main_thread()))

    async def main(runner):
        await (await runner.spawn("test", one)).wait(30)
        await until(lambda: len(events) == 3)

    in_runner(main, on_event=listen)

    assert all(isinstance(event, RunnerEvent) and in_loop for event, in_loop in events)
    assert [event.event for event, _ in events] == ["spawned", "started", "ended"]


def test_a_wait_that_is_given_up_leaves_the_job_alone(in_runner):
    async def main(runner):
        gate = AsyncGate()
        handle = await runner.spawn("test", gate)
        await gate.wait_entered()
        with pytest.raises(TimeoutError, match="not over"):
            await handle.wait(timeout=0.05)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(handle.wait(), 0.05)
        waiting = asyncio.create_task(handle.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.open()
        return await handle.wait(30), gate.cancelled

    job, cancelled = in_runner(main)

    assert (job.result, cancelled) == ("passed", 0)


def test_a_wait_without_patience_still_sees_a_job_that_is_over(in_runner):
    async def main(runner):
        handle = await runner.spawn("test", one)
        await handle.wait(30)
        return await handle.wait(0)

    assert in_runner(main).result == 1


def test_a_wait_wakes_for_a_job_of_another_process(in_runner, committed):
    async def main(runner):
        [other] = [committed.make_job("running", kind="test", debounce_scope={})]
        handle = await runner.spawn("test", one, debounce_scope={})
        assert (handle.uuid, handle.created) == (other, False)
        waiting = asyncio.create_task(handle.wait(30))
        await asyncio.sleep(0)
        sql.finish_job(committed.conn, other, JobStatus.SUCCEEDED, message="elsewhere")
        return await waiting

    assert in_runner(main).message == "elsewhere"


def test_a_handle_of_a_job_that_is_gone_says_so(in_runner, committed):
    async def main(runner):
        handle = await runner.spawn("test", one)
        await handle.wait(30)
        committed.conn.execute("delete from cortex.event; delete from cortex.job")
        for ask in (handle.job, handle.wait):
            with pytest.raises(pycortex.JobNotFound):
                await ask()

    in_runner(main)


def test_starts_with_the_first_spawn(database):
    async def main():
        runner = AsyncRunner(database)
        with pytest.raises(RuntimeError, match="isn't started"):
            _ = runner.uuid
        handles = await asyncio.gather(*(runner.spawn("test", one) for _ in range(50)))
        jobs = [await handle.wait(30) for handle in handles]
        await runner.shutdown()
        return jobs

    jobs = run(main)

    assert {job.result for job in jobs} == {1}
    assert len({job.runner for job in jobs}) == 1


def test_making_one_starts_nothing(database):
    before = threading.active_count()

    AsyncRunner(database)

    assert threading.active_count() == before


def test_belongs_to_the_loop_that_started_it(database):
    runner = AsyncRunner(database)
    run(runner.start)

    with pytest.raises(RuntimeError, match="another event loop"):
        run(lambda: runner.spawn("test", one))

    run(runner.shutdown)


@pytest.mark.parametrize(
    "options", [{"max_jobs": 0}, {"grace": -1}, {"step_interval": -1}, {"poll_interval": 0}]
)
def test_refuses_options_that_make_no_sense(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        AsyncRunner("host=nowhere.invalid", **options)


def test_a_database_out_of_reach_is_said_and_leaves_nothing():
    async def main():
        before = {thread.name for thread in threading.enumerate()}
        with pytest.raises(psycopg.OperationalError):
            async with AsyncRunner("host=127.0.0.1 port=1"):
                raise AssertionError("entered")
        await until(lambda: _calls() <= before)

    def _calls():
        names = {thread.name for thread in threading.enumerate()}
        return {name for name in names if name.startswith(("pycortex-call", "pycortex-body"))}

    run(main)


def test_twins_are_called_on_connections_of_asyncio(database, committed):
    async def main():
        async with await psycopg.AsyncConnection.connect(database) as conn:
            spawned = await pycortex.aio.ask(conn, sql.spawn_job, "test", params={"a": 1})
            unseen = sql.find_job(committed.conn, spawned.uuid)
            await conn.commit()
            job = await pycortex.aio.ask(conn, sql.find_job, spawned.uuid)
            rows = await pycortex.aio.ask(conn, sql.list_recent, max_rows=5)
            with pytest.raises(pycortex.JobNotFound):
                await pycortex.aio.ask(conn, sql.cancel_job, UUID(int=1))
            await conn.rollback()
            return unseen, job, rows

    unseen, job, rows = run(main)

    assert unseen is None
    assert (job.kind, job.params, job.status) == ("test", {"a": 1}, JobStatus.QUEUED)
    assert [row.uuid for row in rows] == [job.uuid]


def test_a_twin_reads_moments_that_python_cannot_hold(database, committed):
    job = committed.make_job("queued", run_at="infinity")

    async def main():
        async with await psycopg.AsyncConnection.connect(database) as conn:
            return await pycortex.aio.ask(conn, sql.find_job, job)

    assert run(main).run_at == sql.find_job(committed.conn, job).run_at


if sys.version_info >= (3, 12):  # eager tasks came with it

    def test_works_with_tasks_that_start_at_once(database):
        async def main():
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            async with AsyncRunner(database) as runner:
                return await (await runner.spawn("test", one)).wait(30)

        assert run(main).result == 1


def test_the_last_thing_that_a_program_does_may_be_a_job(make_runner_process, database):
    program = (
        "import asyncio, sys, pycortex\n"
        "async def body(progress):\n"
        "    await progress.step(1, 1)\n"
        "async def main():\n"
        "    async with pycortex.AsyncRunner(sys.argv[1]) as runner:\n"
        "        await (await runner.spawn('test', body)).wait()\n"
        "asyncio.run(main())\n"
    )
    process = make_runner_process(program, database)

    out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (0, "", "")
