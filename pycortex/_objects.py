"""What is ours in a database, as the files of sql/ and migrations/ say."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Declared", "declared"]

_CREATED = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+)?(?:unlogged\s+)?"
    r"(?P<kind>schema|table|sequence|view|materialized\s+view|type|domain)\s+"
    r"(?:if\s+not\s+exists\s+)?(?P<name>(?:cortex|corpus)(?:\.\w+)?)",
    re.MULTILINE | re.IGNORECASE,
)
# A routine is named with its arguments' types where it is commented on, which all of them are.
_ROUTINE = re.compile(
    r"^comment\s+on\s+(?:function|procedure|aggregate)\s+(?P<signature>\w+\.\w+\s*\([^)]*\))\s+is\b",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Declared:
    """Names, qualified, of what our files create and what must go with it."""

    schemas: tuple[str, ...]
    relations: tuple[str, ...]
    types: tuple[str, ...]
    routines: tuple[str, ...]


def declared(files: Iterable[Path]) -> Declared:
    """Read from *files* what they create; a name that a later file drops again may be among it."""
    schemas: set[str] = set()
    relations: set[str] = set()
    types: set[str] = set()
    routines: set[str] = set()
    for path in files:
        text = path.read_text(encoding="utf-8")
        for found in _CREATED.finditer(text):
            kind = found["kind"].lower()
            home = (
                schemas if kind == "schema" else types if kind in ("type", "domain") else relations
            )
            home.add(found["name"].lower())
        routines.update(" ".join(found["signature"].split()) for found in _ROUTINE.finditer(text))
    return Declared(
        schemas=tuple(sorted(schemas)),
        relations=tuple(sorted(relations)),
        types=tuple(sorted(types)),
        routines=tuple(sorted(routines)),
    )
