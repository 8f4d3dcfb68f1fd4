"""
What counting a report costs: against the plain statement, in rounds that alternate.

    python -m benchmarks.report --tasks 1000000 --messages 20000000

The data: each task has about as many messages of severity info as the others, near each other on
disk; "what" has 20,000 values, some much more frequent than others, in 50 categories. Every way is
compared with the plain statement, row by row, after each time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from pycortex import sql
from pycortex._populate import _Ranges
from pycortex.install import install
from tests.servers import own_server

SLICE = (1, 1, "info")

PLAIN = """
select
    (case grouping(l.category, l.what) when 0 then 'what' when 1 then 'category' else 'total' end)
        ::corpus.grain as grain,
    l.category,
    l.what,
    count(distinct t.id) as task_count,
    count(*) as message_count
from corpus.tasks as t
join corpus.log_infos as l on l.task_id = t.id
where t.corpus_id = 1 and t.service_id = 1 and t.status between -4 and -1
group by rollup (l.category, l.what)
"""

CACHED = """
select grain, category, what, task_count, message_count
from corpus.report_grain_cache
where corpus_id = 1 and service_id = 1 and severity = 'info'
"""

DIFFERENT = f"""
select count(*) from (
    ((table public.plain) except all ({CACHED}))
    union all
    (({CACHED}) except all (table public.plain))
) as d
"""  # noqa: S608 - our own words

TASKS = """
insert into corpus.tasks (corpus_id, service_id, status, entry)
select
    1,
    1,
    case when i %% 50 = 0 then 0 when i %% 100 = 1 then -5 else -1 - i %% 4 end,
    'document ' || i
from generate_series(1, %s) as i
"""

MESSAGES = """
insert into corpus.log_infos (task_id, category, what, details)
select g * %(tasks)s::bigint / %(messages)s + 1, 'category ' || w %% 50, 'what ' || w, ''
from (
    select g, floor(random() ^ 2 * 20000)::integer as w
    from generate_series(0, %(messages)s::bigint - 1) as g
) as m
"""

CHANGE = (
    """
    create temporary table picked on commit drop as
    select id from corpus.tasks where status between -4 and -1 and random() < %s
    """,
    """
    delete from corpus.log_infos where id in (
        select min(l.id) from corpus.log_infos as l join picked as p on p.id = l.task_id
        group by l.task_id
    )
    """,
    """
    insert into corpus.log_infos (task_id, category, what, details)
    select id, 'category ' || w %% 50, 'what ' || w, ''
    from (select id, floor(random() ^ 2 * 20000)::integer as w from picked where %s < 1) as p
    """,
)


class Bench:
    """A database with data, and the ways to count it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.conn = self.connect()
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.processor: dict[str, list[float]] = defaultdict(list)
        self.different = 0

    def connect(self) -> psycopg.Connection[Any]:
        conn = psycopg.connect(self.url, autocommit=True)
        conn.execute("set work_mem = '4MB'")
        return conn

    def load(self, tasks: int, messages: int) -> None:
        say(f"loading {tasks:,} tasks with {messages:,} messages")
        sql.open_corpus(self.conn, "bench")
        sql.open_service(self.conn, "bench")
        self.conn.execute(TASKS, [tasks])
        self.conn.execute(MESSAGES, {"tasks": tasks, "messages": messages})

    def temporary_files(self) -> int:
        self.conn.execute("select pg_stat_clear_snapshot()")
        (files,) = self.conn.execute(
            "select temp_files from pg_stat_database where datname = current_database()"
        ).fetchone() or (0,)
        return int(files)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        began, before = time.perf_counter(), processor_time(self.conn)
        yield
        self.seconds[name].append(time.perf_counter() - began)
        self.processor[name].append(processor_time(self.conn) - before)
        say(
            f"{name}: {self.seconds[name][-1]:.2f} s, {self.processor[name][-1]:.2f} s of processor"
        )

    def plain(self, *, parallel: bool = True) -> None:
        """The plain statement; in one process, as an insert into a table has it, or in several."""
        name = "plain, parallel" if parallel else "plain"
        self.conn.execute("drop table if exists public.plain")
        self.conn.execute(
            "select set_config('max_parallel_workers_per_gather', %s, false)",
            ["2" if parallel else "0"],
        )
        with self.timed(name):
            self.conn.execute(f"create unlogged table public.plain as {PLAIN}")

    def check(self, name: str) -> None:
        (rows,) = self.conn.execute(DIFFERENT).fetchone() or (0,)
        if rows:
            self.different += rows
            say(f"{name}: {rows} rows differ from the plain statement")

    def one(self) -> None:
        sql.forget_grains(self.conn, *SLICE[:2])
        with self.timed("one connection"):
            sql.populate_scope(self.conn, *SLICE)
        self.check("one connection")

    def two(self, *, keeps: bool = False) -> None:
        name = "keeping, two connections" if keeps else "two connections"
        with self.timed(name), self.connect() as other:
            run = sql.begin_run(self.conn, *SLICE, keeps=keeps)
            ranges = _Ranges(run, sql.keep_range if keeps else sql.count_range)
            thread = threading.Thread(target=ranges.count_all, args=(other,))
            thread.start()
            ranges.count_all(self.conn)
            thread.join()
            ranges.raise_trouble()
            sql.finish_run(self.conn, run.run)
        self.check(name)

    def again(self) -> None:
        sql.invalidate_scope(self.conn, *SLICE[:2])
        with self.timed("from kept grains"):
            sql.populate_scope(self.conn, *SLICE)
        self.check("from kept grains")

    def change(self, share: float) -> None:
        with self.conn.transaction():
            for statement in CHANGE:
                self.conn.execute(statement, [share] if "%s" in statement else None)

    def after_change(self) -> None:
        with self.timed("after 1 % changed"):
            sql.populate_scope(self.conn, *SLICE)

    def write(self, name: str, rows: int) -> None:
        with self.conn.transaction(force_rollback=True):
            (first,) = self.conn.execute("select max(id) from corpus.tasks").fetchone() or (0,)
            with (
                self.timed(name),
                self.conn.cursor().copy(
                    "copy corpus.log_infos (task_id, category, what, details) from stdin"
                ) as copy,
            ):
                for row in range(rows):
                    copy.write_row((first - row // 20 % first, "category 1", "what 1", ""))

    def ratio(self, name: str, over: str = "plain") -> dict[str, Any]:
        of = statistics.median(self.seconds[over]) / statistics.median(self.seconds[name])
        busy = statistics.median(self.processor[over]), statistics.median(self.processor[name])
        return {
            "ratio": round(of, 2),
            "ratio of processor time": round(busy[0] / busy[1], 2) if busy[1] else None,
            "seconds": [round(value, 3) for value in sorted(self.seconds[name])],
            "against": [round(value, 3) for value in sorted(self.seconds[over])],
        }


def processor_time(conn: psycopg.Connection[Any]) -> float:
    """
    Seconds of processor that the session has used; 0 where that can't be seen.

    On a machine that others use as well its ratios are steadier than those of the clock. Of two
    sessions it is that of the first.
    """
    try:
        fields = Path(f"/proc/{conn.info.backend_pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def measure(bench: Bench, rounds: int, *, parallel: bool) -> dict[str, Any]:
    """Measure everything; the ratios of medians by name."""
    files: dict[str, int] = {}

    def quiet(name: str, act: Callable[[], None]) -> None:
        before = bench.temporary_files()
        act()
        time.sleep(1)  # the server's own books are that late
        files[name] = files.get(name, 0) + bench.temporary_files() - before

    for _ in range(rounds):
        if parallel:
            bench.plain(parallel=True)
        bench.plain(parallel=False)
        quiet("one connection", bench.one)
        quiet("two connections", bench.two)
    first = {name: list(values) for name, values in bench.seconds.items()}
    bench.two(keeps=True)
    bench.seconds["plain"] = []
    for _ in range(rounds):
        bench.change(0.01)
        bench.plain(parallel=False)
        quiet("after 1 % changed", bench.after_change)
        bench.check("after 1 % changed")
        quiet("from kept grains", bench.again)
    kept = bench.ratio("from kept grains"), bench.ratio("after 1 % changed")
    bench.seconds["plain"] = first["plain"]
    rows = 100_000
    for _ in range(rounds):
        bench.write("COPY, noted by task", rows)
        bench.conn.execute("alter table corpus.log_infos disable trigger log_infos_note_insert")
        bench.write("COPY, not noted", rows)
        bench.conn.execute("alter table corpus.log_infos enable trigger log_infos_note_insert")
    beside = {
        f"{name}, against the plain one in parallel": bench.ratio(name, "plain, parallel")
        for name in ("one connection", "two connections")
        if parallel
    }
    (kept_bytes,) = bench.conn.execute(
        "select pg_total_relation_size('corpus.kept_task')"
    ).fetchone() or (0,)
    return {
        "one connection": bench.ratio("one connection"),
        "two connections": bench.ratio("two connections"),
        **beside,
        "from kept grains": kept[0],
        "after 1 % changed": kept[1],
        "COPY, noted by task": bench.ratio("COPY, not noted", "COPY, noted by task"),
        "keeping": [round(value, 3) for value in bench.seconds["keeping, two connections"]],
        "kept bytes": kept_bytes,
        "temporary files": files,
        "rows that differ": bench.different,
    }


@contextmanager
def scratch() -> Iterator[str]:
    """A database on a server of its own, with everything installed; its URL."""
    server = own_server()
    try:
        server.configure(shared_buffers="1GB", max_wal_size="4GB")
        server.restart()
        url = server.create("report")
        install(url)
        yield url
    finally:
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--analyze", action="store_true", help="fresh statistics after the load")
    parser.add_argument(
        "--parallel", action="store_true", help="the plain statement with parallel workers as well"
    )
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--url", help="a database that has such data already, instead of loading")
    arguments = parser.parse_args()
    if arguments.url:
        bench = Bench(arguments.url)
        figures = measure(bench, arguments.rounds, parallel=arguments.parallel)
    else:
        with scratch() as url:
            bench = Bench(url)
            bench.load(arguments.tasks, arguments.messages)
            if arguments.analyze:
                bench.conn.execute("analyze")
            figures = measure(bench, arguments.rounds, parallel=arguments.parallel)
    figures |= {
        "tasks": arguments.tasks,
        "messages": arguments.messages,
        "rounds": arguments.rounds,
    }
    for name, value in figures.items():
        print(f"{name}: {json.dumps(value)}")  # noqa: T201
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if bench.different:
        sys.exit(1)


if __name__ == "__main__":
    main()
