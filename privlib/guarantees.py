"""What is proved about a release, in one value that a page or a certificate can state completely."""

from __future__ import annotations

from dataclasses import dataclass

from privlib.aggregation import Bound, NoisyAggregate, Sampling
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

    def statement(self) -> dict[str, object]:
        """All that a statement of it has to name, as keyword arguments of ``report.privacy_statement``: one output."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "sampling": in_words(self.mechanism),
            "count": 1,
            "accountant": self.accountant,
            "kind": "certified interval",
        }


def in_words(mechanism: NoisyAggregate | SubsampledGaussian) -> str:
    """Who takes part in one release, and with how much noise."""
    if isinstance(mechanism, SubsampledGaussian):
        probability = mechanism.sampling_probability
        part = "all clipped gradients" if probability == 1.0 else f"Poisson, q = {probability:.4g}, clipped gradients"
        return f"{part} at each of {mechanism.count:,} steps, noise multiplier {1.0 / mechanism.gdp_mu:.4g}"
    taking, count = mechanism.sample_size, mechanism.num_vectors
    part = {
        Sampling.ALL: f"none, all {count:,} vectors",
        Sampling.POISSON: f"Poisson, each of {count:,} vectors with chance {taking:,}/{count:,},",
        Sampling.FIXED_SIZE: f"exactly {taking:,} of {count:,} vectors without replacement",
    }[mechanism.sampling]
    bound = "scaled" if mechanism.bound is Bound.SPHERE else "clipped"
    group = "" if mechanism.group_size == 1 else f", groups of {mechanism.group_size:,}"
    multiplier = f"noise multiplier {mechanism.noise_multiplier:.4g}"
    return f"{part} in one noisy mean, each {bound} to norm R, {multiplier}{group}"
