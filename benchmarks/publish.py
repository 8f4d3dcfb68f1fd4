"""
Puts the figures of a run into docs/performance.md.

    python -m benchmarks.publish            of the newest full run in benchmarks/results
    python -m benchmarks.publish FILE.json  of that one
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import table
from benchmarks.machine import words

__all__ = ["figures", "put"]

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
RESULTS = Path(__file__).parent / "results"
BEGIN, END = "<!-- figures: python -m benchmarks.publish -->", "<!-- end of figures -->"


def main() -> None:
    """Do it, or say why not."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else newest()
    record = json.loads(path.read_text(encoding="utf-8"))
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), figures(record)), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)} tells of {path.name}\n")


def newest() -> Path:
    """The newest full run."""
    found = sorted(RESULTS.glob("*-full.json"))
    if not found:
        raise SystemExit("there is no full run in benchmarks/results: make bench")
    return found[-1]


def put(page: str, text: str) -> str:
    """
    Replace what stands between the marks.

    Raises:
        ValueError: They aren't there.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} has no {BEGIN} or no {END}")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def figures(record: dict[str, Any]) -> str:
    """The machine and the tables, without the parts."""
    began = record["began"].replace("T", " ").partition("+")[0]
    lines = [f"Measured {began} UTC, {record['scale']}, in {record['seconds']} s.", ""]
    lines += [f"- {line}" for line in words(record["machine"])]
    for group in record["groups"]:
        lines += ["", f"### {group['title']}", ""]
        lines += ["| figure | measured | target | |", "| --- | --- | --- | --- |"]
        for figure in group["figures"]:
            name, measured, target, verdict, _ = table.cells(figure)
            if figure["value"] is None:
                verdict = f"not measured: {figure['note']}".replace("|", "/")
            lines.append(f"| {name} | {measured} | {target} | {verdict} |")
    lines += ["", table.count(record)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
