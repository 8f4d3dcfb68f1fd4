"""The SQL reference says what the database says, and its examples print what they print."""

from __future__ import annotations

import pytest

from tests.servers import Unavailable
from tools.examples import mask, table
from tools.sql_reference import EXAMPLES, PAGE, reference


def test_is_what_the_database_says():
    try:
        now = reference()
    except Unavailable as reason:
        pytest.skip(str(reason))

    assert now.splitlines() == PAGE.read_text(encoding="utf-8").splitlines(), "run: make docs"


def test_every_example_is_shown():
    page = PAGE.read_text(encoding="utf-8")

    unused = [path.stem for path in EXAMPLES.glob("*.sql") if f"\n### {path.stem}\n" not in page]

    assert unused == []


def test_lays_rows_out_as_psql_does():
    laid_out = table(["kind", "jobs"], [["nightly_export", "7"], ["a\nb", "12"]], [False, True])

    assert laid_out.splitlines() == [
        "      kind      | jobs",
        "----------------+------",
        " nightly_export |    7",
        " a              |   12",
        " b              |",
        "(2 rows)",
    ]


def test_masks_the_same_uuid_in_the_same_way():
    one, two = "5a2b0f3e-1111-4222-8333-94d1f1f1f1f1", "6a2b0f3e-1111-4222-8333-94d1f1f1f1f1"
    known: dict[str, str] = {}

    first, second = mask(f"{one} {two}", known).split()

    assert first != second
    assert mask(one, known) == first
    assert one not in first
