"""What is proved about a release, in one value that a page or a certificate can state completely."""

from __future__ import annotations

from dataclasses import dataclass

from privlib.aggregation import NoisyAggregate
from privlib.mechanisms import SubsampledGaussian
from privlib.numerics import check_delta
from privlib.types import Adjacency, Interval


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy of one mechanism.

    Attributes:
        mechanism: what was charged.
        delta: in (0, 1).
        epsilon: bracket of the smallest epsilon; its upper end is the guarantee.
        accountant: module that proved it.
    """

    mechanism: NoisyAggregate | SubsampledGaussian
    delta: float
    epsilon: Interval
    accountant: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", check_delta(self.delta))

    @property
    def adjacency(self) -> Adjacency:
        return self.mechanism.adjacency

    @property
    def group_size(self) -> int:
        """Pictures that are added, removed or replaced together; 1 for a mechanism that knows no groups."""
        return getattr(self.mechanism, "group_size", 1)
