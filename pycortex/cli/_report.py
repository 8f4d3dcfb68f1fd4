"""The cached counts of one slice of the reports, for people."""

from datetime import timedelta
from typing import Any

import psycopg
from psycopg import Connection

from pycortex import sql
from pycortex.cli._output import out, print_json, say
from pycortex.cli._table import Column, print_table
from pycortex.models import ReportAnswer, ReportRow

__all__ = ["ask_for", "print_report"]


def ask_for(
    conn: Connection[Any],
    slice_: tuple[int, int, str],
    *,
    wait: bool,
    budget: float,
    actor: str | None,
) -> ReportAnswer | None:
    """Have a slice counted, if it has to be; None where that was not asked or may not be."""
    if not budget and not wait:
        return None
    try:
        return sql.count_now(conn, *slice_, budget=timedelta(seconds=budget), actor=actor)
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction):
        if wait:
            raise
        return None  # whoever may only look sees what is there


def print_report(
    conn: Connection[Any],
    corpus_id: int,
    service_id: int,
    severity: str,
    *,
    as_json: bool = False,
    most: int | None = None,
    answer: ReportAnswer | None = None,
) -> list[ReportRow]:
    """
    Print one slice, at most so many lines of it, and return all of it.

    Args:
        answer: What became of a wish to have it counted, to be told where it isn't there.
    """
    rows = sql.report_slice(conn, corpus_id, service_id, severity)
    counting = answer.uuid if answer is not None and not answer.ready else None
    if as_json:
        print_json(rows)
    if not rows:
        if counting is not None:
            say(f"not counted yet; job {counting} does it: pycortex wait {counting}")
        elif not as_json:
            say(
                "not counted yet, or forgotten since; count it with: "
                f"pycortex report populate {corpus_id} {service_id} {severity}"
            )
        return rows
    if rows[0].stale:
        told = f"job {counting} counts it anew" if counting else "data changed since"
        say(f"counted at {rows[0].computed_at.isoformat(' ', 'seconds')}, stale: {told}")
    if as_json:
        return rows
    print_table(
        (
            Column("CATEGORY", least=10),
            Column("WHAT", least=10),
            Column("TASKS", right=True),
            Column("MESSAGES", right=True),
        ),
        [_cells(row) for row in rows[:most]],
    )
    if most is not None and len(rows) > most:
        out(f"and {len(rows) - most} more rows")
    return rows


def _cells(row: ReportRow) -> list[str]:
    numbers = [str(row.task_count), str(row.message_count)]
    if row.grain == "total":
        return ["total", "", *numbers]
    category = "(none)" if row.category is None else row.category
    if row.grain == "category":
        return [category, "", *numbers]
    return ["", "(none)" if row.what is None else row.what, *numbers]
