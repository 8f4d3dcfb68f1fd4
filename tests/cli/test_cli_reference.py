"""docs/cli-reference.md: what the commands say, and nothing of the library forgotten."""

from __future__ import annotations

import re
from pathlib import Path

from pycortex import sql
from tools.cli_reference import PAGE, WITHOUT_COMMAND, page

CLI = Path(__file__).parents[2] / "pycortex" / "cli"
LIBRARY = CLI.parent


def test_the_page_is_what_the_commands_say():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make docs"


def test_every_function_of_the_library_has_a_command_or_a_reason():
    source = "".join(path.read_text(encoding="utf-8") for path in CLI.glob("*.py"))
    for path in LIBRARY.rglob("*.py"):
        if re.search("schedule|doctor|install|_version", path.relative_to(LIBRARY).as_posix()):
            source += path.read_text(encoding="utf-8")
    called = set(re.findall(r"\bsql(?:\.| import )(\w+)", source))
    excused = {name for names in WITHOUT_COMMAND.values() for name in names.split()}

    assert set(sql.__all__) - called - excused == set()
    assert excused - set(sql.__all__) == set()
