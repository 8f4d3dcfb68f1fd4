"""The table at the end of a run: how many faults, and what they cost, for each kind of fault."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

NAME = "faults"
"""Under which a test's figures travel with its report, from another process too."""

COLUMNS = ("tests", "faults", "jobs", "lost", "doubled", "left running")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fault(kind): which line of the table a test counts in")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    allowed: list[str] = []
    for figures in _all(terminalreporter):
        for line in (lines[figures["kind"]], lines["total"]):
            for column in COLUMNS:
                line[column] += figures[column]
        allowed += figures["allowed"]
    if not lines:
        return
    total = lines.pop("total")
    width = max(len("kind of fault"), *(len(kind) for kind in lines))
    terminalreporter.section("faults and what they cost")
    header = "  ".join(f"{column:>{max(6, len(column))}}" for column in COLUMNS)
    terminalreporter.write_line(f"{'kind of fault':{width}}  {header}")
    for kind, line in [*sorted(lines.items()), ("total", total)]:
        numbers = "  ".join(f"{line[column]:>{max(6, len(column))}}" for column in COLUMNS)
        terminalreporter.write_line(f"{kind:{width}}  {numbers}")
    for text in allowed:
        terminalreporter.write_line(f"as expected: {text}")


def _all(terminalreporter: pytest.TerminalReporter) -> list[dict[str, Any]]:
    return [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "teardown"
        for name, value in report.user_properties
        if name == NAME
    ]
