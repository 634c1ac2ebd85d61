"""Which setting meets a target epsilon: every accountant inverted for one quantity, on the certified upper end.

Each answer is safe: at the value returned, the certified upper end of epsilon is at most the target. Whole-number
answers are the largest that are; the continuous one is within a relative 1e-6 of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from privlib.accounting.certified import epsilon_interval
from privlib.accounting.rdp import rdp_epsilon
from privlib.mechanisms import SubsampledGaussian, reverse_sde_gdp_mu
from privlib.numerics import check_count, check_delta, check_positive, check_sigmas
from privlib.types import AccountingError, Adjacency


def largest_count(
    mechanism: SubsampledGaussian, epsilon: float, delta: float, *, limit: int = 10**9, tolerance: float = 1e-3
) -> int:
    """The largest number of outputs (in place of ``mechanism.count``) that meets the target, at most ``limit``.

    Args:
        mechanism: one output is described by its other fields.
        epsilon: target, positive.
        delta: in (0, 1).
        limit: largest answer to consider.
        tolerance: width that the bracket of each epsilon may have.

    Raises:
        AccountingError: a single output already exceeds the target.
    """
    return _largest(
        lambda count: replace(mechanism, count=count), check_count(limit, "limit"), epsilon, delta, tolerance, "count"
    )


def largest_batch_size(
    mechanism: SubsampledGaussian, num_records: int, epsilon: float, delta: float, *, tolerance: float = 1e-3
) -> int:
    """The largest block size B (sampling probability ``B / num_records``) that meets the target; arguments as above."""
    num_records = check_count(num_records, "num_records")
    return _largest(
        lambda batch: replace(mechanism, sampling_probability=batch / num_records),
        num_records,
        epsilon,
        delta,
        tolerance,
        "batch_size",
    )


def latest_handoff(
    sigmas: object,
    sampling_probability: float,
    count: int,
    epsilon: float,
    delta: float,
    *,
    beta: float = 1.0,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE_ONE,
    tolerance: float = 1e-3,
) -> int:
    """The largest number of private steps, from the start of the grid, that meets the target."""
    levels = check_sigmas(sigmas)
    squares = reverse_sde_gdp_mu(levels, sensitivity=1.0 / check_positive("beta", beta)).square().cumsum(0)

    def block(steps: int) -> SubsampledGaussian:
        return SubsampledGaussian(float(squares[steps - 1].sqrt()), sampling_probability, count, adjacency)

    return _largest(block, squares.numel(), epsilon, delta, tolerance, "num_steps")


def smallest_beta(mechanism: SubsampledGaussian, epsilon: float, delta: float, *, tolerance: float = 1e-3) -> float:
    """The smallest factor by which ``gdp_mu`` must be divided to meet the target.

    For a block described at beta = 1 this is beta itself, since the sensitivity is ``1 / beta``. Within a relative
    1e-6, from above.
    """
    epsilon, delta = check_positive("epsilon", epsilon), check_delta(delta)

    def meets(beta: float) -> bool:
        return _upper(replace(mechanism, gdp_mu=mechanism.gdp_mu / beta), delta, tolerance) <= epsilon

    high = 1.0
    while not meets(high):
        high *= 2.0
    low = 0.5 * high
    while meets(low):
        low, high = 0.5 * low, low
        if low < 1e-9:
            raise AccountingError(f"epsilon = {epsilon:g} is met for every beta down to 1e-9")
    while high > low * (1.0 + 1e-6):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def _single_lower(mechanism: SubsampledGaussian, delta: float) -> float:
    return epsilon_interval(replace(mechanism, count=1), delta).lower


def _upper(mechanism: SubsampledGaussian, delta: float, tolerance: float) -> float:
    return epsilon_interval(mechanism, delta, tolerance=tolerance).upper


def _largest(
    build: Callable[[int], SubsampledGaussian], limit: int, epsilon: float, delta: float, tolerance: float, name: str
) -> int:
    """Largest whole number in 1..limit whose mechanism meets the target, by doubling and bisection."""
    epsilon, delta = check_positive("epsilon", epsilon), check_delta(delta)
    tolerance = check_positive("tolerance", tolerance)

    def meets(value: int) -> bool:
        # The Renyi bound is proved too, and takes milliseconds where few outputs make the exact bracket slow.
        mechanism = build(value)
        # One of the outputs costs no more than all, and its closed form holds out where epsilon is astronomical.
        if _single_lower(mechanism, delta) > epsilon:
            return False
        return rdp_epsilon(mechanism, delta) <= epsilon or _upper(mechanism, delta, tolerance) <= epsilon

    if not meets(1):
        raise AccountingError(f"epsilon = {epsilon:g} at delta = {delta:g} is exceeded already at {name} = 1")
    low, high = 1, 2
    while high <= limit and meets(high):
        low, high = high, 2 * high
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low
