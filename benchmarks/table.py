"""A run as a table in Markdown."""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchmarks.machine import words

__all__ = ["cells", "count", "number", "render", "spread"]


def render(record: dict[str, Any]) -> str:
    """Write it out: the machine, a table for each group, and how many targets are met."""
    began = record["began"].replace("T", " ").partition("+")[0]
    lines = [
        f"# Benchmarks, {record['scale']}, {began} UTC, {record['seconds']} s",
        "",
        *(f"- {line}" for line in words(record["machine"])),
        "",
        "Medians [least-most] of the rounds. Ratios count; parts are this machine's, then.",
    ]
    for group in record["groups"]:
        lines += [
            "",
            f"## {group['title']}",
            "",
            "| figure | measured | target | | parts |",
            "| --- | --- | --- | --- | --- |",
        ]
        for figure in group["figures"]:
            lines.append(f"| {' | '.join(cells(figure))} |")
    lines += ["", count(record)]
    return "\n".join(lines) + "\n"


def count(record: dict[str, Any]) -> str:
    """How many targets there are, and how they fare."""
    verdicts = Counter(
        figure["verdict"]
        for group in record["groups"]
        for figure in group["figures"]
        if figure["target"]
    )
    return (
        f"Targets: {sum(verdicts.values())}; met {verdicts['met']}, NOT MET {verdicts['NOT MET']},"
        f" not measured {verdicts['not measured']},"
        f" too small a run to tell {verdicts['too small']}."
    )


def cells(figure: dict[str, Any]) -> tuple[str, str, str, str, str]:
    """One figure: its name, what was measured, the target, the verdict, and what it is made of."""
    unit = " x" if figure["unit"] == "x" else f" {figure['unit']}".rstrip()
    value = figure["value"]
    measured = "" if value is None else f"{spread(value)}{unit}"
    target = f"{figure['target']}{unit}" if figure["target"] else ""
    parts = "; ".join(f"{name} {spread(part)}" for name, part in figure["parts"].items())
    about = "; ".join(text for text in (parts, figure["note"]) if text).replace("|", "/")
    name, about = figure["name"].replace("|", "/"), " ".join(about.split())
    return name, measured, target, figure["verdict"] or "", about


def spread(value: dict[str, float]) -> str:
    """The median with the least and the most."""
    if value["rounds"] == 1:
        return number(value["median"])
    return f"{number(value['median'])} [{number(value['least'])}-{number(value['most'])}]"


def number(value: float) -> str:
    """Three digits that count."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 or value == 0 else 3
    return f"{value:.{digits}f}"
