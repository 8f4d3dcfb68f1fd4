"""
What heartbeats leave behind: whether they stay heap-only, and what they cost in heap and log.

A hundred running jobs among 20,000 that are over; pgbench steps them from four sessions that don't
wait for the disk.
"""

from __future__ import annotations

import time

import psycopg

from benchmarks.harness import Sheet, Wanted, rounds
from benchmarks.server import Bench, fill

__all__ = ["TITLE", "WANTED", "run"]

TITLE = "Heartbeats"
ACTIVE = 200
HISTORY = 20_000
CLIENTS = 4
PORTIONS = 5

WANTED = [
    Wanted("beats.hot", "share of heap-only updates", "%", at_least=99),
    Wanted("beats.heap", "heap afterwards / before", at_most=1.3),
    Wanted("beats.total", "heap and indexes afterwards / before"),
    Wanted("beats.wal", "log written by a heartbeat", "B", at_most=350),
    Wanted("beats.wide", "rate with params of 100 kB / of 10 B", at_least=0.85),
]

STEP = f"""
\\set n 1 + 2 * random(0, {ACTIVE // 2 - 1})
\\set current random(1, 1000000)
select cortex.step(
    job => lpad(to_hex(:n::integer), 32, '0')::uuid,
    current => :current::bigint,
    total => 1000000,
    message => 'at work',
    attempt => 1
)
"""

WIDEN = """
update cortex.job
set params = jsonb_build_object(
    'blob', (
        select string_agg(md5(random()::text), '')
        from generate_series(1, 3125)
    )
)
where status in ('queued', 'running')
"""


def run(bench: Bench, sheet: Sheet) -> None:
    """Measure all of it."""
    if bench.pgbench_program is None:
        sheet.skip("this PostgreSQL comes without pgbench")
        return
    with bench.database("beats") as slim, bench.database("wide") as wide:
        with bench.careless():
            for url in (slim, wide):
                with psycopg.connect(url, autocommit=True) as conn:
                    fill(conn, HISTORY, ACTIVE)
                    if url is wide:
                        conn.execute(WIDEN)
                    conn.execute("vacuum (analyze) cortex.job")
        portion = max(1, bench.scale.beats // PORTIONS // CLIENTS)
        traces(bench, sheet, slim, portion)
        found = rounds(
            max(PORTIONS, bench.scale.rounds) if bench.scale.rounds > 1 else 1,
            {
                "wide": lambda: step(bench, wide, bench.scale.transactions),
                "slim": lambda: step(bench, slim, bench.scale.transactions),
            },
        )
    sheet.ratio("beats.wide", found["wide"], found["slim"], names=("100 kB", "10 B"))


def step(bench: Bench, url: str, transactions: int) -> float:
    """Send heartbeats; returns how many a second."""
    return bench.pgbench(
        url, STEP, clients=CLIENTS, transactions=transactions,
        settings={"synchronous_commit": "off"},
    )  # fmt: skip


def traces(bench: Bench, sheet: Sheet, url: str, portion: int) -> None:
    """Send all of them, in portions, and look at what changed."""
    hot, wal, heaps, totals = [], [], [], []
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("checkpoint")
        first = sizes(conn)
        for _ in range(PORTIONS):
            updates, kept, start = counts(conn)
            step(bench, url, portion)
            sent = portion * CLIENTS
            after, kept_after, end = counts(conn, at_least=updates + sent)
            hot.append(100 * (kept_after - kept) / (after - updates))
            wal.append((end - start) / sent)
        heap, total = sizes(conn)
        heaps.append(heap / first[0])
        totals.append(total / first[1])
    note = f"{PORTIONS * portion * CLIENTS:,} over {ACTIVE // 2} jobs"
    sheet.values("beats.hot", hot, note=note)
    sheet.values("beats.heap", heaps, note=note)
    sheet.values("beats.total", totals, note=note)
    sheet.values("beats.wal", wal, note=note)


def sizes(conn: psycopg.Connection[tuple[int, int]]) -> tuple[int, int]:
    """Bytes of the heap, and with its indexes."""
    [row] = conn.execute(
        "select pg_relation_size('cortex.job'), pg_total_relation_size('cortex.job')"
    ).fetchall()
    return row


def counts(
    conn: psycopg.Connection[tuple[int, int]], *, at_least: int = 0
) -> tuple[int, int, float]:
    """Updates, those that were heap-only, and where the log is; when that many are counted."""
    deadline = time.monotonic() + 5
    while True:
        conn.execute("select pg_stat_clear_snapshot()")
        [row] = conn.execute(
            "select n_tup_upd, n_tup_hot_upd, (pg_current_wal_insert_lsn() - '0/0')::float8"
            " from pg_stat_user_tables where relid = 'cortex.job'::regclass"
        ).fetchall()
        if row[0] >= at_least or time.monotonic() > deadline:
            return row
        time.sleep(0.05)
