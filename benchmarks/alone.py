"""The benchmarks that are programs of their own, with servers of their own, run as part of all."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import Sheet, Wanted
from benchmarks.scale import Scale
from benchmarks.server import plain_environment

__all__ = ["run", "sheet"]

ROOT = Path(__file__).parents[1]
TITLES = {"report": "Reports", "imports": "Imports"}
LIMIT = 300.0
"""Seconds that one may take."""

WANTED = {
    "report": [
        Wanted("report.one connection", "plain statement / populate, one connection", at_least=1.7),
        Wanted("report.two connections", "plain statement / populate, two connections", at_least=3),
        Wanted("report.from kept grains", "plain statement / from kept grains", at_least=8),
        Wanted(
            "report.after 1 % changed", "plain statement / refresh after 1 % changed", at_least=50
        ),
        Wanted("report.temporary files", "temporary bytes of a populate", "B", at_most=0),
        Wanted("report.rows that differ", "rows that differ from the plain ones", "", at_most=0),
    ],
    "imports": [
        Wanted("imports.ratio", "import of logs / COPY of their rows alone", at_most=3),
        Wanted("imports.again_ratio", "second import of the same / COPY alone"),
        Wanted("imports.import_most_memory_kb", "most memory of the import's process", "kB"),
    ],
}  # fmt: skip


def sheet(name: str) -> Sheet:
    """What is wanted of one."""
    return Sheet(TITLES[name], WANTED[name])


def run(name: str, scale: Scale, sheet: Sheet, left: float = LIMIT) -> None:
    """Run one, for as long as there is time *left*, and take over what it found."""
    limit = min(LIMIT, left)
    sizes = {"report": scale.report, "imports": scale.imports}[name]
    with tempfile.NamedTemporaryFile("r") as file:
        # One writes its figures to a file, the other to its output.
        where = [file.name] if name == "report" else []
        try:
            done = subprocess.run(  # noqa: S603 - ourselves
                [sys.executable, "-m", f"benchmarks.{name}", *sizes, "--json", *where],
                cwd=ROOT, env=plain_environment(), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, check=False, timeout=limit,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"took longer than {limit:.0f} s") from None
        text = file.read() or done.stdout
    try:
        found = json.loads(text)
    except ValueError:
        raise RuntimeError(f"ended with {done.returncode}: {done.stderr.strip()[-800:]}") from None
    take(name, found, sheet, judged=scale.name == "full")


def take(name: str, found: Mapping[str, Any], sheet: Sheet, *, judged: bool) -> None:
    """Turn what one of them calls its figures into ours; *judged* if the sizes are big enough."""
    known = {wanted.key for wanted in WANTED[name]}
    about = ", ".join(
        f"{word} {found[word]:,}" for word in ("tasks", "logs", "messages") if word in found
    )
    for label, value in found.items():
        key = f"{name}.{label}"
        values, parts = numbers(value)
        if not values:
            continue
        if key not in known:
            if not (isinstance(value, Mapping) and "ratio" in value):
                continue
            sheet.add(Wanted(key, f"plain statement / {label}" if name == "report" else label))
        sheet.values(key, values, parts=parts, note=about, judged=judged)


def numbers(value: Any) -> tuple[list[float], dict[str, list[float]]]:
    """A figure's values: a number, several by name, a spread, a ratio and what made it."""
    match value:
        case bool() | str() | None:
            return [], {}
        case int() | float():
            return [float(value)], {}
        case {"ratio": ratio, "seconds": ours, "against": theirs}:
            against = statistics.median(theirs)
            spread = [against / one for one in ours if one]
            spread[len(spread) // 2 : len(spread) // 2 + 1] = [float(ratio)]
            return spread, {"seconds": ours, "against, s": theirs}
        case {"median": median, "least": least, "most": most}:
            return [least, median, most], {}
        case {**named} if named and all(isinstance(one, int | float) for one in named.values()):
            return [float(max(named.values()))], {}
    return [], {}
