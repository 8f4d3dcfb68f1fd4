"""The database goes away under an asyncio application and comes back, or the network is silent."""

from __future__ import annotations

import asyncio
import os
import time
from functools import wraps

import psycopg
import pytest

from pycortex import AsyncRunner, JobStatus, Runner, sql
from pycortex.aio import _LoopRunner
from tests.aio import AsyncGate, run, until
from tests.faults.proxy import Proxy

pytestmark = pytest.mark.fault("database restarted or stopped")


@pytest.fixture(autouse=True)
def entered(ledger, monkeypatch):
    """Have the spawns of AsyncRunner and the bodies that it runs written down."""
    spawn = AsyncRunner.spawn

    def recorded(body):
        async def call(progress):
            run = f"{os.getpid()}-{progress.uuid}-{progress.attempt}"
            facts = {"job": progress.uuid, "attempt": progress.attempt, "pid": os.getpid()}
            ledger.add("began", run=run, **facts)
            try:
                result = await body(progress)
            except asyncio.CancelledError:
                ledger.add("ended", run=run, status=None)
                raise
            ledger.add("ended", run=run, status="succeeded", result=result)
            return result

        return call

    @wraps(spawn)
    async def spawn_and_note(self, kind, body, **options):
        handle = await spawn(self, kind, recorded(body), **options)
        ledger.acknowledged(handle.uuid)
        return handle

    monkeypatch.setattr(AsyncRunner, "spawn", spawn_and_note)
    monkeypatch.setattr(_LoopRunner, "spawn", Runner.spawn.__wrapped__)


async def aside(what, *args):
    """Make a call that blocks, in a thread of the application's own."""
    return await asyncio.to_thread(what, *args)


def warnings(caplog):
    return [r.getMessage() for r in caplog.records if r.levelname in ("WARNING", "ERROR")]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_under_a_running_body_costs_nothing(own_server, own_database, mode):
    async def main():
        gate = AsyncGate()
        async with AsyncRunner(own_database) as runner:
            handle = await runner.spawn("test", gate)
            progress = await gate.wait_entered()
            await progress.step(1, 3)
            await aside(own_server.restart, mode)
            await progress.step(2, 3)
            await progress.step(3, 3)
            gate.open()
            return await handle.wait(30)

    job = run(main)

    assert (job.status, job.result, job.progress_current) == (JobStatus.SUCCEEDED, "passed", 3)


def test_steps_go_on_without_a_database_and_the_loop_too(own_server, own_database, caplog):
    slowest = 0.0

    async def main():
        stopped, back = asyncio.Event(), asyncio.Event()

        async def body(progress):
            nonlocal slowest
            n = 0
            while not back.is_set():
                n += 1
                began = time.monotonic()
                await progress.step(n, None, "working", flush=n % 100 == 0)
                slowest = max(slowest, time.monotonic() - began)
                stopped.set()
                await asyncio.sleep(0.01)
            return n

        async def turning():
            turns = 0
            while not back.is_set():
                await asyncio.sleep(0.01)
                turns += 1
            return turns

        async with AsyncRunner(own_database) as runner:
            handle = await runner.spawn("test", body)
            await stopped.wait()
            turn = asyncio.create_task(turning())
            await aside(own_server.stop)
            await asyncio.sleep(5)
            await aside(own_server.start)
            back.set()
            return await turn, await handle.wait(30)

    turns, job = run(main)

    assert job.status is JobStatus.SUCCEEDED
    assert job.progress_current == job.result
    assert slowest < 4  # the outage is longer
    assert turns > 50
    assert len(warnings(caplog)) == 1, warnings(caplog)


def test_an_end_during_the_outage_is_written_after_it(own_server, own_database):
    async def main():
        gate = AsyncGate()
        async with AsyncRunner(own_database) as runner:
            handle = await runner.spawn("test", gate)
            await gate.wait_entered()
            await aside(own_server.stop, "immediate")
            gate.open()
            waiting = asyncio.create_task(handle.wait(50))
            await until(lambda: gate.task.done())
            await aside(own_server.start)
            return await waiting

    assert run(main).result == "passed"


def test_many_ends_during_the_outage_are_all_written_after_it(own_server, own_database):
    async def main():
        gates = [AsyncGate() for _ in range(50)]
        async with AsyncRunner(own_database) as runner:
            handles = [await runner.spawn("test", gate) for gate in gates]
            for gate in gates:
                await gate.wait_entered()
            await aside(own_server.stop)
            for gate in gates:
                gate.open()
            await until(lambda: all(gate.task.done() for gate in gates))
            await aside(own_server.start)
            return [await handle.wait(50) for handle in handles]

    assert {job.result for job in run(main)} == {"passed"}


def test_a_spawn_during_the_outage_raises_and_leaves_nothing(own_server, own_database):
    async def main():
        async with AsyncRunner(own_database) as runner:
            gate = AsyncGate()
            gate.open()
            await aside(own_server.stop)
            for _ in range(5):
                with pytest.raises(psycopg.OperationalError):
                    await runner.spawn("lost", gate)
            await aside(own_server.start)
            await (await runner.spawn("test", gate)).wait(30)

    run(main)

    with psycopg.connect(own_database) as conn:
        assert [job.kind for job in sql.list_recent(conn)] == ["test"]


def test_a_wait_that_times_out_in_an_outage_is_in_time(own_server, own_database):
    async def main():
        gate = AsyncGate()
        async with AsyncRunner(own_database) as runner:
            handle = await runner.spawn("test", gate)
            await gate.wait_entered()
            await aside(own_server.stop)
            with pytest.raises(TimeoutError):
                await handle.wait(1)
            await aside(own_server.start)
            gate.open()
            return await handle.wait(30)

    assert run(main).result == "passed"


def test_a_shutdown_during_the_outage_ends_in_time(own_server, own_database):
    async def main():
        gate = AsyncGate()
        runner = AsyncRunner(own_database, grace=0.5)
        await runner.spawn("test", gate)
        await gate.wait_entered()
        await aside(own_server.stop)
        began = time.monotonic()
        await runner.shutdown()
        took = time.monotonic() - began
        await aside(own_server.start)
        return took, gate.cancelled

    took, cancelled = run(main)

    assert took < 30  # far below any of the network's own limits
    assert cancelled == 1


# A network that swallows packets


@pytest.fixture
def proxy(database):
    proxy = Proxy(database)
    yield proxy
    proxy.close()


@pytest.fixture
def impatient(proxy):
    """The URL of the proxy, with limits that a test can wait for."""
    return proxy.url(tcp_user_timeout=1000, connect_timeout=2, keepalives_idle=1,
                     keepalives_interval=1, keepalives_count=2)  # fmt: skip


@pytest.mark.fault("network cut or silent")
def test_a_silent_network_holds_neither_the_loop_nor_a_body(proxy, impatient):
    async def main():
        gate = AsyncGate()
        async with AsyncRunner(impatient) as runner:
            handle = await runner.spawn("test", gate)
            progress = await gate.wait_entered()
            await progress.step(1)
            proxy.fall_silent()
            stepping = asyncio.create_task(steps(progress))
            with pytest.raises(TimeoutError):
                await handle.wait(0.5)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(runner.spawn("lost", gate), 0.5)
            await stepping
            proxy.speak()  # all of that came to its end before the network did
            gate.open()
            return await handle.wait(40)

    async def steps(progress):
        for n in range(2, 200):
            await progress.step(n, flush=n == 2)

    job = run(main)

    assert (job.status, job.progress_current) == (JobStatus.SUCCEEDED, 199)


@pytest.mark.fault("network cut or silent")
def test_a_shutdown_in_a_silent_network_ends_bodies_and_itself(proxy, impatient):
    async def body(progress):
        conn = await progress.connection()
        entered.set()
        await conn.execute("select pg_sleep(600)")

    async def main():
        nonlocal entered
        entered = asyncio.Event()
        gate = AsyncGate()
        runner = AsyncRunner(impatient, grace=1)
        await runner.spawn("test", body)
        await runner.spawn("test", gate)
        await entered.wait()
        await gate.wait_entered()
        proxy.fall_silent()
        await runner.shutdown()
        proxy.speak()  # not needed for that
        await until(lambda: not runner._runner._bodies._tickets)
        return gate.cancelled

    entered = None
    assert run(main) == 1
