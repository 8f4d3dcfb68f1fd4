"""The session in which a maintenance job works: bounded statements, and words for failures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.errors import Diagnostic

from pycortex._maintenance import _queries
from pycortex._maintenance._pulse import LAST_WORDS, Pulse
from pycortex._maintenance._row import Notice
from pycortex.errors import JobFailed
from pycortex.progress import JobProgress

__all__ = ["Limit", "Refused", "Session", "said", "session"]

LOCK_TIMEOUT = "60s"
"""How long each wait for a lock may take, unless params say otherwise."""

PATIENCE = 60.0
"""Seconds during which a statement that ended in a deadlock is tried again."""

CLEANING = "10s"
"""How long cleaning up waits for each lock, once somebody wants the job's end."""

MOST = 100
"""Notices of one statement that are kept."""

Step = tuple[int, int, str]


class Refused(Exception):  # noqa: N818
    """
    A statement did not succeed, and only its table is the worse for it.

    Attributes:
        waited: Whether a lock could not be had in time.
        unable: Whether the server can't do this at all.
    """

    def __init__(self, reason: str, *, waited: bool = False, unable: bool = False) -> None:
        super().__init__(reason)
        self.waited = waited
        self.unable = unable


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit as PostgreSQL shows it, and in milliseconds; 0 is none."""

    shown: str
    milliseconds: int


@contextmanager
def session(progress: JobProgress) -> Iterator[Connection[Any]]:
    """Give the job's connection, without the limits that its role may set to what takes long."""
    conn = progress.connection()
    _unbind(conn)
    yield conn


class Session:
    """
    The connection of a maintenance job, with the limits that its params ask for.

    Raises:
        JobFailed: A limit is none.
    """

    def __init__(self, progress: JobProgress) -> None:
        self.progress = progress
        self.pulse = Pulse(progress)
        self.conn = progress.connection()
        self._asked = {
            "lock_timeout": _setting(progress, "lock_timeout", LOCK_TIMEOUT),
            "statement_timeout": _setting(progress, "statement_timeout", "0"),
        }
        try:
            for name, value in self._asked.items():
                _set(self.conn, name, value)
        except psycopg.DataError as error:
            raise JobFailed(f"params: {said(error)}") from None
        limits = {
            name: Limit(shown, number) for name, shown, number in self.conn.execute(_queries.LIMITS)
        }
        self.lock, self.statement = limits["lock_timeout"], limits["statement_timeout"]
        _unbind(self.conn)

    def rows(self, query: str, *values: Any) -> list[Any]:
        """
        Ask something short.

        Raises:
            Refused: It wants a lock that it can't have in time.
        """
        try:
            return self.conn.execute(query.encode(), values).fetchall()
        except psycopg.errors.LockNotAvailable as error:
            raise Refused(said(error), waited=True) from None

    def value(self, query: str, *values: Any) -> Any:
        """Ask for one value; None where there is no row."""
        found = self.rows(query, *values)
        return found[0][0] if found else None

    def run(self, statement: sql.Composed, oid: int, step: Step) -> list[Notice]:
        """
        Run a statement that may take hours, about the table *oid*.

        Returns:
            What the server noticed.

        Raises:
            Refused: It failed; says why.
            psycopg.Error: The session is lost, or somebody cancelled the statement.
            JobCancelled, JobStopped: Somebody wants the job's end.
        """
        until = time.monotonic() + PATIENCE
        while True:
            began = time.monotonic()
            try:
                with self._noticed() as notices, self.pulse.over(self.conn, step):
                    self._limited(statement)
                return notices
            except psycopg.errors.DeadlockDetected as error:
                # A REINDEX waits for all older snapshots, and somebody's ANALYZE of the same table
                # holds one while it waits for the REINDEX. Whom the server sends away comes again.
                if time.monotonic() > until:
                    raise Refused(said(error)) from None
                time.sleep(0.2)
            except psycopg.Error as error:
                if self.conn.broken:
                    raise
                raise self._judge(error, oid, time.monotonic() - began) from None

    def clean(self, statement: sql.Composed) -> None:
        """
        Run a short statement when somebody wants the job's end; nothing bounds it but locks.

        Raises:
            psycopg.Error: It failed.
        """
        if self.conn.closed:
            self.conn = self.progress.connection(new=True)
            _unbind(self.conn)
        _set(self.conn, "lock_timeout", CLEANING)
        try:
            self.conn.execute(statement)
        except psycopg.errors.QueryCanceled:  # meant for the statement before
            self.conn.execute(statement)

    def leave_statement(self) -> None:
        """End a statement out of which an exception led that isn't the server's."""
        if self.conn.info.transaction_status is psycopg.pq.TransactionStatus.ACTIVE:
            with suppress(psycopg.Error):
                self.conn.cancel_safe(timeout=LAST_WORDS)
            self.conn.close()

    def in_the_way(self, oid: int) -> str:
        """Name who is in the way on a table; empty where nobody is seen."""
        ours = [self.conn.info.backend_pid, *self.pulse.pids()]
        query = _queries.IN_THE_WAY.encode()
        row = self.conn.execute(query, {"oid": oid, "ours": ours}).fetchone()
        return "" if row is None else str(row[0])

    def close(self) -> None:
        """Stop the pulse; the connection is the job's."""
        self.pulse.close()

    def _limited(self, statement: sql.Composed) -> None:
        if not self.statement.milliseconds:
            self.conn.execute(statement)
            return
        _set(self.conn, "statement_timeout", self._asked["statement_timeout"])
        try:
            self.conn.execute(statement)
        finally:
            if self.conn.info.transaction_status is psycopg.pq.TransactionStatus.IDLE:
                _set(self.conn, "statement_timeout", "0")

    def _judge(self, error: psycopg.Error, oid: int, elapsed: float) -> Exception:
        match error:
            case psycopg.errors.QueryCanceled():
                try:
                    self.pulse.check()
                except BaseException as told:
                    raise told from None
                limit = self.statement
                if limit.milliseconds and elapsed * 1000 >= limit.milliseconds:
                    return Refused(
                        f"reached the statement_timeout of {limit.shown}, after {elapsed:.1f} s"
                    )
                return error  # somebody wants the job to end, not just this table
            case psycopg.errors.LockNotAvailable():
                blocker = self.in_the_way(oid) or self.pulse.blocker
                reason = f"waited longer than the lock_timeout of {self.lock.shown} for a lock"
                reason += f", {elapsed:.1f} s in all"
                return Refused(
                    reason + (f"; in the way is {blocker}" if blocker else ""), waited=True
                )
        return Refused(said(error), unable=isinstance(error, psycopg.errors.FeatureNotSupported))

    @contextmanager
    def _noticed(self) -> Iterator[list[Notice]]:
        notices: list[Notice] = []

        def hear(said: Diagnostic) -> None:
            notice = Notice.of(said)
            if len(notices) < MOST or notice.skips:  # a function of an index may warn at every row
                notices.append(notice)

        self.conn.add_notice_handler(hear)
        try:
            yield notices
        finally:
            self.conn.remove_notice_handler(hear)


def said(error: psycopg.Error) -> str:
    """Give the server's own words."""
    words = error.diag.message_primary or str(error) or type(error).__name__
    return f"{words} ({error.diag.message_detail})" if error.diag.message_detail else words


def _unbind(conn: Connection[Any]) -> None:
    conn.execute(_queries.UNBIND)


def _set(conn: Connection[Any], name: str, value: str) -> None:
    conn.execute("select set_config(%s, %s, false)", [name, value])


def _setting(progress: JobProgress, name: str, default: str) -> str:
    value = progress.params.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise JobFailed(f'params: "{name}" must be a span such as "90s", or 0 for none')
    return str(value)
