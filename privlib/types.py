"""Value types that every other module shares; nothing here computes."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass


class AccountingError(RuntimeError):
    """An accountant could not prove the answer that was asked for; it never returns a guess instead."""


class Adjacency(enum.Enum):
    """Which data sets count as neighbours; the names are those of dp_accounting's ``NeighboringRelation``."""

    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    REPLACE_ONE = "replace_one"


class Trend(enum.Enum):
    """What a measurement with a sampling error says about an inequality that a paper states or implies."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNRESOLVED = "not resolved"


@dataclass(frozen=True)
class Interval:
    """A closed interval that contains the exact value; both ends are proved, neither is an estimate.

    Attributes:
        lower: certified lower bound.
        upper: certified upper bound (the number to publish as a guarantee); may be ``inf``.
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
            raise ValueError(f"Interval: need lower <= upper, got [{self.lower}, {self.upper}]")

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def midpoint(self) -> float:
        return 0.5 * (self.lower + self.upper)

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper
