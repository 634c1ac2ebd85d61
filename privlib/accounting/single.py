r"""One output of a Poisson-subsampled Gaussian: the privacy profile in closed form.

With ``p = (1-q) N(0,1) + q N(mu,1)`` and ``G_mu(eps)`` the Gaussian profile of ``gdp.delta_for_epsilon``,

.. math::
    H_{e^\epsilon}(p\,\|\,N_0) &= q\; G_\mu\bigl(\log(1 + (e^\epsilon - 1)/q)\bigr) \\
    H_{e^\epsilon}(N_0\,\|\,p) &= a\; G_\mu\bigl(\log(q e^\epsilon / a)\bigr),\qquad a = 1 - (1-q)e^\epsilon,

the second being 0 where ``a <= 0`` (advanced joint convexity, Balle, Barthe and Gaboardi 2018, with equality).
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

from privlib.accounting import gdp
from privlib.numerics import UNIT_ROUNDOFF
from privlib.types import Interval


def _gaussian_bounds(mu: float, epsilon: float, error: float) -> tuple[float, float]:
    """Bounds of ``log G_mu`` at an epsilon that is known up to ``error``; G_mu decreases in epsilon."""
    low, high = gdp.log_delta_bounds(mu, epsilon + error)[0], gdp.log_delta_bounds(mu, max(0.0, epsilon - error))[1]
    return low, high


def _scaled(low: float, high: float, factor: float, error: float) -> tuple[float, float]:
    """Bounds of a logarithm plus that of ``factor``, the sum being off by up to ``error`` and its rounding."""
    log_factor = math.log(factor)
    error += 4.0 * UNIT_ROUNDOFF * (abs(log_factor) + 1.0)
    if low > -math.inf:
        low += log_factor - error - 4.0 * UNIT_ROUNDOFF * abs(low)
    return low, high + log_factor + error + 4.0 * UNIT_ROUNDOFF * abs(high)


def log_delta_bounds(mu: float, q: float, epsilon: float) -> tuple[float, float]:
    """Certified bounds of ``log delta(epsilon)`` for one output, in the worse direction; ``0 < q < 1``, ``mu > 0``."""
    u = UNIT_ROUNDOFF
    inner = math.log1p(math.expm1(epsilon) / q) if epsilon < 500.0 else epsilon - math.log(q)
    low, high = _gaussian_bounds(mu, inner, 8.0 * u * (1.0 + inner))
    bounds = _scaled(low, high, q, 0.0)
    if epsilon >= -math.log1p(-q):
        return bounds
    a = q * math.exp(epsilon) - math.expm1(epsilon)
    relative = 8.0 * u * (q * math.exp(epsilon) + math.expm1(epsilon)) / a if a > 0.0 else 1.0
    if relative > 0.5:  # within rounding of the point where the added-record direction vanishes
        return bounds[0], max(bounds[1], math.log(max(a, 0.0) + 1e-15 * q) + gdp.log_delta_bounds(mu, 0.0)[1])
    inner = epsilon + math.log(q) - math.log(a)
    low, high = _gaussian_bounds(mu, max(0.0, inner), 8.0 * u * (1.0 + abs(inner)) + 2.0 * relative)
    added = _scaled(low, high, a, 2.0 * relative)
    return max(bounds[0], added[0]), max(bounds[1], added[1])


def epsilon_interval(mu: float, q: float, delta: float) -> Interval:
    """Epsilon of one output at ``delta``, bracketed; width of the order of rounding error."""
    log_delta = math.log(delta)
    low_at_zero, high_at_zero = log_delta_bounds(mu, q, 0.0)
    if high_at_zero <= log_delta:
        return Interval(0.0, 0.0)
    high = gdp.epsilon_for_delta(mu, delta) + 1.0

    def end(which: int) -> float:
        return float(
            brentq(lambda e: log_delta_bounds(mu, q, e)[which] - log_delta, 0.0, high, xtol=1e-300, rtol=1e-14)
        )

    # The two bounds are monotone up to rounding: the ends are pushed outward until the inequality itself is seen to
    # hold.
    upper = end(1)
    gap = 1e-14 * upper
    while log_delta_bounds(mu, q, upper)[1] > log_delta:
        upper, gap = upper + gap, 2.0 * gap
    lower = end(0) if low_at_zero > log_delta else 0.0
    gap = 1e-14 * max(lower, 1e-300)
    while lower > 0.0 and log_delta_bounds(mu, q, lower)[0] <= log_delta:
        lower, gap = max(0.0, lower - gap), 2.0 * gap
    return Interval(lower, upper)
