"""Maintenance of tables, one after the other: what fails is named, the rest goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from pycortex._maintenance import _queries
from pycortex._maintenance._analyze import analyze
from pycortex._maintenance._reindex import reindex
from pycortex._maintenance._row import Row
from pycortex._maintenance._session import Refused, Session, said, session
from pycortex.errors import JobFailed
from pycortex.progress import JobProgress

__all__ = ["ANALYZE", "REINDEX", "Work", "maintain", "session"]

GLANCE = 0.2
"""Seconds between two looks whether another job has done with a table."""


@dataclass(frozen=True, slots=True)
class Work:
    """
    One kind of maintenance.

    Attributes:
        kind: Of the job.
        doing: What is being done to a table, as a word.
        do: Does it to one table, and tells its row.
        done: The key of the result under which tables are listed that are done.
        by_partition: Whether a partitioned table is its partitions, each by itself.
        relkinds: What can be worked on, as pg_class tells it.
    """

    kind: str
    doing: str
    do: Callable[[Session, Row, int, int, int], None]
    done: str
    by_partition: bool
    relkinds: str


REINDEX = Work("reindex", "reindexing", reindex, "reindexed", by_partition=True, relkinds="rmp")
ANALYZE = Work("analyze", "analyzing", analyze, "analyzed", by_partition=False, relkinds="rmpf")


def maintain(progress: JobProgress, work: Work) -> dict[str, Any]:
    """
    Do *work* to each table of the params, each by itself.

    Params:
        tables: Names, qualified and quoted, as the spawn routine stored them.
        lock_timeout: How long each wait for a lock may take, as PostgreSQL writes it; 60s.
        statement_timeout: How long each statement may take; 0, which is no limit.

    Returns:
        The names of the tables that are done, and one row per table.

    Raises:
        JobFailed: A table failed, or was skipped by the server; says which. Its result is as if
            none had. Or somebody ended the statement or the session, and the rest is not begun.
        JobCancelled, JobStopped: Somebody wants the job's end; the statement was ended.
    """
    tables = progress.params.get("tables")
    if not isinstance(tables, list) or not tables or not all(isinstance(t, str) for t in tables):
        raise JobFailed('params: "tables" must be a list of table names')
    here = Session(progress)
    try:
        todo = _Round(here, work, tables)
        try:
            todo.go()
        except psycopg.Error as error:
            todo.cut_off(error)
            raise _failure(work, tables, todo.rows) from error
    finally:
        here.close()
    return _end(progress, work, tables, todo.rows)


def _end(progress: JobProgress, work: Work, tables: list[str], rows: list[Row]) -> dict[str, Any]:
    bad = [row for row in rows if row.outcome != "done"]
    if not bad:
        progress.step(len(rows), len(rows), f"{work.kind} complete")
        return _result(work, tables, rows)
    progress.step(len(rows) - len(bad), len(rows), f"{len(bad)} of {len(rows)} tables failed")
    raise _failure(work, tables, rows)


def _result(work: Work, tables: list[str], rows: list[Row]) -> dict[str, Any]:
    undone = {row.partition_of or row.table for row in rows if row.outcome != "done"}
    done = [table for table in dict.fromkeys(tables) if table not in undone]
    return {work.done: done, "tables": [row.plain() for row in rows]}


def _failure(work: Work, tables: list[str], rows: list[Row]) -> JobFailed:
    result = _result(work, tables, rows)
    bad = [row for row in rows if row.outcome != "done"]
    what = "; ".join(f"{row.table}: {row.reason}" for row in bad)
    rest = f"; {work.done}: {', '.join(result[work.done])}" if result[work.done] else ""
    return JobFailed(f"{len(bad)} of {len(rows)} tables failed: {what}{rest}", result=result)


class _Round:
    """All tables of one job; one that another job works on comes later."""

    def __init__(self, here: Session, work: Work, tables: list[str]) -> None:
        self.here = here
        self.work = work
        self.rows = [row for table in dict.fromkeys(tables) for row in self._expand(table)]
        self.place = 0
        self.now: Row | None = None
        self.over: list[Row] = []
        # Where a pooler lends sessions in turn, a session's own lock means nothing.
        self.locks = here.conn.prepare_threshold is not None

    def go(self) -> None:
        """
        Do all that can be done.

        Raises:
            psycopg.Error: Somebody ended the statement or the session.
        """
        busy = [row for row in self.rows if not self._turn(row, patient=False)]
        for row in busy:
            self._turn(row, patient=True)

    def cut_off(self, error: psycopg.Error) -> None:
        """Say of the tables that are left why."""
        for row in self.rows:
            if row is self.now:
                row.fail(said(error))
            elif not any(row is other for other in self.over):
                row.outcome, row.reason = "skipped", "not begun"

    def _expand(self, table: str) -> Iterator[Row]:
        found = self._find(table)
        leaves = []
        if found is not None and found[3] == "p" and self.work.by_partition:
            leaves = self.here.rows(_queries.LEAVES, found[0])
        for number, (leaf,) in enumerate(leaves):
            row = Row(leaf, partition_of=table)
            if number == 0 and found is not None:
                for (index,) in self.here.rows(_queries.INCOMPLETE, found[0]):
                    row.warn(
                        f"{index} of the partitioned table is invalid: a partition's part is"
                        " missing or not attached"
                    )
            yield row
        if not leaves:
            yield Row(table)

    def _find(self, table: str) -> Any:
        try:
            found = self.here.rows(_queries.BY_NAME, table)
        except psycopg.DataError:  # not a name at all
            return None
        return found[0] if found else None

    def _turn(self, row: Row, *, patient: bool) -> bool:
        """Do one table; returns whether that is over, not put off."""
        self.now = row
        found = self._find(row.table)
        if found is None:
            row.fail("there is no such table any more")
        elif found[3] not in self.work.relkinds:
            row.fail("it is not a table")
        else:
            key = self.here.value(_queries.KEY, found[0])
            if not self._take(key, row, patient=patient):
                return False
            if row.reason is None:
                try:
                    self._do(found[0], row)
                finally:
                    if self.locks and not self.here.conn.closed:
                        self.here.value(_queries.UNLOCK, key)
        self.place += 1
        self.over.append(row)
        self.now = None
        return True

    def _do(self, oid: int, row: Row) -> None:
        began = time.monotonic()
        self._step(f"{self.work.doing} {row.table}")
        try:
            self.work.do(self.here, row, oid, self.place, len(self.rows))
        except Refused as refused:
            row.fail(str(refused))
        row.seconds = time.monotonic() - began

    def _take(self, key: int, row: Row, *, patient: bool) -> bool:
        """
        Have a table for this job alone; with *patient*, wait for it as long as for any lock.

        Not by waiting in the server: a session that waits holds a snapshot, for whose end a REINDEX
        waits in turn.

        Returns:
            False: not yet. A row that waited in vain has failed.
        """
        began = time.monotonic()
        while self.locks and not self.here.value(_queries.TAKE, key):
            if not patient:
                return False
            holder = self.here.value(_queries.HOLDER, key) or "another session"
            limit = self.here.lock
            if 0 < limit.milliseconds <= (time.monotonic() - began) * 1000:
                row.seconds = time.monotonic() - began
                row.fail(
                    "another maintenance job works on it, for longer than the lock_timeout of"
                    f" {limit.shown}: {holder}"
                )
                return True
            self.here.pulse.check()
            self._step(f"{self.work.doing} {row.table}: waiting for {holder}")
            time.sleep(GLANCE)
        return True

    def _step(self, message: str) -> None:
        self.here.progress.step(self.place, len(self.rows), message)
