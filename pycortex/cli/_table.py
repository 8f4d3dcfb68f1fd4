"""Tables for people: one line per row, whatever the width, whatever the text."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from pycortex.cli._output import clean, clip, out, paint, speaks_unicode, width

__all__ = ["Column", "print_table"]

GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """
    How one column of a table behaves.

    Attributes:
        title: Its heading.
        right: Whether numbers stand in it.
        drop: On a narrow terminal columns go in this order, the highest first; 0 never goes.
        least: A column that may shrink, and to how many columns of the terminal.
        status: Whether its text is coloured as a status.
    """

    title: str
    right: bool = False
    drop: int = 0
    least: int = 0
    status: bool = False


def print_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], *, heading: bool = True
) -> None:
    """Print *rows* under the headings of *columns*, no wider than the terminal."""
    cells = [[clean(cell) for cell in row] for row in rows]
    natural = [
        max([cell_len(column.title), *(cell_len(row[place]) for row in cells)])
        for place, column in enumerate(columns)
    ]
    kept, widths = _fit(columns, natural, width(sys.stdout))
    mark = "…" if speaks_unicode(sys.stdout) else "..."

    def line(texts: Sequence[str], *, title: bool = False) -> str:
        parts = []
        for place, columns_wide in zip(kept, widths, strict=True):
            column, text = columns[place], texts[place]
            padded = clip(text, columns_wide, mark=mark)
            if column.right:
                padded = padded.rstrip().rjust(columns_wide)
            parts.append(paint(padded, text) if column.status and not title else padded)
        return GAP.join(parts).rstrip()

    if heading:
        out(line([column.title for column in columns], title=True))
    for row in cells:
        out(line(row))


def _fit(
    columns: Sequence[Column], natural: Sequence[int], room: int | None
) -> tuple[list[int], list[int]]:
    """Choose the columns that stay, and how wide each is."""
    kept = list(range(len(columns)))
    while True:
        widths = [natural[place] for place in kept]
        excess = 0 if room is None else sum(widths) + len(GAP) * (len(kept) - 1) - room
        for index in reversed(range(len(kept))):
            least = columns[kept[index]].least
            if excess > 0 and least:
                given = min(excess, max(widths[index] - least, 0))
                widths[index] -= given
                excess -= given
        if excess <= 0:
            return kept, widths
        goes = max(kept, key=lambda place: columns[place].drop)
        if columns[goes].drop == 0:
            # Nothing more can go: the widest give way evenly.
            while excess > 0 and max(widths) > 1:
                widths[widths.index(max(widths))] -= 1
                excess -= 1
            return kept, widths
        kept.remove(goes)
