"""
Runs the benchmarks, prints the table, and keeps it with its JSON in benchmarks/results.

    python -m benchmarks                    all, as make bench
    python -m benchmarks --scale quick      for a look, as make bench-quick
    python -m benchmarks --only bare,flat   some of them; kept nowhere
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import traceback
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import alone, machine, table
from benchmarks.harness import Sheet
from benchmarks.scale import SCALES, Scale
from benchmarks.server import Bench, open_bench

MODULES = ("bare", "flat", "peers", "heartbeats", "latency")
ALONE = ("report", "imports")
ORDER = ("bare", "heartbeats", "latency", "report", "imports", "peers", "flat")
"""What may take longest on a slow machine comes last."""

LAST_SHARE = 0.25
"""How much of all time the last one needs."""

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Do what the command line says."""
    options = arguments()
    scale = SCALES[options.scale]
    names = options.only.split(",") if options.only else list(ORDER)
    unknown = set(names) - set(ORDER)
    if unknown:
        raise SystemExit(
            f"no benchmarks called {', '.join(sorted(unknown))}; there are {', '.join(ORDER)}"
        )
    if options.limit is not None:
        scale = replace(scale, limit=options.limit)
    record = measure(scale, names)
    text = table.render(record)
    sys.stdout.write(text)
    if options.json:
        options.json.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if not options.only and scale.name != "tiny" and not options.forget:
        keep(record, text)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--scale", choices=list(SCALES), default="full")
    parser.add_argument("--only", metavar="A,B", help=f"some of {', '.join(ORDER)}")
    parser.add_argument(
        "--limit",
        type=float,
        metavar="SECONDS",
        help="more time, on a machine that is slow or busy",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON there too")
    parser.add_argument("--forget", action="store_true", help="keep nothing in benchmarks/results")
    return parser.parse_args()


def measure(scale: Scale, names: list[str]) -> dict[str, Any]:
    """Run them; whatever happens to one of them, the others follow."""
    started = time.monotonic()
    began = datetime.now(UTC)
    sheets: dict[str, Sheet] = {}
    with open_bench(scale) as bench:
        described = machine.describe(bench)
        for name in names:
            left = scale.limit - (time.monotonic() - started)
            bench.deadline = time.monotonic() + left - scale.limit * LAST_SHARE
            say(f"{name} ({time.monotonic() - started:.0f} s so far)")
            sheets[name] = one(name, bench, left)
    described["load_at_end"] = machine.load()
    return {
        "scale": scale.name,
        "began": began.isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started),
        "rounds": scale.rounds,
        "machine": described,
        "groups": [
            {
                "name": name,
                "title": sheets[name].title,
                "figures": [figure.as_json() for figure in sheets[name].figures],
            }
            for name in (*MODULES, *ALONE)
            if name in sheets
        ],
    }


def one(name: str, bench: Bench, left: float) -> Sheet:
    """Run one of them, if there is time; its figures, measured or not."""
    module = alone if name in ALONE else importlib.import_module(f"benchmarks.{name}")
    sheet = alone.sheet(name) if name in ALONE else Sheet(module.TITLE, module.WANTED)
    if left <= 0:
        sheet.skip("no time was left: this machine is slow, or busy")
        return sheet
    try:
        if name in ALONE:
            alone.run(name, bench.scale, sheet, left)
        else:
            module.run(bench, sheet)
    except Exception as error:  # noqa: BLE001 - the table says so, and the rest follows
        say(traceback.format_exc())
        sheet.skip(f"failed: {type(error).__name__}: {str(error).strip()[:300]}")
    return sheet


def keep(record: dict[str, Any], text: str) -> None:
    """Add a run to the history."""
    RESULTS.mkdir(exist_ok=True)
    stamp = record["began"].replace(":", "").replace("+0000", "Z").replace("-", "")
    stem = RESULTS / f"{stamp}-{record['scale']}"
    stem.with_suffix(".json").write_text(
        json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    stem.with_suffix(".md").write_text(text, encoding="utf-8")
    say(f"kept as {stem}.json and .md")


def say(text: str) -> None:
    """Tell whoever waits."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
