"""docs/values.md says of Python's values what pycortex.values says."""

from __future__ import annotations

import re
from pathlib import Path

from pycortex import values

PAGE = Path(__file__).parents[2] / "docs" / "values.md"


def test_the_table_is_that_of_the_module():
    assert values.__doc__ is not None
    table = values.__doc__.split("=\n")
    own = []
    for line in table[2].splitlines():
        left, right = line[:47].strip(), line[47:].strip(" =")
        if left.startswith("="):
            break
        if left:
            own.append((left, right))
        else:
            own[-1] = (own[-1][0], f"{own[-1][1]} {right}")

    section = PAGE.read_text(encoding="utf-8").split("| Python | JSON |\n| --- | --- |\n")[1]
    rows = re.findall(r"^\| (.+) \| (.+) \|$", section.split("\n\n")[0], re.MULTILINE)

    assert rows == [(left, right.replace("``", "`")) for left, right in own]
    assert len(rows) > 10
