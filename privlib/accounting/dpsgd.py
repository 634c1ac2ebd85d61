"""Noise and guarantee of DP-SGD by the certified accountant, the same that charges the noisy aggregates."""

from __future__ import annotations

from privlib.accounting.calibrate import smallest_beta
from privlib.accounting.certified import epsilon_interval
from privlib.guarantees import Guarantee
from privlib.mechanisms import SubsampledGaussian
from privlib.types import Adjacency


def calibrated_dpsgd(
    sampling_probability: float,
    steps: int,
    epsilon: float,
    delta: float,
    *,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE_ONE,
) -> SubsampledGaussian:
    """The run with the least noise that meets the target, within a relative 1e-6 from above; seconds.

    Args:
        sampling_probability: public chance that a picture takes part in a step, in (0, 1].
        steps: of training.
        epsilon: positive.
        delta: in (0, 1).
        adjacency: neighbouring relation; replacing a picture is charged conservatively.

    Returns:
        ``steps`` composed outputs; the noise multiplier is ``1 / gdp_mu``.
    """
    unit = SubsampledGaussian(1.0, sampling_probability, steps, adjacency)
    multiplier = smallest_beta(unit, epsilon, delta)
    return SubsampledGaussian(1.0 / multiplier, sampling_probability, steps, adjacency)


def guarantee_dpsgd(mechanism: SubsampledGaussian, delta: float) -> Guarantee:
    """The certified epsilon of a run at ``delta``."""
    return Guarantee(mechanism, delta, epsilon_interval(mechanism, delta), "privlib.accounting.certified")
