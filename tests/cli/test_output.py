"""What goes to the terminal: safe text, tables that fit, JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from pycortex.cli._jobs import percent, progress, span
from pycortex.cli._output import clean, clip, print_json
from pycortex.cli._table import Column, print_table
from pycortex.models import Job, JobStatus

MOMENT = datetime(2031, 5, 1, 3, tzinfo=UTC)


def job(**columns: object) -> Job:
    values = dict.fromkeys(Job.__dataclass_fields__) | {
        "uuid": UUID(int=7),
        "kind": "test",
        "status": JobStatus.RUNNING,
        "progress_current": 0,
        "message": "",
        "created_at": MOMENT,
        "updated_at": MOMENT,
    }
    return Job(**values | columns)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 漢 🙂", "plain ü 漢 🙂"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m\x7f\x00", r"\x9b31m\x7f\x00"),
        ("right\u202eleft\u200b", r"right\u202eleft\u200b"),
    ],
)
def test_writes_out_what_a_terminal_would_obey(text, shown):
    """E13"""
    assert clean(text) == shown


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [("abc", 5, "abc  "), ("abcdef", 4, "abc…"), ("漢字漢字", 5, "漢字…"), ("漢字", 3, "漢…")],
)
def test_cuts_to_columns_of_the_terminal_not_to_characters(text, columns, shown):
    assert clip(text, columns) == shown


@pytest.mark.parametrize(
    ("current", "total", "share"),
    [(-1, 10, 0), (5, 0, None), (11, 10, 100), (5, None, None), (3, 9, 33), (5, -1, None)],
)
def test_shows_a_share_between_0_and_100_or_none(current, total, share):
    """E12"""
    assert percent(job(progress_current=current, progress_total=total)) == share


def test_shows_progress_in_the_jobs_own_numbers():
    assert progress(job(progress_current=11, progress_total=10)) == "11/10"
    assert progress(job(progress_current=11)) == "11"
    assert progress(job()) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0s"),
        (0.04, "0.0s"),
        (9.94, "9.9s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (3725, "1h02m"),
        (90000, "1d01h"),
    ],
)
def test_says_a_length_of_time_in_at_most_two_units(seconds, words):
    assert span(seconds) == words


def test_table_fits_a_narrow_terminal_and_keeps_one_line_per_row(capsys, monkeypatch):
    monkeypatch.setattr("pycortex.cli._table.width", lambda stream: 30)
    columns = (Column("A"), Column("B", drop=1), Column("TEXT", least=8))

    print_table(columns, [["1", "b" * 20, "word\n" * 20], ["2", "", ""]])

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 30 for line in lines)
    assert "B" not in lines[0]


def test_table_is_not_cut_where_nobody_looks(capsys):
    print_table((Column("TEXT", least=8),), [["x" * 300]])

    assert "x" * 300 in capsys.readouterr().out


@dataclass(frozen=True)
class Row:
    uuid: UUID
    at: datetime
    number: Decimal
    text: str
    share: float
    nested: dict[str, object]


def test_json_is_ascii_with_offsets_and_without_nan(capsys):
    """N07, F06"""
    tokyo = timezone(timedelta(hours=9))
    row = Row(
        UUID(int=1),
        datetime(2031, 5, 1, tzinfo=tokyo),
        Decimal("1e400"),
        "ü\ud800\x1b",
        float("nan"),
        {"status": JobStatus.FAILED, "big": 9007199254740993},
    )

    print_json(row)

    text = capsys.readouterr().out
    assert text.isascii()
    assert json.loads(text) == {
        "uuid": str(UUID(int=1)),
        "at": "2031-05-01T00:00:00+09:00",
        "number": "1E+400",
        "text": "ü\ud800\x1b",
        "share": None,
        "nested": {"status": "failed", "big": 9007199254740993},
    }
