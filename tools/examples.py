"""
Examples in SQL, run like psql would, with the same output at every run.

A file may start with what has to be there first, which isn't shown; then "-- Example" alone on a
line. Statements end with a semicolon at the end of a line, or with \\gset, which puts the columns
of their row into variables, used as :'name'.
"""

from __future__ import annotations

import re
from typing import Any

import psycopg
from psycopg.pq import ExecStatus

DIVIDER = "-- Example\n"
STATEMENT = re.compile(
    r"\s*(?P<text>\S.*?)(?P<end>;|\s*\\gset)[ ]*(?:--[^\n]*)?(?:\n|$)", re.DOTALL
)
UUID = re.compile(r"\b(?!00000000-)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\+00\b")
NUMBERS = {20, 21, 23, 26, 700, 701, 1700}
"""Types that psql puts to the right."""


def play(url: str, text: str) -> str:
    """
    Run the example *text* in a transaction that is rolled back.

    Returns:
        Its statements and what psql prints of them, times and uuids masked.
    """
    setup, divider, shown = text.partition(DIVIDER)
    if not divider:
        setup, shown = "", text
    with psycopg.connect(url) as conn:
        conn.execute("set time zone 'UTC'")
        variables: dict[str, str] = {}
        masks: dict[str, str] = {}
        for match in STATEMENT.finditer(setup):
            run(conn, match, variables, masks)
        said = []
        for match in STATEMENT.finditer(shown):
            said += [match[0].strip(), run(conn, match, variables, masks)]
        conn.rollback()
    return "\n".join(part for part in said if part).rstrip()


def run(
    conn: psycopg.Connection[Any],
    match: re.Match[str],
    variables: dict[str, str],
    masks: dict[str, str],
) -> str:
    """Run one statement and return what psql would print, masked."""
    statement = re.sub(r":'(\w+)'", lambda name: f"'{variables[name[1]]}'", match["text"])
    try:
        with conn.transaction():
            result = conn.execute(statement.encode()).pgresult
    except psycopg.Error as error:
        diagnosis = error.diag
        lines = [f"ERROR:  {diagnosis.sqlstate}: {diagnosis.message_primary}"]
        if diagnosis.message_detail:
            lines.append(f"DETAIL:  {diagnosis.message_detail}")
        if diagnosis.message_hint:
            lines.append(f"HINT:  {diagnosis.message_hint}")
        return mask("\n".join([*lines, ""]), masks)
    if result is None or result.status != ExecStatus.TUPLES_OK:
        return ""
    names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
    rows = [
        [(result.get_value(row, column) or b"").decode() for column in range(result.nfields)]
        for row in range(result.ntuples)
    ]
    if "gset" in match["end"]:
        variables.update(zip(names, rows[0], strict=True))
        return ""
    right = [result.ftype(column) in NUMBERS for column in range(result.nfields)]
    return table(names, [[mask(value, masks) for value in row] for row in rows], right)


def table(names: list[str], rows: list[list[str]], right: list[bool]) -> str:
    """Lay rows out as psql does."""
    cells = [[value.split("\n") for value in row] for row in rows]
    widths = [
        max(len(line) for line in [name, *(line for row in cells for line in row[place])])
        for place, name in enumerate(names)
    ]
    lines = [
        "|".join(f" {centred(name, width)} " for name, width in zip(names, widths, strict=True)),
        "+".join("-" * (width + 2) for width in widths),
    ]
    for row in cells:
        for number in range(max(len(cell) for cell in row)):
            values = [cell[number] if number < len(cell) else "" for cell in row]
            lines.append(
                "|".join(
                    f" {value.rjust(width) if is_right else value.ljust(width)} "
                    for value, width, is_right in zip(values, widths, right, strict=True)
                )
            )
    count = f"({len(rows)} row{'s' if len(rows) != 1 else ''})"
    return "\n".join([*(line.rstrip() for line in lines), count, ""])


def centred(text: str, width: int) -> str:
    """In the middle, with the odd blank behind it."""
    return (" " * ((width - len(text)) // 2) + text).ljust(width)


def mask(text: str, known: dict[str, str]) -> str:
    """The text with the same times and uuids at every run; *known* are those met before."""

    def number(match: re.Match[str]) -> str:
        return known.setdefault(match[0], f"0190a5c1-0000-7000-8000-{len(known) + 1:012}")

    return TIME.sub("2031-05-01 12:00:00+00", UUID.sub(number, text))
