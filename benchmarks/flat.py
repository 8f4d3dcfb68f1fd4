"""
What the size of the history costs: the same calls with few finished jobs and with many.

One database for each size, all on one server, called in turn. In each, 200 jobs are active, half of
them running, and of the finished ones a hundredth is from the last day, a twentieth failed.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from benchmarks.harness import Sheet, Wanted, milliseconds, rounds
from benchmarks.server import Bench, fill

__all__ = ["TITLE", "WANTED", "run"]

TITLE = "Flat as history grows"
ACTIVE = 200
STALE = 10, 100

WANTED = [
    Wanted("flat.list", "list_recent(active_only), most history / least", at_most=1.1),
    Wanted("flat.list_all", "list_recent, most history / least"),
    Wanted("flat.hit", "spawn_job, debounced, hit, most history / least", at_most=2),
    Wanted("flat.new", "spawn_job, debounced, new, most history / least", at_most=2),
    Wanted("flat.find", "find_job, most history / least", at_most=1.3),
    Wanted("flat.claim", "claim_jobs, most history / least", at_most=1.25),
    Wanted("flat.reap", "reap_stale, nothing stale, most history", "ms", at_most=0.1),
    Wanted("flat.reap.ratio", "reap_stale, nothing stale, most history / least"),
    *(
        Wanted(
            f"flat.reap{n}", f"reap_stale, {n} stale, most history", "ms", at_most=0.2 + 0.02 * n
        )
        for n in STALE
    ),
    Wanted(
        "flat.count.day", "plain count / count_recent_with_status, 1 % in the window", at_least=15
    ),
    Wanted(
        "flat.count.all", "plain count / count_recent_with_status, all in the window", at_least=15
    ),
    Wanted("flat.count.day.ms", "count_recent_with_status, 1 % in the window", "ms", at_most=1),
    Wanted("flat.count.all.ms", "count_recent_with_status, all in the window", "ms", at_most=1),
]

LIST = "select * from cortex.list_recent(active_only => %s, max_rows => 200)"
SPAWN = (
    "select uuid, created from cortex.spawn_job("
    "kind => 'bench', actor => 'ada', debounce_scope => %s)"
)
FIND = "select * from cortex.find_job(job => %s)"
CLAIM = "select * from cortex.claim_jobs(runner => %s, kinds => array['bench'], max_jobs => 1)"
REAP = "select cortex.reap_stale()"
COUNT = "select cortex.count_recent_with_status(status => 'failed', hours => %s)"

# The original's table, as far as its count can see: the same rows, and an index on the state and on
# the moment of creation.
ORIGINAL = """
create schema original;
create table original.jobs (
    id bigint primary key,
    job_id uuid not null unique,
    kind text not null,
    status text not null,
    progress_current integer not null,
    progress_total integer,
    message text not null,
    actor text not null,
    params jsonb not null,
    result jsonb,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    finished_at timestamptz
);
insert into original.jobs
select
    id, uuid, kind, status::text, progress_current, progress_total, message, actor, params, result,
    created_at, updated_at, finished_at
from cortex.job
order by id;
create index on original.jobs (kind);
create index on original.jobs (status);
create index on original.jobs (created_at);
"""
PLAIN_COUNT = "select count(*) from original.jobs where status = 'failed' and created_at > %s"
SINCE = "select clock_timestamp() - make_interval(hours => %s)"
DAY, EVER = 24, 24 * 1000


class Place:
    """A database with a history, and a session in it."""

    def __init__(self, conn: psycopg.Connection[Any], finished: int) -> None:
        self.conn = conn
        self.finished = finished
        self._numbers = itertools.count(1)
        fill(conn, finished, ACTIVE)
        self.known = [
            row[0]
            for row in conn.execute(
                "select uuid from cortex.job tablesample bernoulli (%s) limit 5000",
                [min(100.0, 100 * 5000 / finished)],
            ).fetchall()
        ]
        [self.runner] = one(conn, "select cortex.register_runner('bench', 'here', 1)")

    def list(self, calls: int, *, active: bool) -> float:
        """Newest jobs."""
        return milliseconds(lambda: self.conn.execute(LIST, [active]).fetchall(), calls)

    def find(self, calls: int) -> float:
        """Any job."""
        return milliseconds(
            lambda: self.conn.execute(FIND, [random.choice(self.known)]).fetchall(),  # noqa: S311
            calls,
        )

    def hit(self, calls: int) -> float:
        """A job that stands there."""
        scope = Jsonb({"n": random.randint(1, ACTIVE)})  # noqa: S311
        return milliseconds(lambda: self.conn.execute(SPAWN, [scope]).fetchall(), calls)

    def new(self, calls: int) -> float:
        """A job in a new scope; the call without its commit, and the job goes again."""
        return self._undone(
            lambda: self.conn.execute(SPAWN, [Jsonb({"k": next(self._numbers)})]).fetchall(), calls
        )

    def claim(self, calls: int) -> float:
        """One job, and back again."""
        return self._undone(lambda: self.conn.execute(CLAIM, [self.runner]).fetchall(), calls)

    def reap(self, calls: int) -> float:
        """Nothing is stale."""
        return milliseconds(lambda: self.conn.execute(REAP), calls)

    def reap_stale(self, calls: int, stale: int) -> float:
        """Some are, and are back again."""

        def backdate() -> None:
            self.conn.execute(
                "update cortex.job set updated_at = updated_at - interval '1 day'"
                " where uuid = any(%s)",
                [[UUID(int=1 + 2 * n) for n in range(stale)]],
            )

        def reap() -> None:
            [count] = one(self.conn, REAP)
            if count != stale:
                raise RuntimeError(f"reap_stale ended {count} jobs instead of {stale}")

        return self._undone(reap, calls, before=backdate)

    def count(self, calls: int, hours: int) -> float:
        """Failed jobs of a window."""
        return milliseconds(lambda: self.conn.execute(COUNT, [hours]).fetchall(), calls)

    def plain_count(self, calls: int, hours: int) -> float:
        """The same as the original counts, whose window is told by its client."""

        def count() -> None:
            [since] = one(self.conn, SINCE, [hours])
            self.conn.execute(PLAIN_COUNT, [since]).fetchall()

        return milliseconds(count, calls)

    def check_counts(self) -> None:
        """
        See that both count the same.

        Raises:
            RuntimeError: They don't.
        """
        for hours in (DAY, EVER):
            with self.conn.transaction():
                self.conn.execute("set transaction isolation level repeatable read")
                # A job on the edge may leave the window between the two.
                for _ in range(3):
                    [since] = one(self.conn, SINCE, [hours])
                    [ours] = one(self.conn, COUNT, [hours])
                    [plain] = one(self.conn, PLAIN_COUNT, [since])
                    if ours == plain:
                        break
                else:
                    raise RuntimeError(f"{ours} jobs counted in {hours} h, there are {plain}")

    def _undone(
        self, work: Callable[[], object], calls: int, *, before: Callable[[], object] | None = None
    ) -> float:
        times = []
        for _ in range(calls):
            with self.conn.transaction(force_rollback=True):
                if before is not None:
                    before()
                started = time.perf_counter()
                work()
                times.append(time.perf_counter() - started)
        return 1000 * sorted(times)[len(times) // 2]


def one(conn: psycopg.Connection[Any], statement: str, arguments: Sequence[Any] = ()) -> Any:
    """The only row of an answer."""
    [row] = conn.execute(statement, arguments).fetchall()
    return row


def run(bench: Bench, sheet: Sheet) -> None:
    """Measure all of it."""
    with ExitStack() as stack:
        with bench.careless():
            opened = [session(bench, stack) for _ in bench.scale.histories]
            with ThreadPoolExecutor(2) as fillers:
                # The greatest first, so that the others are filled beside it.
                places = list(fillers.map(Place, opened, reversed(bench.scale.histories)))
            places.reverse()
            most = places[-1]
            for statement in ORIGINAL.strip().split(";\n"):
                most.conn.execute(statement)
            most.conn.execute("vacuum (freeze, analyze) original.jobs")
        measure(bench, sheet, places)


def session(bench: Bench, stack: ExitStack) -> psycopg.Connection[Any]:
    """A session in a new database; both go with *stack*."""
    url = stack.enter_context(bench.database("flat"))
    return stack.enter_context(psycopg.connect(url, autocommit=True, prepare_threshold=0))


def measure(bench: Bench, sheet: Sheet, places: list[Place]) -> None:
    """Call everything everywhere, in turn."""
    calls = bench.scale.calls
    few = max(3, calls // 6)
    most = places[-1]
    cells: dict[str, Callable[[], float]] = {}
    for place in places:
        each: dict[str, Callable[[], float]] = {
            "list": lambda place=place: place.list(few, active=True),
            "list_all": lambda place=place: place.list(few, active=False),
            "hit": lambda place=place: place.hit(calls),
            "new": lambda place=place: place.new(calls),
            "find": lambda place=place: place.find(2 * calls),
            "claim": lambda place=place: place.claim(few),
            "reap": lambda place=place: place.reap(2 * calls),
            **{
                f"reap{n}": lambda place=place, n=n: place.reap_stale(max(3, few // 2), n)
                for n in STALE
            },
            "count.day": lambda place=place: place.count(few, DAY),
            "count.all": lambda place=place: place.count(3, EVER),
        }
        cells |= {f"{name} {place.finished}": cell for name, cell in each.items()}
    cells["plain.day"] = lambda: most.plain_count(few, DAY)
    cells["plain.all"] = lambda: most.plain_count(1, EVER)
    found = rounds(bench.scale.rounds, in_pairs(cells))

    sizes = [place.finished for place in places]

    def parts(name: str) -> dict[str, list[float]]:
        return {f"{size:,} jobs, ms": found[f"{name} {size}"] for size in sizes}

    def growth(name: str) -> list[float]:
        both = zip(found[f"{name} {sizes[-1]}"], found[f"{name} {sizes[0]}"], strict=True)
        return [big / small for big, small in both]

    for name in ("list", "list_all", "hit", "new", "find", "claim"):
        sheet.values(f"flat.{name}", growth(name), parts=parts(name))
    sheet.values("flat.reap.ratio", growth("reap"), parts=parts("reap"))
    for name in ("reap", *(f"reap{n}" for n in STALE)):
        sheet.values(f"flat.{name}", found[f"{name} {sizes[-1]}"], parts=parts(name))
    try:
        most.check_counts()
    except RuntimeError as error:
        sheet.skip(str(error), *(one.key for one in WANTED if ".count." in one.key))
        return
    for window in ("day", "all"):
        ours = found[f"count.{window} {sizes[-1]}"]
        plain = found[f"plain.{window}"]
        sheet.values(
            f"flat.count.{window}",
            [slow / quick for slow, quick in zip(plain, ours, strict=True)],
            parts={"original, ms": plain, "count_recent_with_status, ms": ours},
            note="both count the same",
        )
        sheet.values(f"flat.count.{window}.ms", ours, parts=parts(f"count.{window}"))


def in_pairs(cells: dict[str, Callable[[], float]]) -> dict[str, Callable[[], float]]:
    """Sort so that the same call in different databases follows at once."""
    return dict(sorted(cells.items(), key=lambda item: item[0].partition(" ")[0]))
