"""How big and how long everything is: full for the record, quick for a look, tiny for the tests."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "QUICK", "SCALES", "TINY", "Scale"]


@dataclass(frozen=True, slots=True)
class Scale:
    """
    The sizes of one run.

    Attributes:
        rounds: How often each thing is measured.
        cell: Seconds that one measurement of a rate takes.
        transactions: Transactions of one run of pgbench.
        calls: Calls whose median time is one measurement.
        jobs: Finished jobs in the table that single statements work on.
        lives: Jobs that come and go while another session holds a snapshot.
        chatty: Jobs of one runner that step all the time.
        histories: Finished jobs, least first, over which a call has to be flat.
        drain: Jobs that a quick worker drains.
        slow_drain: Jobs that a slow one does, whose rate doesn't depend on how many there are.
        pickups: Single jobs that an idle worker picks up, in each round.
        beats: Heartbeats whose traces in the heap and the log are looked at.
        latencies: Rounds of what takes seconds each.
        report: Arguments for benchmarks.report; what it takes is that module's.
        imports: Arguments for benchmarks.imports.
        limit: Seconds for everything; a module that would begin later is left out, and says so.
    """

    name: str
    rounds: int
    cell: float
    transactions: int
    calls: int
    jobs: int
    lives: int
    chatty: int
    histories: tuple[int, ...]
    drain: int
    slow_drain: int
    pickups: int
    beats: int
    latencies: int
    report: tuple[str, ...]
    imports: tuple[str, ...]
    limit: float


FULL = Scale(
    name="full",
    rounds=7,
    cell=0.25,
    transactions=1500,
    calls=60,
    jobs=100_000,
    lives=100_000,
    chatty=100,
    histories=(10_000, 1_000_000, 5_000_000),
    drain=20_000,
    slow_drain=2_000,
    pickups=60,
    beats=1_000_000,
    latencies=5,
    report=("--tasks", "50000", "--messages", "1000000"),
    imports=("--logs", "10000", "--rounds", "5", "--again"),
    limit=840,
)

QUICK = Scale(
    name="quick",
    rounds=5,
    cell=0.08,
    transactions=300,
    calls=30,
    jobs=10_000,
    lives=10_000,
    chatty=50,
    histories=(10_000, 200_000),
    drain=800,
    slow_drain=100,
    pickups=9,
    beats=40_000,
    latencies=5,
    report=("--tasks", "2000", "--messages", "40000"),
    imports=("--logs", "300", "--rounds", "5"),
    limit=110,
)

TINY = Scale(
    name="tiny",
    rounds=1,
    cell=0.005,
    transactions=20,
    calls=3,
    jobs=300,
    lives=200,
    chatty=3,
    histories=(200, 400),
    drain=40,
    slow_drain=10,
    pickups=3,
    beats=400,
    latencies=1,
    report=("--tasks", "200", "--messages", "4000", "--rounds", "1"),
    imports=("--logs", "20", "--rounds", "1"),
    limit=600,
)

SCALES = {scale.name: scale for scale in (FULL, QUICK, TINY)}
