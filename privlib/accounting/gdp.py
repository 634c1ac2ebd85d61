r"""Gaussian differential privacy in closed form (Dong, Roth and Su 2022): one number ``gdp_mu`` says everything.

A mechanism is mu-GDP when telling two neighbours apart is at least as hard as telling N(0, 1) from N(mu, 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from privlib.numerics import check_delta, check_epsilon, check_gdp_mu
from privlib.types import Interval


def log_delta_for_epsilon(gdp_mu: float, epsilon: float) -> float:
    r"""Log of the exact delta; any magnitude, no cancellation down to the smallest probabilities.

    .. math:: \delta(\epsilon) = \Phi(-\epsilon/\mu + \mu/2) - e^{\epsilon}\,\Phi(-\epsilon/\mu - \mu/2)
    """
    gdp_mu, epsilon = check_gdp_mu(gdp_mu), check_epsilon(epsilon)
    if gdp_mu == 0.0:
        return -math.inf
    first = float(log_ndtr(gdp_mu / 2 - epsilon / gdp_mu))
    second = epsilon + float(log_ndtr(-gdp_mu / 2 - epsilon / gdp_mu))
    gap = second - first
    if gap >= 0.0:  # equal to the last digit: far below double precision
        return -math.inf
    return first + math.log(-math.expm1(gap))


def delta_for_epsilon(gdp_mu: float, epsilon: float) -> float:
    """Exact delta of a mu-GDP mechanism at ``epsilon`` (Balle and Wang 2018, Theorem 8)."""
    return math.exp(log_delta_for_epsilon(gdp_mu, epsilon))


def epsilon_for_delta(gdp_mu: float, delta: float) -> float:
    """Exact epsilon of a mu-GDP mechanism at ``delta``; 0 where the total variation distance is at most delta."""
    gdp_mu, delta = check_gdp_mu(gdp_mu), check_delta(delta)
    log_delta = math.log(delta)
    if gdp_mu == 0.0 or log_delta_for_epsilon(gdp_mu, 0.0) <= log_delta:
        return 0.0
    high = gdp_mu * (gdp_mu / 2 + math.sqrt(2 * -log_delta) + 1.0)
    return float(brentq(lambda e: log_delta_for_epsilon(gdp_mu, e) - log_delta, 0.0, high, xtol=1e-300, rtol=1e-14))


def mu_for_epsilon(epsilon: float, delta: float) -> float:
    """The largest mu whose mechanism is still (epsilon, delta)-private: calibrates Gaussian noise exactly."""
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    log_delta = math.log(delta)
    high = 1.0
    while log_delta_for_epsilon(high, epsilon) < log_delta:
        high *= 2.0
    low = high / 2.0
    while log_delta_for_epsilon(low, epsilon) > log_delta:
        low /= 2.0
    return float(brentq(lambda mu: log_delta_for_epsilon(mu, epsilon) - log_delta, low, high, xtol=1e-300, rtol=1e-14))


def log_delta_bounds(gdp_mu: float, epsilon: float) -> tuple[float, float]:
    """``log_delta_for_epsilon`` with its rounding error made explicit: a lower and an upper bound; ``gdp_mu > 0``.

    The two log-cdfs carry an absolute error of at most 1e-15 (1 + argument^2) each (scipy's ``log_ndtr``, checked
    against mpmath in the tests), the arguments a relative one of 4 units in the last place; the error of their
    difference is divided by ``1 - exp(gap)``.
    """
    first = gdp_mu / 2 - epsilon / gdp_mu
    second = -gdp_mu / 2 - epsilon / gdp_mu
    log_first = float(log_ndtr(first))
    gap = min(0.0, epsilon + float(log_ndtr(second)) - log_first)
    size = 2.0 + first**2 + second**2 + (epsilon / gdp_mu) ** 2 + epsilon
    error = 2e-15 * size * (1.0 + 1.0 / max(-math.expm1(gap), 1e-300))
    if error > 0.1:  # the two terms agree to almost every digit: only the first is left as a bound
        return -math.inf, log_first + 2e-15 * size
    value = log_first + math.log(-math.expm1(gap))
    return value - error, value + error


def epsilon_interval(gdp_mu: float, delta: float) -> Interval:
    """``epsilon_for_delta`` with its rounding error made explicit."""
    delta = check_delta(delta)
    if gdp_mu == 0.0 or log_delta_bounds(gdp_mu, 0.0)[1] <= math.log(delta):
        return Interval(0.0, 0.0)
    value = epsilon_for_delta(gdp_mu, delta)
    log_delta, gap = math.log(delta), 1e-15 * max(value, gdp_mu)
    upper = lower = value
    while log_delta_bounds(gdp_mu, upper)[1] > log_delta:
        upper, gap = value + gap, 2.0 * gap
    gap = 1e-15 * max(value, gdp_mu)
    while lower > 0.0 and log_delta_bounds(gdp_mu, lower)[0] <= log_delta:
        lower, gap = max(0.0, value - gap), 2.0 * gap
    return Interval(lower, upper)


def delta_interval(gdp_mu: float, epsilon: float) -> Interval:
    """``delta_for_epsilon`` with its rounding error made explicit."""
    if gdp_mu == 0.0:
        return Interval(0.0, 0.0)
    low, high = log_delta_bounds(gdp_mu, epsilon)
    return Interval(math.exp(low), min(1.0, max(math.exp(high), math.ulp(0.0))))


def compose(gdp_mus: Iterable[float]) -> float:
    """GDP parameter of an adaptive composition: the root of the sum of squares (exact for Gaussians)."""
    return math.sqrt(math.fsum(check_gdp_mu(mu) ** 2 for mu in gdp_mus))


def tradeoff(gdp_mu: float, alpha: np.ndarray) -> np.ndarray:
    r"""Smallest type II error of any test at type I error alpha: ``Phi(Phi^{-1}(1 - alpha) - mu)``.

    Args:
        gdp_mu: non-negative.
        alpha: type I errors in [0, 1], any shape.
    """
    gdp_mu, alpha = check_gdp_mu(gdp_mu), np.asarray(alpha, dtype=np.float64)
    if alpha.size and not (np.min(alpha) >= 0.0 and np.max(alpha) <= 1.0):
        raise ValueError(f"alpha must lie in [0, 1], got values from {alpha.min()} to {alpha.max()}")
    return ndtr(-ndtri(alpha) - gdp_mu)
