r"""What one noisy aggregate costs, and how much noise a target asks for: exactly, not by the classical formula.

In units of the noise one vector of norm R is ``mu = 1 / z`` long (z the noise multiplier), k the size of the group:

=============  ===================  ==============================================================================
sampling       adjacency            what is charged
=============  ===================  ==============================================================================
``ALL``        add or remove        Gaussian mechanism, mu-GDP with ``k mu``: exact
``ALL``        replace              the same with ``2 k mu``: exact
``POISSON``    add or remove        k = 1: the pair of ``certified``; k > 1: ``mixtures`` with binomial weights: exact
``POISSON``    replace              ``mixtures``, binomial weights on both sides: exact
``FIXED_SIZE`` replace              k = 1: amplification, delta' = q G_{2 mu}(log(1 + (e^eps - 1)/q)): exact;
                                    k > 1: ``mixtures`` with hypergeometric weights: proved from both sides
=============  ===================  ==============================================================================

"Exact" means that some data set attains the number; the interval's width is rounding. The classical calibration,
``sqrt(2 log(1.25 / delta)) / epsilon`` times the sensitivity, is proved for epsilon up to 1 only (Dwork and Roth 2014),
spends more noise than needed there, and in the end too little beyond (Balle and Wang 2018).
"""

from __future__ import annotations

import math
from dataclasses import replace

from scipy.optimize import brentq
from scipy.special import gammaln
from scipy.stats import binom

from privlib.accounting import certified
from privlib.accounting.mixtures import fixed_size_log_upper, line_log_bounds
from privlib.aggregation import NoisyAggregate, Sampling
from privlib.guarantees import Guarantee
from privlib.mechanisms import SubsampledGaussian
from privlib.numerics import check_count, check_delta, check_epsilon
from privlib.types import AccountingError, Adjacency, Interval

_CERTIFIED, _MIXTURES = "privlib.accounting.certified", "privlib.accounting.mixtures"
#: Noise multipliers between which a calibration looks.
_LEAST, _MOST = 1e-3, 1e9


def participation(mechanism: NoisyAggregate) -> list[float]:
    """Chances that 0, 1, ..., k pictures of the group take part, shape (k + 1,)."""
    n, m, k = mechanism.num_vectors, mechanism.sample_size, mechanism.group_size
    if m == n:
        return [0.0] * k + [1.0]
    if mechanism.sampling is Sampling.POISSON:
        return binom.pmf(range(k + 1), k, m / n).tolist()
    return _hypergeometric(n, m, k)


def _hypergeometric(n: int, m: int, k: int) -> list[float]:
    """Chances that 0, ..., k of k pictures are among m of n: one picture after the other, sums of positive terms only.

    The relative error is some k roundings at any n; scipy's goes through log-gamma and loses digits as n grows.
    """
    weights = [1.0]
    for seen in range(k):
        left = n - seen
        after = [0.0] * (seen + 2)
        for taken, weight in enumerate(weights):
            after[taken + 1] += weight * max(m - taken, 0) / left
            after[taken] += weight * max(left - (m - taken), 0) / left
        weights = after
    return weights


def delta_interval(mechanism: NoisyAggregate, epsilon: float) -> Interval:
    """The smallest delta for which the release is (epsilon, delta)-private, bracketed; milliseconds.

    Args:
        mechanism: with noise.
        epsilon: in [0, inf).

    Raises:
        ValueError: an epsilon outside its range, or a mechanism without noise.
    """
    epsilon = check_epsilon(epsilon)
    plain = _as_subsampled(mechanism)
    if plain is not None:
        return certified.delta_interval(plain, epsilon)
    low, high = _log_delta_bounds(mechanism, epsilon)
    return Interval(math.exp(low), min(1.0, max(math.exp(high), math.ulp(0.0))))


def epsilon_interval(mechanism: NoisyAggregate, delta: float) -> Interval:
    """The smallest epsilon for which the release is (epsilon, delta)-private, bracketed; up to a tenth of a second.

    Args:
        mechanism: with noise.
        delta: in (0, 1).

    Raises:
        ValueError: a delta outside its range, or a mechanism without noise.
    """
    delta = check_delta(delta)
    plain = _as_subsampled(mechanism)
    if plain is not None:
        return certified.epsilon_interval(plain, delta)
    log_delta = math.log(delta)

    def excess(epsilon: float, end: int) -> float:
        # Beyond any root the logarithm may be minus infinity, which a root finder cannot use.
        return max(_log_delta_bounds(mechanism, epsilon)[end], -1e5) - log_delta

    # The whole group in every sample costs more than any sample.
    far = _everyone(mechanism, delta).upper + 1.0

    def root(end: int) -> float:
        if excess(0.0, end) <= 0.0:
            return 0.0
        return float(brentq(lambda epsilon: excess(epsilon, end), 0.0, far, xtol=1e-14, rtol=1e-13))

    upper, lower = root(1), root(0)
    gap = 1e-13 * (1.0 + upper)
    while upper > 0.0 and excess(upper, 1) > 0.0:
        upper, gap = upper + gap, 2.0 * gap
    gap = 1e-13 * (1.0 + lower)
    while lower > 0.0 and excess(lower, 0) <= 0.0:
        lower, gap = max(0.0, lower - gap), 2.0 * gap
    if lower > upper:
        raise AccountingError(f"the ends of epsilon cross, {lower!r} above {upper!r}: an error bound is too small")
    return Interval(lower, upper)


def guarantee(mechanism: NoisyAggregate, delta: float) -> Guarantee:
    """The certified epsilon of one release at ``delta``, with everything that a statement of it has to name."""
    accountant = _MIXTURES if _as_subsampled(mechanism) is None else _CERTIFIED
    return Guarantee(mechanism, delta, epsilon_interval(mechanism, delta), accountant)


def calibrated(mechanism: NoisyAggregate, epsilon: float, delta: float) -> NoisyAggregate:
    """The mechanism with the smallest noise multiplier that meets the target, within a relative 1e-9 from above.

    Args:
        mechanism: its noise multiplier is ignored.
        epsilon: positive; ``inf`` asks for no noise, and the release is then not private.
        delta: in (0, 1), below the chance that one of the group takes part: otherwise no noise at all would be asked
            for, and pictures would be published as they are with a chance of up to delta.

    Returns:
        the mechanism; the upper end of its ``epsilon_interval`` at ``delta`` is at most ``epsilon``.

    Raises:
        ValueError: a parameter outside its range.
        AccountingError: the noise multiplier would lie outside [1e-3, 1e9].
    """
    if epsilon == math.inf:
        return replace(mechanism, noise_multiplier=0.0)
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if epsilon == 0.0:
        raise ValueError("epsilon must lie in (0, inf], got 0.0")
    chance = 1.0 - participation(mechanism)[0]
    if delta >= chance:
        raise ValueError(
            f"delta must be below {chance:.4g}, the chance that a picture of the group takes part, got {delta:g}: "
            "at this delta the definition would allow to publish it without any noise"
        )

    def meets(multiplier: float) -> bool:
        return delta_interval(replace(mechanism, noise_multiplier=multiplier), epsilon).upper <= delta

    low = high = 1.0
    while not meets(high):
        low, high = high, 2.0 * high
        if high > _MOST:
            raise AccountingError(
                f"epsilon = {epsilon:g}, delta = {delta:g} asks for a noise multiplier above {_MOST:g}"
            )
    while high == 1.0 and meets(low):
        low *= 0.5
        if low < _LEAST:
            raise AccountingError(
                f"epsilon = {epsilon:g}, delta = {delta:g} is met by noise multipliers below {_LEAST:g}"
            )
    while high > low * (1.0 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if meets(middle) else (middle, high)
    step = 1e-13
    # Epsilon at delta and delta at epsilon are rounded outward separately.
    while epsilon_interval(replace(mechanism, noise_multiplier=high), delta).upper > epsilon:
        high, step = high * (1.0 + step), 2.0 * step
    return replace(mechanism, noise_multiplier=high)


def expected_noise_norm(mechanism: NoisyAggregate, dimension: int) -> float:
    r"""Mean L2 norm of the noise in the released mean, noise_std times :math:`\sqrt 2\,\Gamma((d+1)/2)/\Gamma(d/2)`.

    The factor is just below the root of the dimension d, of one vector.
    """
    dimension = check_count(dimension, "dimension")
    factor = math.sqrt(2.0) * math.exp(gammaln((dimension + 1) / 2) - gammaln(dimension / 2))
    return mechanism.noise_std * float(factor)


def _as_subsampled(mechanism: NoisyAggregate) -> SubsampledGaussian | None:
    """An equally hard pair that ``certified`` brackets tightly, if there is one, under adding or removing."""
    if mechanism.noise_multiplier == 0.0:
        raise ValueError("noise_multiplier is 0: a release without noise has no finite epsilon")
    shift = (2.0 if mechanism.adjacency is Adjacency.REPLACE_ONE else 1.0) / mechanism.noise_multiplier
    if mechanism.sample_size == mechanism.num_vectors:
        return SubsampledGaussian(mechanism.group_size * shift)
    poisson_replaced = mechanism.sampling is Sampling.POISSON and mechanism.adjacency is Adjacency.REPLACE_ONE
    if mechanism.group_size > 1 or poisson_replaced:
        return None
    return SubsampledGaussian(shift, mechanism.sampling_probability)


def _everyone(mechanism: NoisyAggregate, delta: float) -> Interval:
    sampling, n = Sampling.ALL, mechanism.num_vectors
    return epsilon_interval(replace(mechanism, sampling=sampling, sample_size=n), delta)


def _log_delta_bounds(mechanism: NoisyAggregate, epsilon: float) -> tuple[float, float]:
    """Bounds of log delta in the worse order, where ``certified`` has no tight pair."""
    weights, nu = participation(mechanism), 1.0 / mechanism.noise_multiplier
    if mechanism.sampling is Sampling.POISSON and mechanism.adjacency is Adjacency.REPLACE_ONE:
        return line_log_bounds(weights, weights, nu, epsilon)
    if mechanism.sampling is Sampling.FIXED_SIZE:
        nu *= 2.0
    orders = [line_log_bounds(weights, [1.0], nu, epsilon), line_log_bounds([1.0], weights, nu, epsilon)]
    lower, upper = max(low for low, _ in orders), max(high for _, high in orders)
    if mechanism.sampling is Sampling.FIXED_SIZE:
        upper = fixed_size_log_upper(weights, nu, epsilon)
    return lower, upper
