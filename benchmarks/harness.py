"""Rounds that alternate, figures with their spread, and targets that no table can drop."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Figure", "Sheet", "Spread", "Wanted", "fastest", "milliseconds", "percentile", "rounds"]


@dataclass(frozen=True, slots=True)
class Spread:
    """What a number of rounds gave."""

    median: float
    least: float
    most: float
    rounds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """
        Take the median, the least and the most.

        Raises:
            ValueError: There are no values.
        """
        known = sorted(values)
        if not known:
            raise ValueError("a spread of no values")
        return cls(statistics.median(known), known[0], known[-1], len(known))


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    A figure that a module has to give, and the target for its median if there is one.

    Attributes:
        key: Its name in the JSON, the same for ever.
        name: What it is, for people.
        unit: "x" for a ratio.
        at_least, at_most: The target; neither for what is only reported.
    """

    key: str
    name: str
    unit: str = "x"
    at_least: float | None = None
    at_most: float | None = None

    @property
    def target(self) -> str:
        """The target in words; empty without one."""
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return f"≤ {self.at_most:g}" if self.at_most is not None else ""

    def met(self, median: float) -> bool | None:
        """Whether a median meets the target; None without one."""
        if self.at_least is not None:
            return median >= self.at_least
        return median <= self.at_most if self.at_most is not None else None


@dataclass(frozen=True, slots=True)
class Figure:
    """
    A figure that was measured, or why it was not.

    Attributes:
        spread: None if it was not measured.
        parts: The two things whose ratio it is, or whatever explains it, with their unit in the
            name; absolute numbers, which say something about this machine at this moment only.
        note: What else to know; the reason if it was not measured.
        judged: Whether the sizes of this run are those that the target is about.
    """

    wanted: Wanted
    spread: Spread | None = None
    parts: Mapping[str, Spread] = field(default_factory=dict)
    note: str = ""
    judged: bool = True

    @property
    def verdict(self) -> str:
        """In one word or two: met, NOT MET, not measured, too small; empty without a target."""
        if self.spread is None:
            return "not measured"
        met = self.wanted.met(self.spread.median)
        if met is not None and not self.judged:
            return "too small"
        return "" if met is None else "met" if met else "NOT MET"

    def as_json(self) -> dict[str, Any]:
        """What the history keeps of it."""
        return {
            "key": self.wanted.key,
            "name": self.wanted.name,
            "unit": self.wanted.unit,
            "target": self.wanted.target or None,
            "verdict": self.verdict or None,
            "value": None if self.spread is None else _plain(self.spread),
            "parts": {name: _plain(spread) for name, spread in self.parts.items()},
            "note": self.note,
        }


class Sheet:
    """The figures of one module. What it wants and doesn't get shows as not measured."""

    def __init__(self, title: str, wanted: Sequence[Wanted]) -> None:
        self.title = title
        self._wanted = {one.key: one for one in wanted}
        self._found: dict[str, Figure] = {}
        self._reason = "its module did not get so far"
        if len(self._wanted) != len(wanted):
            raise ValueError("two figures of one key")

    def add(self, wanted: Wanted) -> None:
        """Want one more, that is only reported."""
        self._wanted[wanted.key] = wanted

    def ratio(
        self, key: str, over: Sequence[float], under: Sequence[float], *,
        names: tuple[str, str], unit: str = "/s", note: str = "",
    ) -> None:  # fmt: skip
        """Note what one thing is to another: the median of the ratios of each round."""
        self.values(
            key,
            [one / other for one, other in zip(over, under, strict=True)],
            parts={f"{names[0]}, {unit}": over, f"{names[1]}, {unit}": under},
            note=note,
        )

    def values(
        self, key: str, values: Sequence[float], *,
        parts: Mapping[str, Sequence[float]] | None = None, note: str = "", judged: bool = True,
    ) -> None:  # fmt: skip
        """Note a figure that each round gave."""
        known = {name: Spread.of(part) for name, part in (parts or {}).items()}
        self._found[key] = Figure(self._wanted[key], Spread.of(values), known, note, judged)

    def skip(self, reason: str, *keys: str) -> None:
        """Say why figures are missing; without keys, why all are that are not there yet."""
        if not keys:
            self._reason = reason
        for key in keys:
            self._found[key] = Figure(self._wanted[key], note=reason)

    @property
    def figures(self) -> list[Figure]:
        """All that are wanted, in their order."""
        return [
            self._found.get(key) or Figure(wanted, note=self._reason)
            for key, wanted in self._wanted.items()
        ]


def rounds(
    count: int, cells: Mapping[str, Callable[[], float]], *, warm: bool = True
) -> dict[str, list[float]]:
    """
    Run each cell once a round, in an order that turns from round to round.

    So what the machine does meanwhile strikes all of them alike, and what is left shows in the
    spread. A round before the first makes everything warm and doesn't count; not for one round,
    which is only for a try.
    """
    warm = warm and count > 1
    names = list(cells)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-1 if warm else 0, count):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            value = cells[name]()
            if number >= 0:
                found[name].append(value)
    return found


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which *share* of all lie, the nearest that was measured."""
    known = sorted(values)
    return known[min(len(known) - 1, int(share * len(known)))]


def fastest(work: Callable[[], object], seconds: float, *, at_least: int = 20) -> float:
    """How often a second *work* gets done, when it is done again and again for *seconds*."""
    done = 0
    started = time.perf_counter()
    while done < at_least or time.perf_counter() - started < seconds:
        work()
        done += 1
    return done / (time.perf_counter() - started)


def milliseconds(work: Callable[[], object], calls: int) -> float:
    """The median time of one call."""
    times = []
    for _ in range(calls):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1000 * statistics.median(times)


def _plain(spread: Spread) -> dict[str, float]:
    return {
        "median": float(f"{spread.median:.5g}"),
        "least": float(f"{spread.least:.5g}"),
        "most": float(f"{spread.most:.5g}"),
        "rounds": spread.rounds,
    }
