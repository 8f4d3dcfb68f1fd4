"""
The picture of the final schema in tests/schema.sql, to see a change of it in a diff.

    python -m tests.schema      write it anew (make schema)

It is a dump, always by the embedded PostgreSQL, since versions write the same thing differently;
without what pg_dump says about itself, and without the bodies of routines, which stand in sql/ and
are compared with it by test_parity.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.servers import EmbeddedServer, LocalServer

PICTURE = Path(__file__).parent / "schema.sql"
SCHEMAS = "cortex", "corpus"

_NOISE = re.compile(r"^(--|SET |SELECT pg_catalog\.set_config|\\(un)?restrict)")
_BODY = re.compile(r"(AS (\$\w*\$))\n.*?\n(\2;)", re.DOTALL)


def run_tool(server: LocalServer, tool: str, *args: str, stdin: str | None = None) -> str:
    """
    Run one of PostgreSQL's client programs and return what it printed.

    Raises:
        RuntimeError: It failed; says what it printed about that.
    """
    done = subprocess.run(
        [server.bindir / tool, *args],
        input=stdin, capture_output=True, text=True, check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{tool} failed: {done.stderr}")
    return done.stdout


def dump(server: LocalServer, url: str) -> str:
    """The definitions of our schemas in a database, bodies of routines included."""
    schemas = [f"--schema={name}" for name in SCHEMAS]
    text = run_tool(server, "pg_dump", "--schema-only", "--no-owner", *schemas, "--dbname", url)
    # Comments at the start of a line inside a body go too; test_parity looks at those.
    lines = [line for line in text.splitlines() if not _NOISE.match(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def picture(server: LocalServer, url: str) -> str:
    """The same without bodies, as it is checked in."""
    return _BODY.sub(r"\1 … \3", dump(server, url))


def main() -> None:
    from pycortex.install import install

    server = EmbeddedServer()
    try:
        url = server.create("picture")
        install(url)
        PICTURE.write_text(picture(server, url), encoding="utf-8")
    finally:
        server.close()


if __name__ == "__main__":
    main()
