"""Independent evaluations that the accounting tests compare with: mpmath, and quadrature without error bound."""

from __future__ import annotations

import math

import mpmath
import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr


def ratio(mu: float, q: float, x: mpmath.mpf) -> mpmath.mpf:
    return (1 - mpmath.mpf(q)) + mpmath.mpf(q) * mpmath.exp(mpmath.mpf(mu) * x - mpmath.mpf(mu) ** 2 / 2)


def transform(mu: float, q: float, r: float, omega: float, digits: int = 40) -> mpmath.mpc:
    """``E g^(r + i omega)`` by an over-resolved trapezoidal rule in high precision."""
    with mpmath.workdps(digits):
        h = mpmath.mpf(min(0.06, 0.25 / mu, 1.2 / (1 + mu * omega)))
        left = 14 + math.sqrt(max(0.0, -2 * r * -math.log1p(-q)))
        right = 14 + max(0.0, r) * mu
        exponent = mpmath.mpc(r, omega)
        nodes = (k * h for k in range(-int(left / h) - 1, int(right / h) + 2))
        return h * mpmath.fsum(mpmath.npdf(x) * mpmath.exp(exponent * mpmath.log(ratio(mu, q, x))) for x in nodes)


def gaussian_delta(mu: float, epsilon: mpmath.mpf) -> mpmath.mpf:
    cdf = lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2
    return cdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * cdf(-mu / 2 - epsilon / mu)


def single_delta(mu: float, q: float, epsilon: mpmath.mpf, remove: bool) -> mpmath.mpf:
    """One output, any real epsilon, from the point where the density ratio crosses its threshold."""
    mu, q = mpmath.mpf(mu), mpmath.mpf(q)
    cdf = lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2
    a = mpmath.exp(epsilon)
    threshold = a if remove else 1 / a
    odds = (threshold - (1 - q)) / q
    if odds <= 0:  # the ratio is above the threshold everywhere
        return 1 - a if remove else mpmath.mpf(0)
    x = mpmath.log(odds) / mu + mu / 2
    if remove:
        return (1 - q) * cdf(-x) + q * cdf(mu - x) - a * cdf(-x)
    return cdf(x) - a * ((1 - q) * cdf(x) + q * cdf(x - mu))


def pair_delta(mu: float, q: float, other, epsilon: float, remove: bool) -> float:
    """One output beside any mechanism of known profile: ``E other(epsilon - loss)`` by mpmath quadrature."""
    with mpmath.workdps(30):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)

        def integrand(x: mpmath.mpf) -> mpmath.mpf:
            loss = mpmath.log(ratio(mu, q, x))
            density = mpmath.npdf(x) * (ratio(mu, q, x) if remove else 1)
            return density * other(e - (loss if remove else -loss))

        return float(mpmath.quad(integrand, mpmath.linspace(-12, 12 + m, 25)))


def composed_delta(terms: list[tuple[float, float, int]], epsilon: float, remove: bool, c: float) -> float:
    """Inversion integral of the profile on the line Re z = c by the plain trapezoidal rule, without error bound."""
    x = np.arange(-12.0, 14.0 + (1 + c) * max(m for m, _, _ in terms), 0.01)
    logs = [np.log1p(q * np.expm1(np.minimum(m * x - m * m / 2, 700.0))) for m, q, _ in terms]
    base = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * 0.01

    def log_transform(z: complex) -> complex:
        w = 1 + z if remove else -z
        return sum(n * np.log(np.sum(base * np.exp(w * lg))) for (_, _, n), lg in zip(terms, logs, strict=True))

    step = 2 * math.pi / (120.0 / c)
    total, j = 0.0, 0
    while True:
        z = c + 1j * j * step
        # exp(n log A) does not depend on the branch of the logarithm, since n is whole.
        term = np.exp(log_transform(z) - z * epsilon) / (z * (z + 1))
        total += (1.0 if j else 0.5) * term.real
        if (abs(term) < 1e-15 * abs(total) and j > 20) or j > 40_000:
            return float(step / math.pi * total)
        j += 1


def single_epsilon(mu: float, q: float, delta: float) -> float:
    """Root of the one-output profile in double precision, both directions, by another route than the library's."""

    def log_delta(e: float) -> float:
        def gauss(v: float) -> float:
            return math.exp(log_ndtr(mu / 2 - v / mu)) - math.exp(v + log_ndtr(-mu / 2 - v / mu))

        removed = q * gauss(math.log1p(math.expm1(e) / q))
        weight = 1 - (1 - q) * math.exp(e)
        added = weight * gauss(math.log(q * math.exp(e) / weight)) if weight > 1e-12 else 0.0
        return max(removed, added) - delta

    return 0.0 if log_delta(0.0) <= 0 else brentq(log_delta, 0.0, 100.0, xtol=1e-15, rtol=1e-12)
