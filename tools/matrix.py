"""
The whole suite on several versions of PostgreSQL.

    python -m tools.matrix 14 16 17 18      (make matrix)
    python -m tools.matrix 17 -k step       one version, with options for pytest

Each version's programs come from a wheel. Every test runs on each version, but for those that
would say there what they have said already; `ELSEWHERE` names them and why. They are left out by
name, so that a skip is still a fault of the machine, and fails where PYCORTEX_REQUIRE_ALL is set.

What pytest said of a version is printed when it has failed, else its last line.

A test that fails is run once more, by itself, since three at once on a busy machine may each wait
too long for their processes. Both outcomes are printed. "make test" has no second try.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.postgresql import bindir

ROOT = Path(__file__).parent.parent
OTHERS = 14, 16, 17, 18
"""The supported versions but the one that "make test" runs on in CI."""

ELSEWHERE = {
    "tests/cron": "needs pg_cron and plpgsql_check, which no wheel carries; what pycortex does"
    " where pg_cron is missing is tested in tests/sql and tests/cli",
    "tests/executors": "is about other libraries; what a version could break of it is in tests/sql",
    "tests/isolation": "is about processes of the system; the procedures that it calls have tests"
    " in tests/sql, and it runs a database no other way than tests/python",
    "tests/test_tiers.py": "tries each kind of server with programs of its own",
    "tests/test_packaging.py": "builds packages, and installs on the server of the extra embedded",
    "tests/examples/test_compose.py": "runs in containers, on the server of their image",
    "tests/cli/test_embedded.py": "runs the server of the extra embedded, which has one version",
    "tests/cli/test_embedded_commands.py": "so does it",
    "tests/cli/test_demo.py": "and so does it",
    "tests/benchmarks": "measures; what is measured has tests of its own",
    "tests/corpus/test_import_interrupted.py": "kills processes; what they ask of a version is in"
    " tests/corpus/test_corpus_import.py",
    "tests/cli/test_every_command.py": "is about terminals, streams and locales; what each command"
    " asks of a version is in the other files of tests/cli",
    "tests/cli/test_manners.py": "is about those too",
    "tests/cli/test_output.py": "and so is it",
    "tests/cli/test_watch_screen.py": "and so is it",
    "tests/cli/test_completion.py": "and so is it",
    "tests/cli/test_cli_reference.py": "and so is it",
    "tests/cli/test_away.py": "is about a database that is not there",
}
"""What doesn't run on the version in question, wherever it is started, and why."""


TESTS_FAILED = 1
"""Pytest's exit code when it ran to its end and some tests failed."""

MOST_AGAIN = 3
"""More failures than this are no accident."""


def test(major: int, arguments: list[str]) -> tuple[int, str]:
    """Run the suite on one version; return pytest's exit code and what it printed."""
    with tempfile.TemporaryDirectory() as cache:
        options = ["-o", f"cache_dir={cache}"]
        # A good part of the suite's time is waiting: one process more than there are processors.
        several = ["--dist", "worksteal", "-n", str((os.cpu_count() or 1) + 1)]
        code, said = run(major, [*options, *several, *arguments])
        if code != TESTS_FAILED or len(failures(cache)) > MOST_AGAIN:
            return code, said
        print(said)
        code, said = run(major, [*options, "--last-failed", *arguments])
        print(f"PostgreSQL {major}: what failed, once more and by itself: {summary(said)}")
        return code, said


def summary(said: str) -> str:
    """Return the last line of what pytest said."""
    return (said.strip().splitlines() or ["nothing"])[-1].strip(" =")


def failures(cache: str) -> list[str]:
    """Name the tests that failed, as pytest's cache has them."""
    path = Path(cache, "v", "cache", "lastfailed")
    return sorted(json.loads(path.read_text())) if path.exists() else []


def run(major: int, arguments: list[str]) -> tuple[int, str]:
    """Run pytest on one version; return its exit code and what it printed."""
    # "make test" tries for longer.
    environment = {"PYCORTEX_SOAK_SECONDS": "6", "PYCORTEX_PROPERTY_EXAMPLES": "20"} | os.environ
    environment |= {"PYCORTEX_TEST_TIER": "local", "PYCORTEX_TEST_BINDIR": str(bindir(major))}
    pytest = [sys.executable, "-m", "pytest", "-q"]
    pytest += [f"--ignore={path}" for path in ELSEWHERE]
    done = subprocess.run(
        [*pytest, *arguments],
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
    if gone := [path for path in ELSEWHERE if not (ROOT / path).exists()]:
        sys.exit(f"tools/matrix.py leaves out what isn't there: {', '.join(gone)}")
    start = time.monotonic()
    failed = []
    for major in majors:
        code, said = test(major, arguments)
        if code:
            failed.append(major)
            print(said)
        print(f"PostgreSQL {major}: {summary(said)}", flush=True)
    print(f"{len(majors)} versions in {time.monotonic() - start:.0f} s")
    if failed:
        sys.exit(f"failed on PostgreSQL {', '.join(map(str, failed))}")


if __name__ == "__main__":
    main()
