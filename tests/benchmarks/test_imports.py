"""The benchmark of imports runs, and measures two ways to the same rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_benchmark_of_imports_compares_with_copy_of_the_same_rows():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.imports", "--logs", "80", "--rounds", "1", "--again",
         "--json"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["logs"], found["messages"]) == (80, 2 * 298)
    assert found["ratio"]["least"] > 1
    assert found["again_ratio"]["least"] > 1
    assert found["import_most_memory_kb"] > 1000
