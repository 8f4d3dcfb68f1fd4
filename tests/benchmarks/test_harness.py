"""The benchmarks' rounds, figures, targets and table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import alone, publish, table
from benchmarks.harness import Figure, Sheet, Spread, Wanted, percentile, rounds


@pytest.mark.parametrize(
    ("values", "median"), [([3.0], 3.0), ([5.0, 1.0, 2.0], 2.0), ([4.0, 1.0, 2.0, 3.0], 2.5)]
)
def test_a_spread_is_the_median_the_least_and_the_most(values, median):
    assert Spread.of(values) == Spread(median, min(values), max(values), len(values))


def test_a_spread_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no values"):
        Spread.of([])


@pytest.mark.parametrize(
    ("limits", "value", "met"),
    [
        ({"at_least": 2}, 2.0, True),
        ({"at_least": 2}, 1.999, False),
        ({"at_most": 2}, 2.0, True),
        ({"at_most": 2}, 2.001, False),
        ({"at_most": 0}, 0.0, True),
        ({"at_most": 0}, 1.0, False),
        ({}, 1.0, None),
    ],
)
def test_a_target_is_met_at_its_limit_and_not_past_it(limits, value, met):
    assert Wanted("a", "a", **limits).met(value) is met


def test_rounds_run_every_cell_once_a_round_in_a_turning_order():
    ran: list[str] = []

    def cell(name: str) -> float:
        ran.append(name)
        return float(len(ran))

    found = rounds(3, {name: lambda name=name: cell(name) for name in "abc"})

    assert "".join(ran[3:]) == "abc" + "bca" + "cab"  # after the round that makes warm
    assert {name: len(values) for name, values in found.items()} == {"a": 3, "b": 3, "c": 3}
    assert found["a"] == [4.0, 9.0, 11.0]


def test_a_ratio_is_the_median_of_the_ratios_of_each_round():
    sheet = Sheet("t", [Wanted("r", "r", at_least=1)])

    # The machine was ten times as slow in the last round, for both.
    sheet.ratio("r", [100, 110, 9], [100, 100, 10], names=("ours", "theirs"))

    [figure] = sheet.figures
    assert figure.spread == Spread(1.0, 0.9, 1.1, 3)
    assert figure.parts["ours, /s"].median == 100
    assert figure.verdict == "met"


def test_what_is_wanted_and_not_measured_stays_in_the_table_with_the_reason():
    sheet = Sheet("t", [Wanted("a", "first", at_least=1), Wanted("b", "second", at_least=1)])
    sheet.values("a", [0.5])
    sheet.skip("failed: on fire")

    missed, missing = sheet.figures

    assert (missed.verdict, missing.verdict) == ("NOT MET", "not measured")
    assert missing.note == "failed: on fire"


def test_a_run_that_is_too_small_for_a_target_does_not_judge_it():
    sheet = Sheet("t", [Wanted("a", "first", at_least=1), Wanted("b", "second")])
    sheet.values("a", [0.5], judged=False)
    sheet.values("b", [0.5], judged=False)

    assert [figure.verdict for figure in sheet.figures] == ["too small", ""]


def test_no_two_figures_have_one_key():
    with pytest.raises(ValueError, match="one key"):
        Sheet("t", [Wanted("a", "first"), Wanted("a", "second")])


def test_a_percentile_is_a_value_that_was_measured():
    assert [percentile([3, 1, 2, 4], share) for share in (0.0, 0.5, 0.99)] == [1, 3, 4]


def test_the_table_counts_the_targets_and_drops_none():
    figures = [
        Figure(Wanted("a", "fine", at_least=1), Spread.of([2.0])),
        Figure(Wanted("b", "slow", at_most=1, unit="ms"), Spread.of([2.0, 3.0, 4.0])),
        Figure(Wanted("c", "gone", at_least=1), note="a | reason\nof two lines"),
        Figure(Wanted("d", "only told")),
    ]
    record = run_of([figure.as_json() for figure in figures])

    text = table.render(json.loads(json.dumps(record)))

    assert "| fine | 2.00 x | ≥ 1 x | met |  |" in text
    assert "| slow | 3.00 [2.00-4.00] ms | ≤ 1 ms | NOT MET |  |" in text
    assert "| gone |  | ≥ 1 x | not measured | a / reason of two lines |" in text
    assert "Targets: 3; met 1, NOT MET 1, not measured 1, too small a run to tell 0." in text


def test_what_is_published_stands_between_the_marks_and_says_why_a_figure_is_missing():
    figures = [
        Figure(Wanted("a", "fine", at_least=1), Spread.of([2.0])),
        Figure(Wanted("c", "gone", at_least=1), note="on fire"),
    ]
    record = run_of([figure.as_json() for figure in figures])
    page = f"before\n{publish.BEGIN}\nold\n{publish.END}\nafter\n"

    once = publish.put(page, publish.figures(record))

    assert publish.put(once, publish.figures(record)) == once
    assert once.startswith("before\n")
    assert once.endswith("\nafter\n")
    assert "old" not in once
    assert "| fine | 2.00 x | ≥ 1 x | met |" in once
    assert "| gone |  | ≥ 1 x | not measured: on fire |" in once


def test_a_page_without_the_marks_is_not_written():
    with pytest.raises(ValueError, match="has no"):
        publish.put("a page", "figures")


def test_the_page_on_performance_has_the_marks():
    text = publish.PAGE.read_text(encoding="utf-8")

    assert publish.put(text, "figures") != text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, [3.0]),
        ({"a": 0, "b": 12}, [12.0]),
        ({"median": 2.0, "least": 1.0, "most": 4.0}, [1.0, 2.0, 4.0]),
        ({"ratio": 2.0, "seconds": [1.0, 2.0, 4.0], "against": [3.0, 4.0, 5.0]}, [4.0, 2.0, 1.0]),
        ("words", []),
        ({}, []),
        (True, []),
    ],
)
def test_figures_of_programs_of_their_own_become_ours(value, expected):
    assert alone.numbers(value)[0] == expected


def run_of(figures: list[dict[str, Any]]) -> dict[str, Any]:
    machine = {
        "processor": "a processor", "processors": 2, "memory_gb": 1.5, "system": "Linux 6",
        "disk": "/dev/x ext4", "syncs_per_second": 5000, "server": "PostgreSQL 15.1 on x",
        "server_kind": "local", "settings": {"fsync": "on"}, "python": "3.11", "psycopg": "3",
        "pycortex": "0", "commit": "abc", "load_at_start": 0.1, "load_at_end": 0.2,
    }  # fmt: skip
    return {
        "scale": "tiny", "began": "2026-01-01T00:00:00+00:00", "seconds": 1, "rounds": 3,
        "machine": machine, "groups": [{"name": "t", "title": "T", "figures": figures}],
    }  # fmt: skip
