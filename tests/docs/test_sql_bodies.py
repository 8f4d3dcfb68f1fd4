"""The guide to bodies in SQL does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import sqlparse

from tests.sql.asking import rows

PAGE = (Path(__file__).parents[2] / "docs" / "sql-bodies.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```plpgsql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
TABLE = re.search(r"^```text\n +kind +\|.*?\n[-+]+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def play(conn: psycopg.Connection, block: str) -> list[dict]:
    """Run a block as psql would, statement by statement; the rows of the last one."""
    found: list[dict] = []
    for statement in sqlparse.split(block):
        if statement.lower().startswith("select"):
            found = rows(conn, statement.encode())
        else:
            conn.execute(statement.encode())
    return found


def test_the_examples_give_what_the_page_shows(database):
    with psycopg.connect(database, autocommit=True) as conn:
        first, second, third = BLOCKS
        play(conn, first)

        jobs = play(conn, second)

        shown = [[cell.strip() for cell in line.split("|")] for line in TABLE[1].splitlines()]
        assert [[job["kind"], job["status"], job["message"]] for job in jobs] == [
            line[:3] for line in shown
        ]
        assert jobs[0]["result"] == {"day": "2031-05-02", "closed": 3}
        assert shown[0][3] == '{"day": "2031-05-02", "closed": 3}'

        assert play(conn, third) == [
            {"status": "succeeded", "progress_current": 3, "result": {"days": 3}}
        ]
