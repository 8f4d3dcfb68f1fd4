"""
The tests that a version of PostgreSQL can break, on several of them.

    python -m tools.matrix 14 16 17 18      (make matrix)

Each version's programs come from a wheel; two versions are tested at a time, on a machine with two
processors or more. What pytest said of a version is printed when it has failed, else its last line.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.postgresql import bindir

ROOT = Path(__file__).parent.parent
OTHERS = 14, 16, 17, 18
"""The supported versions but the one that "make test" runs on in CI."""

TESTS = (
    "tests/sql",
    "tests/install",
    "tests/test_parity.py",
    "tests/test_schema.py",
    # Of the rest, what speaks most with the database.
    "tests/concurrency/test_spawn_race.py",
    "tests/corpus/test_maintenance.py",
    "tests/corpus/test_populate_scope.py",
    "tests/python/test_runner.py",
    "tests/python/test_twins.py",
)


def test(major: int, arguments: list[str]) -> tuple[int, str]:
    """Run the tests on one version; return pytest's exit code and what it printed."""
    environment = os.environ | {
        "PYCORTEX_TEST_TIER": "local",
        "PYCORTEX_TEST_BINDIR": str(bindir(major)),
    }
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, *arguments]
    done = subprocess.run(
        pytest,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def main() -> None:
    """Test the versions named on the command line, or all but CI's; fail if one of them fails."""
    words = sys.argv[1:]
    majors = [int(word) for word in words if word.isdigit()] or list(OTHERS)
    arguments = [word for word in words if not word.isdigit()]
    start = time.monotonic()
    failed = []
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for major, (code, said) in zip(
            majors, pool.map(lambda major: test(major, arguments), majors), strict=True
        ):
            if code:
                failed.append(major)
                print(said)
            last = said.strip().splitlines()[-1] if said.strip() else f"exit code {code}"
            print(f"PostgreSQL {major}: {last.strip(' =')}", flush=True)
    print(f"{len(majors)} versions in {time.monotonic() - start:.0f} s")
    if failed:
        sys.exit(f"failed on PostgreSQL {', '.join(map(str, failed))}")


if __name__ == "__main__":
    main()
