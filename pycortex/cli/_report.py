"""The cached counts of one slice of the reports, for people."""

from typing import Any

from psycopg import Connection

from pycortex import sql
from pycortex.cli._output import out, print_json, say
from pycortex.cli._table import Column, print_table
from pycortex.models import ReportRow

__all__ = ["print_report"]


def print_report(
    conn: Connection[Any],
    corpus_id: int,
    service_id: int,
    severity: str,
    *,
    as_json: bool = False,
    most: int | None = None,
) -> list[ReportRow]:
    """Print one slice, at most so many lines of it, and return all of it."""
    rows = sql.report_slice(conn, corpus_id, service_id, severity)
    if as_json:
        print_json(rows)
        return rows
    if not rows:
        say(
            "not counted yet, or forgotten since; count it with: "
            f"pycortex report populate {corpus_id} {service_id} {severity}"
        )
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
