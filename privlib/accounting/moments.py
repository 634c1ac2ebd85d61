r"""Cumulants of the privacy loss, the raw material of the Edgeworth and central-limit estimates.

For one Poisson-subsampled Gaussian, ``P = (1-q) N(0,1) + q N(mu,1)``, ``Q = N(0,1)`` and

.. math:: L(x) = \log\frac{dP}{dQ}(x) = \log(1 + y),\qquad y = q\,(e^{\mu x - \mu^2/2} - 1).

Removing a record has loss ``L`` with ``P`` as the upper law; adding one has loss ``-L`` with ``Q`` as the upper law. So
the cumulants of ``L`` under P and under Q serve both.

*Quadrature.* The trapezoidal rule on the whole line. ``L`` is analytic for ``|Im x| < pi/mu``, the Gaussian weight
everywhere, so the error falls like ``exp(-2 pi a/h)`` with the half-width ``a`` of the strip (Trefethen and Weideman
2014, Theorem 5.1); the spacing is chosen to make that about 1e-18.

*Small losses.* ``E_Q y = 0`` exactly, so the means are computed as ``E_Q(log(1+y) - y)`` and
``E_Q((1+y) log(1+y) - y)``, whose integrands have one sign. Means and variances are good to 1e-14
relative for q from 1e-6 to 1 and mu from
1e-3 to 10. Third and fourth cumulants cancel where the loss is nearly Gaussian: there their error is 1e-14 times that
power of the standard deviation, which is what the estimates that use them can feel; elsewhere it is 1e-14 relative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privlib.mechanisms import Mechanism, components_of
from privlib.numerics import check_count, check_gdp_mu, check_probability
from privlib.types import AccountingError, Adjacency

#: Beyond this many quadrature nodes (mu of several hundred) the cumulants are not computed.
_MAX_NODES = 1 << 22
#: Half-width, in standard deviations, of the Gaussian pieces; the density there is below 1e-300.
_GAUSSIAN_REACH = 38.0


@dataclass(frozen=True)
class LossCumulants:
    """Cumulants 1..4 of a privacy loss under the two laws of a pair.

    Attributes:
        upper: under the law in the numerator of the loss (tail probabilities ``P(loss > epsilon)`` of the profile).
        lower: under the law in the denominator.
    """

    upper: tuple[float, float, float, float]
    lower: tuple[float, float, float, float]

    def reversed(self) -> LossCumulants:
        """The pair with its laws exchanged: the loss changes sign, and with it the odd cumulants."""

        def negate(cumulants: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
            mean, variance, third, fourth = cumulants
            return (-mean, variance, -third, fourth)

        return LossCumulants(negate(self.lower), negate(self.upper))


def _log1p_minus(y: np.ndarray) -> np.ndarray:
    """``log(1 + y) - y`` for ``|y| <= 1/2`` to full precision, through ``log(1 + y) = 2 artanh(y / (2 + y))``."""
    s = y / (2.0 + y)
    square = s * s
    series = np.zeros_like(s)
    for k in range(18, 0, -1):
        series = (series + 1.0 / (2 * k + 1)) * square
    return s * (2.0 * series - y)


def subsampled_gaussian_cumulants(gdp_mu: float, sampling_probability: float, *, remove: bool = True) -> LossCumulants:
    """Cumulants 1..4 of the privacy loss of one Poisson-subsampled Gaussian; see the module for method and accuracy.

    Args:
        gdp_mu: shift of the Gaussian in units of its standard deviation, non-negative.
        sampling_probability: q in (0, 1].
        remove: True for the loss of removing a record (upper law: the mixture), False for adding one.

    Returns:
        LossCumulants in nats to the powers 1..4. For q = 1 the closed form ``(+-mu^2/2, mu^2, 0, 0)``.

    Raises:
        ValueError: a parameter outside its range.
        AccountingError: ``gdp_mu`` so large that the quadrature would need more than four million nodes.
    """
    mu, q = check_gdp_mu(gdp_mu), check_probability(sampling_probability)
    if mu == 0.0:
        zeros = (0.0, 0.0, 0.0, 0.0)
        return LossCumulants(zeros, zeros)
    if q == 1.0:  # both directions are the same pair
        half, square = 0.5 * mu * mu, mu * mu
        return LossCumulants((half, square, 0.0, 0.0), (-half, square, 0.0, 0.0))

    spacing = min(0.2, 0.4 / mu)
    # L^4 times a Gaussian weight peaks at most 4 mu away, and not beyond the point where q exp(mu x) turns L linear.
    farthest = mu + min(4.0 * mu, 0.5 * mu - math.log(q) / mu)
    first = -math.ceil(_GAUSSIAN_REACH / spacing)
    last = math.ceil((farthest + _GAUSSIAN_REACH) / spacing)
    if last - first > _MAX_NODES:
        raise AccountingError(f"gdp_mu = {mu:g} needs {last - first} quadrature nodes, more than {_MAX_NODES}")
    x = spacing * np.arange(first, last + 1)
    scale = spacing / math.sqrt(2.0 * math.pi)
    unsampled, sampled = scale * np.exp(-0.5 * x * x), scale * np.exp(-0.5 * (x - mu) ** 2)
    mixture = (1.0 - q) * unsampled + q * sampled

    exponent = mu * x - 0.5 * mu * mu
    small = np.abs(exponent) < 30.0
    y = q * np.expm1(np.where(small, exponent, 0.0))
    small &= np.abs(y) <= 0.5
    y = np.where(small, y, 0.0)
    loss = np.where(small, np.log1p(y), np.logaddexp(math.log1p(-q), math.log(q) + exponent))
    rest = _log1p_minus(y)
    lower_mean = np.where(small, unsampled * rest, unsampled * loss - q * (sampled - unsampled)).sum()
    upper_mean = np.where(
        small, unsampled * ((1.0 + y) * rest + y * y), mixture * loss - q * (sampled - unsampled)
    ).sum()

    def cumulants(mean: float, weight: np.ndarray) -> tuple[float, float, float, float]:
        centred = loss - mean
        second, third, fourth = (float((weight * centred**power).sum()) for power in (2, 3, 4))
        return (float(mean), second, third, fourth - 3.0 * second**2)

    removing = LossCumulants(cumulants(upper_mean, mixture), cumulants(lower_mean, unsampled))
    return removing if remove else removing.reversed()


def loss_cumulants(mechanism: Mechanism, *, remove: bool = True) -> LossCumulants:
    """Cumulants 1..4 of the privacy loss of the whole mechanism: those of independent outputs add up.

    Args:
        mechanism: a subsampled Gaussian or a composition. ``REPLACE_ONE`` is charged at twice the shift, as everywhere.
        remove: direction, as in ``subsampled_gaussian_cumulants``.

    Cost: one quadrature (about a thousand nodes) for each distinct component, whatever the counts.
    """
    upper, lower = np.zeros(4), np.zeros(4)
    components = components_of(mechanism)
    shift = 2.0 if mechanism.adjacency is Adjacency.REPLACE_ONE else 1.0
    for component in components:
        one = subsampled_gaussian_cumulants(shift * component.gdp_mu, component.sampling_probability, remove=remove)
        upper += component.count * np.asarray(one.upper)
        lower += component.count * np.asarray(one.lower)
    return LossCumulants(tuple(upper.tolist()), tuple(lower.tolist()))


def with_replacement_probability(batch_size: int, num_records: int) -> float:
    """Chance ``1 - (1 - 1/n)^B`` that a record is in a block of B draws with replacement; a little below B/n.

    The Edgeworth and CLT columns of the paper are reproduced to their printed digits with this as
    ``sampling_probability``, while its PLD and RDP columns need ``B/n``. The paper does not say so; it is inferred
    from the numbers. It is a parameter for estimates only: a Poisson block of rate B/n is what the certified columns
    charge.

    Args:
        batch_size: B, at least 1.
        num_records: n, at least 1.
    """
    batch_size, num_records = check_count(batch_size, "batch_size"), check_count(num_records, "num_records")
    if num_records == 1:
        return 1.0
    return -math.expm1(batch_size * math.log1p(-1.0 / num_records))
