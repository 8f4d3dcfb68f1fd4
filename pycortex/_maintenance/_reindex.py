"""REINDEX CONCURRENTLY of one table, index by index, and what earlier failures left of it."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from psycopg import sql

from pycortex._maintenance import _queries
from pycortex._maintenance._row import Row
from pycortex._maintenance._session import Refused, Session, said

__all__ = ["reindex"]

_INDEXES = "select * from cortex.table_indexes(%s)"
_REBUILD = sql.SQL("reindex index concurrently {}")
_REBUILD_ALL = sql.SQL("reindex table concurrently {}")
_DROP = sql.SQL("drop index concurrently if exists {}")
_NOTHING = sql.SQL("select 1").format()


@dataclass(frozen=True, slots=True)
class _Index:
    oid: int
    name: str
    bytes: int | None
    state: str


def reindex(session: Session, row: Row, oid: int, place: int, total: int) -> None:
    """
    Rebuild each index of a table, and tell *row*.

    One after the other: what fails does not undo the rest, and the disk needs room for one more
    index at a time. Leftovers go before, since they cost every write, and after.
    """
    row.rebuilt, row.dropped = [], []
    turn = _Turn(session, row, oid, place, total)
    try:
        turn.take()
    except BaseException:
        turn.clean_up_in_haste()
        raise


class _Turn:
    def __init__(self, session: Session, row: Row, oid: int, place: int, total: int) -> None:
        self.session = session
        self.row = row
        self.oid = oid
        self.place = place
        self.total = total

    def take(self) -> None:
        indexes = self._indexes()
        self.row.bytes_before = _sum(indexes)
        self._drop([index for index in indexes if index.state == "leftover"])
        work = [index for index in indexes if index.state in ("valid", "invalid", "exclusion")]
        for index in indexes:
            if index.state == "dead":
                self.row.warn(
                    f"{index.name} is half dropped, and left so: DROP INDEX CONCURRENTLY ends it"
                )
            elif index.state == "invalid":
                self.row.warn(f"{index.name} was invalid")
        if self._must_go_whole(work):
            goes_on = self._rebuild_whole(work, indexes)
            work = [index for index in work if index.state == "invalid" and goes_on]
        for number, index in enumerate(work, 1):
            if not self._rebuild(index, f"{number} of {len(work)}"):
                if rest := ", ".join(index.name for index in work[number:]):
                    self.row.fail(f"not tried: {rest}")
                break
        if not indexes:
            self.row.warn("it has no indexes to rebuild")
        indexes = self._indexes()
        self._drop([index for index in indexes if index.state == "leftover"])
        self.row.bytes_after = _sum(self._indexes())

    def _must_go_whole(self, work: list[_Index]) -> bool:
        """Whether this role may not name the index of TOAST: only REINDEX TABLE gets there."""
        return any(
            index.name.startswith("pg_toast.") and index.state == "valid" for index in work
        ) and not self.session.value("select has_schema_privilege('pg_toast', 'usage')")

    def _rebuild_whole(self, work: list[_Index], indexes: list[_Index]) -> bool:
        """Rebuild what is valid in one statement; returns whether to go on with the rest."""
        name = self.session.rows(_queries.BY_OID, self.oid)
        if not name:
            raise Refused("there is no such table any more")
        what = f"reindexing {self.row.table}: its indexes at once, for those of TOAST"
        statement = _REBUILD_ALL.format(sql.Identifier(*name[0]))
        try:
            notices = self.session.run(statement, self.oid, (self.place, self.total, what))
        except Refused as refused:
            self.row.fail(str(refused))
            return not refused.waited
        invalid = [
            '"{}.{}"'.format(*names[0])
            for index in indexes
            if index.state in ("invalid", "leftover")
            and (names := self.session.rows(_queries.BY_OID, index.oid))
        ]
        for notice in notices:  # those that it skips as invalid come next, or are named already
            if not any(index in notice.words for index in invalid):
                self.row.warn(notice.words)
        assert self.row.rebuilt is not None  # noqa: S101
        self.row.rebuilt += [index.name for index in work if index.state == "valid"]
        return True

    def _rebuild(self, index: _Index, number: str) -> bool:
        """Rebuild one index; returns whether to go on with the next."""
        name = self.session.rows(_queries.BY_OID, index.oid)
        if not name:
            self.row.warn(f"{index.name} is gone meanwhile")
            return True
        what = f"reindexing {self.row.table}: {index.name}, {number}"
        statement = _REBUILD.format(sql.Identifier(*name[0]))
        try:
            notices = self.session.run(statement, self.oid, (self.place, self.total, what))
        except Refused as refused:
            if refused.unable and index.state == "exclusion":
                self.row.warn(f"{index.name} is not rebuilt: {refused}")
                return True
            self.row.fail(f"{index.name}: {refused}")
            return not refused.waited
        for notice in notices:
            self.row.warn(notice.words)
        assert self.row.rebuilt is not None  # noqa: S101
        self.row.rebuilt.append(index.name)
        return True

    def _indexes(self) -> list[_Index]:
        return [_Index(*values) for values in self.session.rows(_INDEXES, self.oid)]

    def _drop(self, indexes: list[_Index]) -> None:
        """Drop leftovers, without locking anybody out; say what stays."""
        for index in indexes:
            what = f"reindexing {self.row.table}: dropping {index.name}, left over"
            statement = self._drop_statement(index)
            try:
                notices = self.session.run(statement, self.oid, (self.place, self.total, what))
            except Refused as refused:
                left = indexes[indexes.index(index) :] if refused.waited else [index]
                names = ", ".join(other.name for other in left)
                self.row.warn(f"left behind: {names}, invalid: {refused}")
                if self.row.outcome == "failed":
                    self.row.fail(f"left behind: {names}, invalid")
                if refused.waited:
                    return
            else:
                # Else it was gone, or had another name: somebody's REINDEX was still at work.
                if statement is not _NOTHING and not any(notice.missing for notice in notices):
                    assert self.row.dropped is not None  # noqa: S101
                    self.row.dropped.append(index.name)

    def _drop_statement(self, index: _Index) -> sql.Composed:
        # By its name of this moment: it may have got another since it was seen.
        name = self.session.rows(_queries.BY_OID, index.oid)
        return _DROP.format(sql.Identifier(*name[0])) if name else _NOTHING

    def clean_up_in_haste(self) -> None:
        """Drop what is left over, as well as that goes when somebody wants the job's end."""
        self.session.leave_statement()
        try:
            self.session.clean(_NOTHING)
            left = [index for index in self._indexes() if index.state == "leftover"]
        except (psycopg.Error, Refused):
            return
        for index in left:
            try:
                self.session.clean(self._drop_statement(index))
            except (psycopg.Error, Refused) as error:
                reason = said(error) if isinstance(error, psycopg.Error) else error
                self.row.warn(f"left behind: {index.name}, invalid: {reason}")


def _sum(indexes: list[_Index]) -> int | None:
    """Add sizes up; unknown where one is locked at this moment."""
    sizes = [index.bytes for index in indexes]
    return None if None in sizes else sum(size for size in sizes if size is not None)
