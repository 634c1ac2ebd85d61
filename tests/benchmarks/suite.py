"""The parts of the benchmark, each returning what it measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.benchmarks.attempts import Limits, Outcome, attempt, say
from tests.benchmarks.cases import Case, target_width
from tests.benchmarks.search import Found, Kind, dp, ours, prv

_REPEATS = 3


@dataclass(frozen=True)
class Comparison:
    """One mechanism, the three accountants."""

    case: Case
    width: float
    ours: Found
    others: tuple[Found, ...]

    def ratio(self, other: Found) -> float | None:
        """How many times longer the other took than ours; None where it has no interval or was stopped early."""
        if not self.ours.outcomes or other.kind not in (Kind.EQUAL, Kind.NARROWEST):
            return None
        return other.seconds / self.ours.seconds

    def disagreements(self) -> list[str]:
        """Names of accountants whose interval does not meet ours: one of the two must be wrong."""
        found = [other for other in self.others if other.lower is not None and self.ours.lower is not None]
        return [o.accountant for o in found if o.lower > self.ours.upper or o.upper < self.ours.lower]


@dataclass(frozen=True)
class Sweep:
    """Distinct mechanisms accounted one after the other in one process."""

    cases: tuple[Case, ...]
    outcome: Outcome

    @property
    def worst_width(self) -> float:
        """Largest width in units of the one asked for."""
        return max((r.upper - r.lower) / target_width(r.upper) for r in self.outcome.results)


def compare(case: Case, limits: Limits, repeats: int = _REPEATS) -> Comparison:
    """Ours, then the others at the width asked for; if that is beyond the limits, at the narrowest that they reach."""
    mine = ours(case, repeats)
    if mine.upper is None:
        return Comparison(case, math.nan, mine, ())
    width = target_width(mine.upper)
    return Comparison(case, width, mine, tuple(search(case, width, limits, True) for search in (dp, prv)))


def grow(cases: Sequence[Case], limits: Limits) -> list[Comparison]:
    """A series of ever harder cases; an accountant that misses the width once is not asked again."""
    rows: list[Comparison] = []
    searches: dict[str, Callable[[Case, float, Limits, bool], Found]] = {"dp_accounting": dp, "prv_accountant": prv}
    for case in cases:
        say(f"growth: {case.label}")
        mine = ours(case)
        width = math.nan if mine.upper is None else target_width(mine.upper)
        others = []
        for name, search in list(searches.items()):
            if mine.upper is None:
                continue
            others.append(search(case, width, limits, False))
            if others[-1].kind is not Kind.EQUAL:
                del searches[name]
        rows.append(Comparison(case, width, mine, tuple(others)))
    return rows


def sweep(cases: Sequence[Case], limits: Limits) -> Sweep:
    """All of ``cases`` by the certified accountant."""
    return Sweep(tuple(cases), attempt("certified", cases, {}, limits))
