"""200 ready jobs, 8 processes: 200 executions, no duplicates, in order of priority."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from tests.concurrency.invariants import assert_invariants
from tests.concurrency.parallel import scalar

ROOT = Path(__file__).parents[2]
JOBS = 200
WORKERS = 8

CLAIMS = """
    select e.job_id, e.runner, rank
    from cortex.event as e
    join (
        select j.id, row_number() over (order by j.priority desc, j.run_at, j.id) as rank
        from cortex.job as j
    ) as j on j.id = e.job_id
    where e.to_status = 'running'
    order by e.id
"""


def run_workers(database: str, number: int) -> list[int]:
    """Let that many processes claim until nothing is ready; their exit codes."""
    command = [sys.executable, "-m", "tests.concurrency.claimer", database, "ready"]
    workers = [
        subprocess.Popen(
            command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(number)
    ]
    try:
        for worker in workers:
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        return [worker.wait(120) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def test_every_job_runs_once_and_none_is_taken_before_a_greater_one_that_was_free(
    database, committed
):
    """
    B06. Each worker takes one job at a time. Where a job was taken although a greater one was taken
    later, that one was in another worker's hands already: so it is the first that this worker took
    from then on, and there are at most as many of them as there are other workers.
    """
    committed.conn.execute("create table public.execution (job uuid, pid integer)")
    dice = random.Random(11)
    runs = ["2020-01-01 00:00:00+00", "2020-01-02 00:00:00+00", "2020-01-03 00:00:00+00"]
    jobs = {
        committed.make_job(kind="race", priority=dice.randrange(-2, 3), run_at=dice.choice(runs))
        for _ in range(JOBS)
    }

    codes = run_workers(database, WORKERS)

    ran = committed.conn.execute("select job, pid from public.execution").fetchall()
    claims = committed.conn.execute(CLAIMS).fetchall()
    assert codes == [0] * WORKERS
    assert len(ran) == JOBS
    assert {job for job, _ in ran} == jobs
    assert len(claims) == len({job for job, _, _ in claims}) == JOBS
    assert len({runner for _, runner, _ in claims}) > 1
    for place, (_, taker, rank) in enumerate(claims):
        later = claims[place + 1 :]
        overtaken = [(job, runner) for job, runner, other in later if other < rank]
        first_of_each = {}
        for job, runner, _ in later:
            first_of_each.setdefault(runner, job)
        assert all(first_of_each[runner] == job for job, runner in overtaken)
        assert taker not in {runner for _, runner in overtaken}
    assert (
        scalar(committed.conn, "select count(*) from cortex.job where status = 'succeeded'") == JOBS
    )
    assert_invariants(committed.conn)


def test_one_process_takes_them_in_exactly_their_order(database, committed):
    committed.conn.execute("create table public.execution (job uuid, pid integer)")
    dice = random.Random(12)
    for _ in range(60):
        committed.make_job(kind="race", priority=dice.randrange(-2, 3))

    codes = run_workers(database, 1)

    ranks = [rank for _, _, rank in committed.conn.execute(CLAIMS)]
    assert codes == [0]
    assert ranks == list(range(1, 61))
