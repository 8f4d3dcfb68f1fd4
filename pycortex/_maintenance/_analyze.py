"""ANALYZE of one table, with its partitions if it has any."""

from __future__ import annotations

from psycopg import sql

from pycortex._maintenance import _queries
from pycortex._maintenance._row import Row
from pycortex._maintenance._session import Refused, Session

__all__ = ["analyze"]

_TREE_BYTES = "select cortex.tree_bytes(%s)"
_STATEMENT = sql.SQL("analyze {}")


def analyze(session: Session, row: Row, oid: int, place: int, total: int) -> None:
    """
    Refresh the statistics of a table, and tell *row*.

    Raises:
        Refused: It failed.
    """
    name = session.rows(_queries.BY_OID, oid)
    if not name:
        raise Refused("there is no such table any more")
    row.bytes_before = row.bytes_after = session.value(_TREE_BYTES, oid)
    statement = _STATEMENT.format(sql.Identifier(*name[0]))
    notices = session.run(statement, oid, (place, total, f"analyzing {row.table}"))
    for notice in notices:
        row.warn(notice.words)
    if skipped := [notice for notice in notices if notice.skips]:
        row.outcome = "skipped"
        row.reason = "; ".join(dict.fromkeys(notice.words for notice in skipped))
    row.bytes_after = session.value(_TREE_BYTES, oid)
