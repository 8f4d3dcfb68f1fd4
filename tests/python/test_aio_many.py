"""Hundreds of bodies of asyncio at once, with the threads of a few."""

from __future__ import annotations

import asyncio
import threading

from pycortex import JobStatus, sql
from tests.aio import AsyncGate, until


def ours():
    return [thread for thread in threading.enumerate() if thread.name.startswith("pycortex")]


def sessions(conn):
    query = "select count(*) from pg_stat_activity where application_name like 'pycortex %'"
    return conn.execute(query).fetchone()[0]


def test_two_hundred_bodies_at_once_need_few_threads_and_connections(in_runner, committed):
    before = len(ours())
    running, most = 0, 0
    release = None

    async def body(progress):
        nonlocal running, most
        await progress.step(0, 1, "waits")
        running += 1
        most = max(most, running)
        await release.wait()
        await progress.step(1, 1, "released")
        return progress.params["n"]

    async def main(runner):
        nonlocal release
        release = asyncio.Event()
        handles = await asyncio.gather(
            *(runner.spawn("test", body, params={"n": n}) for n in range(200))
        )
        waiting = [asyncio.create_task(handle.wait(55)) for handle in handles]
        await until(lambda: running == 200)
        threads, connections = len(ours()) - before, sessions(committed.conn)
        release.set()
        return threads, connections, [await task for task in waiting]

    threads, connections, jobs = in_runner(main, max_jobs=200)

    assert most == 200
    assert threads <= 20
    assert connections <= 20
    assert {job.status for job in jobs} == {JobStatus.SUCCEEDED}
    assert [job.result for job in jobs] == list(range(200))
    assert {job.progress_current for job in jobs} == {1}


def test_a_shutdown_ends_two_hundred_within_its_grace(in_runner, committed):
    gates = []

    async def main(runner):
        gates.extend(AsyncGate() for _ in range(200))
        await asyncio.gather(*(runner.spawn("test", gate) for gate in gates))
        for gate in gates:
            await gate.wait_entered()
        await runner.shutdown(1)

    in_runner(main, max_jobs=200)

    assert {gate.cancelled for gate in gates} == {1}
    counts = committed.conn.execute(
        "select status::text, count(*) from cortex.jobs group by 1"
    ).fetchall()
    assert counts == [("interrupted", 200)]


def test_ends_that_the_database_refuses_hold_nobody_else_up(in_runner, committed, caplog):
    """More of them than there are threads to write them."""
    committed.conn.execute(
        "create function refuse() returns trigger language plpgsql as"
        " $$ begin raise exception 'disk full'; end $$;"
        "create trigger refuse before update of status on cortex.job for each row"
        " when (new.kind = 'refused' and new.status = 'succeeded') execute function refuse()"
    )

    async def body(progress):
        return "done"

    async def main(runner):
        refused = [await runner.spawn("refused", body) for _ in range(12)]
        await until(lambda: caplog.text.count("isn't written yet") == 12)
        other = await (await runner.spawn("test", body)).wait(30)
        open_ones = sql.list_recent(committed.conn, active_only=True)
        committed.conn.execute("drop trigger refuse on cortex.job")
        return other, len(open_ones), [await handle.wait(30) for handle in refused]

    other, left, jobs = in_runner(main)

    assert (other.result, left) == ("done", 12)
    assert {job.result for job in jobs} == {"done"}


def test_spawns_that_wait_for_a_lock_hold_up_no_end(in_runner, committed, connect):
    async def main(runner):
        gate = AsyncGate()
        handle = await runner.spawn("test", gate)
        await gate.wait_entered()
        blocker = connect()
        sql.spawn_job(blocker, "blocked", debounce_scope={})
        spawns = [
            asyncio.create_task(runner.spawn("blocked", gate, debounce_scope={})) for _ in range(20)
        ]
        query = (
            "select count(*) from pg_stat_activity"
            " where wait_event_type = 'Lock' and query like '%spawn_job%'"
        )
        await until(lambda: committed.conn.execute(query).fetchone() == (4,))
        gate.open()
        await until(lambda: sql.find_job(committed.conn, handle.uuid).status.terminal)
        unfinished = [task for task in spawns if not task.done()]
        blocker.rollback()
        await asyncio.gather(*spawns)
        return len(unfinished)

    assert in_runner(main) == 20
