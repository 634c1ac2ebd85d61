r"""Renyi differential privacy of Poisson-subsampled Gaussians: a certified bound on epsilon, looser than ``certified``.

With ``A(a) = E_Q (dP/dQ)^a`` for ``P = (1-q) N(0,1) + q N(mu,1)`` and ``Q = N(0,1)``, the Renyi divergence of order
``a > 1`` is

.. math:: D_a(P\|Q) = \frac{\log A(a)}{a-1},

it is at least ``D_a(Q||P)`` (Mironov, Talwar and Zhang 2019, Theorem 5), so it covers adding and removing a record
alike, and it adds up over outputs. Two ways to compute it:

*Integer orders*, as in the paper's column. The binomial sum of Mironov, Talwar and Zhang (2019), Section 3.3, with the
terms of order 0 and 1 taken out so that every remaining term is positive and small losses keep their digits:

.. math:: A(a) = 1 + \sum_{k=2}^{a} \binom{a}{k} (1-q)^{a-k} q^k \bigl(e^{k(k-1)\mu^2/2} - 1\bigr).

*Real orders*, our better answer. The trapezoidal rule with a proved error bound (``_real_nodes``), never a truncated
series.

A divergence of order ``a`` gives, for every delta (Canonne, Kamath and Steinke 2020, Proposition 12; Balle et al.
2020),

.. math:: \epsilon = D_a + \log\frac{a-1}{a} - \frac{\log\delta + \log a}{a-1}.

Every order yields a valid bound, so a search for the best one can only lose tightness, never validity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, log_ndtr, logsumexp, ndtr

from privlib.mechanisms import Mechanism, components_of
from privlib.numerics import UNIT_ROUNDOFF, check_delta, check_positive
from privlib.types import AccountingError, Adjacency

#: Search range of ``log(order - 1)``, first tried and widest, and its spacing.
_FIRST_RANGE = (-4.0, 4.0)
_WIDEST_RANGE = (-24.0, 14.0)
_SPACING = 0.5
#: Largest integer order, first tried and at most.
_FIRST_INTEGER, _LAST_INTEGER = 64, 1 << 13
#: Quadrature nodes above which a moment is refused.
_MAX_NODES = 1 << 22


@dataclass(frozen=True)
class RenyiBound:
    """A certified upper bound of epsilon, and the order whose divergence proves it."""

    epsilon: float
    order: float


@dataclass(frozen=True)
class _Charges:
    """A mechanism as counts of distinct pairs (mu, q), and the squared GDP parameter of its full-batch outputs."""

    counts: dict[tuple[float, float], int]
    pure_square: float


def _charges(mechanism: Mechanism) -> _Charges:
    # A replaced record moves a clipped sum twice as far as an added one; charging less would under-report.
    shift = 2.0 if components_of(mechanism)[0].adjacency is Adjacency.REPLACE_ONE else 1.0
    if shift == 2.0 and any(component.sampling_probability < 1.0 for component in components_of(mechanism)):
        # Twice the shift bounds one output's profile, but not the profile at negative epsilons that a composition
        # needs.
        raise AccountingError(
            "no Renyi bound is proved for REPLACE_ONE with sampling_probability < 1; use certified.epsilon_interval"
        )
    counts: dict[tuple[float, float], int] = {}
    pure_square = 0.0
    for component in components_of(mechanism):
        mu = shift * component.gdp_mu
        if mu == 0.0:
            continue
        if component.sampling_probability == 1.0:
            pure_square += component.count * mu * mu
        else:
            pair = (mu, component.sampling_probability)
            counts[pair] = counts.get(pair, 0) + component.count
    return _Charges(counts, pure_square)


def _log_moment_integer(mu: float, q: float, order: int) -> float:
    """``log A(order)`` by the binomial sum, rounded up by a bound of its floating-point error."""
    k = np.arange(2, order + 1)
    growth = 0.5 * k * (k - 1.0) * mu * mu
    log_binomial = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    log_weight = log_binomial + k * math.log(q) + (order - k) * math.log1p(-q)
    terms = log_weight + growth + np.log(-np.expm1(-growth))
    size = 3.0 * gammaln(order + 1) + order * abs(math.log(q)) + growth[-1] + order
    return float(np.logaddexp(0.0, logsumexp(terms) + 8.0 * UNIT_ROUNDOFF * size))


def _real_nodes(mu: float, q: float, order: float) -> tuple[float, np.ndarray]:
    """Spacing and nodes for which the trapezoidal rule is off by less than 1e-17 of ``A(order)``, order >= 1.

    *Spacing.* ``|g(x + iy)| <= g(x)`` for ``mu |y| < pi`` (a convex combination of 1 and a complex number), so on the
    strip ``|y| <= a`` the integrand ``g^order phi`` has integral at most ``exp(a^2/2) A``, and the rule is off by at
    most ``2 exp(a^2/2) A / (exp(2 pi a/h) - 1)`` (Trefethen and Weideman 2014, Theorem 5.1).

    *Range.* Left of ``-12``, ``g <= 1``. Right of X there are two bounds of the missing part, relative to
    ``A >= max(1, q^r exp(mu^2 r(r-1)/2))``: through ``g <= rho q exp(mu x - mu^2/2)``, ``rho`` being that ratio at X,
    and through convexity, ``g^r <= 1 - q + q exp(r (mu x - mu^2/2))``.
    """
    width = min(8.0, 3.0 / mu)
    spacing = 2.0 * math.pi * width / (0.5 * width * width + 42.0)
    peak = order * mu
    right = peak + 12.0

    def log_missing(x: float) -> float:
        log_rho = float(np.logaddexp(0.0, math.log1p(-q) - math.log(q) - mu * x + 0.5 * mu * mu))
        by_convexity = float(np.logaddexp(0.0, math.log(q) + 0.5 * mu * mu * order * (order - 1.0)))
        return min(order * log_rho, by_convexity) + float(log_ndtr(peak - x))

    while log_missing(right) > -41.0:
        right += 4.0
    count = math.ceil(right / spacing) + math.ceil(12.0 / spacing) + 1
    if count > _MAX_NODES:
        raise AccountingError(
            f"the Renyi divergence of order {order:.9g} at gdp_mu = {mu:g} needs {count} quadrature nodes, "
            f"more than {_MAX_NODES}"
        )
    return spacing, spacing * np.arange(-math.ceil(12.0 / spacing), math.ceil(right / spacing) + 1)


def _log_moment_real(mu: float, q: float, order: float) -> float:
    """``log A(order)`` by quadrature, rounded up by a bound of its error.

    To first order, with constants doubled: an argument ``mu x - mu^2/2`` is off by a few units of its two parts,
    ``log g`` inherits that with the factor ``d log g / d(mu x) < 1``, and a weight is off by a few units and those of
    its exponent.
    """
    spacing, x = _real_nodes(mu, q, order)
    t = mu * x - 0.5 * mu * mu
    log_mixed = np.logaddexp(math.log1p(-q), math.log(q) + t)
    y = q * np.expm1(np.minimum(t, 30.0))
    small = (t < 30.0) & (np.abs(y) < 0.5)
    loss = np.where(small, np.log1p(np.where(small, y, 0.0)), log_mixed)
    slope = np.exp(np.minimum(math.log(q) + t - log_mixed, 0.0))
    loss_error = 8.0 * slope * (mu * np.abs(x) + mu * mu) + 8.0 * np.abs(loss)
    # Where y is not small, log g is the log of a sum of two terms whose logs carry units of their own size.
    loss_error += np.where(small, 0.0, 8.0 * (1.0 + abs(math.log1p(-q)) + slope * abs(math.log(q))))

    power = order * loss
    log_weight = math.log(spacing) - 0.5 * math.log(2.0 * math.pi) - 0.5 * x * x
    shift = float((power + log_weight).max())
    if shift < 0.0:
        # A - 1 = sum of w (g^r - 1): nothing is lost where the whole sum is next to 1.
        weight = np.exp(log_weight)
        tilted = np.exp(power + log_weight)
        excess = np.where(power < 1.0, weight * np.expm1(np.minimum(power, 1.0)), tilted - weight)
        error = (np.abs(excess) * (x * x + np.abs(power) + 64.0) + tilted * order * loss_error).sum()
        return math.log1p(float(excess.sum()) + 2.0 * UNIT_ROUNDOFF * float(error) + 1e-17)
    terms = np.exp(power + log_weight - shift)
    total = float(terms.sum())
    error = float((terms * (x * x + np.abs(power) + abs(shift) + 64.0 + order * loss_error)).sum()) / total
    return shift + math.log(total) + 2.0 * UNIT_ROUNDOFF * error


def _divergence(charges: _Charges, order: float) -> float:
    total = 0.5 * order * charges.pure_square
    log_moment = _log_moment_integer if isinstance(order, int) else _log_moment_real
    for (mu, q), count in charges.counts.items():
        total += count * log_moment(mu, q, order) / (order - 1.0)
    return total


def renyi_divergence(mechanism: Mechanism, order: float) -> float:
    """Renyi divergence of the whole mechanism, worst direction, rounded up by its numerical error.

    Args:
        mechanism: a subsampled Gaussian or a composition; ``REPLACE_ONE`` is charged at
            twice the shift and refused with subsampling, where that is not proved.
        order: above 1. A Python ``int`` is computed by the binomial sum, a ``float`` by quadrature.

    Returns:
        The divergence in nats, non-negative.

    Raises:
        ValueError: ``order`` not above 1.
        AccountingError: the quadrature could not resolve the moment.
    """
    if check_positive("order", order) <= 1.0:
        raise ValueError(f"order must lie in (1, inf), got {order!r}")
    return _divergence(_charges(mechanism), order)


def epsilon_from_divergence(divergence: float, order: float, delta: float) -> float:
    """Epsilon that a Renyi divergence of one order proves at ``delta``; at most 0 if it proves (0, delta)."""
    # log(1 - 1/order) through order - 1, which is exact, so that orders next to 1 lose nothing.
    gain = math.log(order - 1.0) - math.log(order)
    return divergence + gain - (math.log(delta) + math.log(order)) / (order - 1.0)


def _best_integer(charges: _Charges, delta: float) -> RenyiBound:
    last = _FIRST_INTEGER
    while last <= _LAST_INTEGER:
        bounds = [epsilon_from_divergence(_divergence(charges, a), a, delta) for a in range(2, last + 1)]
        best = int(np.argmin(bounds))
        if best < len(bounds) - 1:  # order 2 is the least integer there is, not an edge that could be widened
            return RenyiBound(bounds[best], best + 2)
        last *= 4
    raise AccountingError(f"the best integer Renyi order lies beyond {_LAST_INTEGER}; use orders='real'")


def _best_real(charges: _Charges, delta: float) -> RenyiBound:
    def bound(log_excess: float) -> float:
        order = 1.0 + math.exp(log_excess)
        return epsilon_from_divergence(_divergence(charges, order), order, delta)

    low, high = _FIRST_RANGE
    values = {x: bound(x) for x in np.arange(low, high + _SPACING / 2, _SPACING).tolist()}
    while True:
        best = min(values, key=values.__getitem__)
        if low < best < high:
            break
        if best == low:
            low -= _SPACING
            edge = low
        else:
            high += _SPACING
            edge = high
        if not _WIDEST_RANGE[0] <= edge <= _WIDEST_RANGE[1]:
            least, largest = (math.exp(end) for end in _WIDEST_RANGE)
            raise AccountingError(
                f"the best Renyi order is not between 1 + {least:.2g} and {largest:.2g} "
                f"at delta = {delta:g}; no bound is reported from the edge of the search"
            )
        values[edge] = bound(edge)
    found = minimize_scalar(bound, bounds=(best - _SPACING, best + _SPACING), method="bounded", options={"xatol": 1e-6})
    if found.fun < values[best]:
        best, value = float(found.x), float(found.fun)
    else:
        value = values[best]
    return RenyiBound(value, 1.0 + math.exp(best))


def best_renyi_bound(mechanism: Mechanism, delta: float, *, orders: Literal["real", "integer"] = "real") -> RenyiBound:
    """The best Renyi bound of epsilon and its order (``inf`` where none was needed); see ``rdp_epsilon``."""
    delta = check_delta(delta)
    if orders not in ("real", "integer"):
        raise ValueError(f"orders must be 'real' or 'integer', got {orders!r}")
    charges = _charges(mechanism)
    # Total variation distances add up at most; within delta, (0, delta) holds and there is no order to look for.
    variation = 2.0 * ndtr(0.5 * math.sqrt(charges.pure_square)) - 1.0
    variation += sum(count * q * math.erf(mu / math.sqrt(8.0)) for (mu, q), count in charges.counts.items())
    if variation * (1.0 + 1e-12) <= delta:
        return RenyiBound(0.0, math.inf)
    found = _best_integer(charges, delta) if orders == "integer" else _best_real(charges, delta)
    # The conversion holds for every epsilon >= 0 and decreases in it: a root below 0 proves delta(0) <= delta.
    return RenyiBound(max(0.0, found.epsilon), found.order)


def rdp_epsilon(mechanism: Mechanism, delta: float, *, orders: Literal["real", "integer"] = "real") -> float:
    """Certified upper bound of epsilon by Renyi differential privacy, for the worst direction of the adjacency.

    Valid up to the rounding of a few additions (1e-14 relative); errors of sums and quadratures are added to the bound.

    Args:
        mechanism: a subsampled Gaussian or a composition; ``REPLACE_ONE`` is charged at
            twice the shift and refused with subsampling, where that is not proved.
        delta: in (0, 1).
        orders: ``"integer"`` for orders 2, 3, ... only, as the paper's tables have it; ``"real"`` for the best real
        order.

    Returns:
        Epsilon in nats; 0 only where (0, delta) is proved.

    Raises:
        ValueError: a parameter outside its range.
        AccountingError: the best order lies at the edge of the widest search, or its divergence cannot be resolved.

    Cost: about 30 one-dimensional quadratures for each distinct component (some 20 ms together).
    """
    return best_renyi_bound(mechanism, delta, orders=orders).epsilon
