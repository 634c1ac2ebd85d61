r"""Edgeworth estimate of epsilon from four cumulants of the privacy loss: fast, and no bound in either direction.

Let S be the loss of the whole mechanism, with mean m, standard deviation s and ``rho_3 = k_3/s^3``,
``rho_4 = k_4/s^4`` under one of the two laws. With ``z = (x - m)/s`` and Hermite polynomials ``He``, the
expansion of degree 2 is

.. math:: P(S > x) \approx \Phi(-z) + \varphi(z)\Bigl[\tfrac{\rho_3}{6} He_2(z)
          + \tfrac{\rho_4}{24} He_3(z) + \tfrac{\rho_3^2}{72} He_5(z)\Bigr],

degree 1 keeps the first correction only (Wallace 1958; Wang et al. 2022 for accounting). The estimate solves

.. math:: \delta(\epsilon) = P(S > \epsilon) - e^{\epsilon} Q(S > \epsilon) = \delta.

Both tails are approximations with an absolute error, and the second is multiplied by ``exp(epsilon)``: where outputs
are few or losses rare and large, the curve bends, rises or turns negative. Such a curve is refused, not read. A curve
that looks sound may still be too low by 15 % (65 % row of the paper's Table 11): use ``certified`` for a guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from privlib.accounting.moments import LossCumulants, loss_cumulants
from privlib.mechanisms import Mechanism
from privlib.numerics import check_delta, check_epsilon
from privlib.types import AccountingError

#: How far beyond the mean, in standard deviations, the curve is searched and inspected, and on how many points.
_REACH, _POINTS = 12.0, 4001
#: A negative delta of this size, relative to the target, disqualifies the curve.
_NEGATIVE = 1e-3
#: Rise above the lowest value so far, relative to it, that is still taken for the tails' wiggle where delta is near 1.
_WIGGLE = 1e-2


@dataclass(frozen=True)
class CumulantRatios:
    """Size of the standardized cumulants, each the larger of the two laws; the expansion is in powers of these.

    Attributes:
        third: ``|k_3| / k_2^(3/2)``.
        fourth: ``|k_4| / k_2^2``.
    """

    third: float
    fourth: float

    @property
    def usable(self) -> bool:
        """Whether both are below 1, the limit that the paper marks as invalid; necessary, far from sufficient."""
        return max(self.third, self.fourth) < 1.0


def _ratios(cumulants: tuple[float, float, float, float]) -> tuple[float, float]:
    _, variance, third, fourth = cumulants
    if variance <= 0.0:
        raise AccountingError("the Edgeworth expansion needs a privacy loss of positive variance, got none")
    return third / variance**1.5, fourth / variance**2


def cumulant_ratios(mechanism: Mechanism) -> CumulantRatios:
    """Diagnostics of the expansion for a mechanism; they are the same when a record is added or removed.

    Raises:
        AccountingError: the loss is identically zero (``gdp_mu = 0``).
    """
    return _largest_ratios(loss_cumulants(mechanism))


def _largest_ratios(cumulants: LossCumulants) -> CumulantRatios:
    upper, lower = _ratios(cumulants.upper), _ratios(cumulants.lower)
    return CumulantRatios(max(abs(upper[0]), abs(lower[0])), max(abs(upper[1]), abs(lower[1])))


def _scaled_tail(
    cumulants: tuple[float, float, float, float], x: np.ndarray, log_scale: np.ndarray | float, degree: int
) -> np.ndarray:
    """``exp(log_scale) P(S > x)`` by the expansion."""
    rho_3, rho_4 = _ratios(cumulants)
    z = (x - cumulants[0]) / math.sqrt(cumulants[1])
    correction = rho_3 * (z**2 - 1.0) / 6.0
    if degree == 2:
        correction = correction + rho_4 * (z**3 - 3.0 * z) / 24.0 + rho_3**2 * (z**5 - 10.0 * z**3 + 15.0 * z) / 72.0
    # exp(log_scale) alone would overflow at epsilon = 710 where the product is still small.
    with np.errstate(over="ignore"):
        density = np.exp(log_scale - 0.5 * z**2 - 0.5 * math.log(2.0 * math.pi))
        leading = np.exp(log_scale + log_ndtr(-z))
    return leading + density * correction


def _delta_curve(cumulants: LossCumulants, epsilon: np.ndarray, degree: int) -> np.ndarray:
    return _scaled_tail(cumulants.upper, epsilon, 0.0, degree) - _scaled_tail(cumulants.lower, epsilon, epsilon, degree)


def _check_degree(degree: int) -> int:
    if degree not in (1, 2):
        raise ValueError(f"degree must be 1 or 2, got {degree!r}")
    return degree


def edgeworth_delta_estimate(mechanism: Mechanism, epsilon: float, *, degree: int = 2, remove: bool = True) -> float:
    """Estimate of delta at ``epsilon`` for one direction; not a bound.

    Args:
        mechanism: a subsampled Gaussian or a composition.
        epsilon: in [0, inf).
        degree: 1 or 2.
        remove: True for removing a record (the paper's column), False for adding one.

    Raises:
        ValueError: a parameter outside its range.
        AccountingError: the expansion leaves [0, 1] there.
    """
    epsilon, degree = check_epsilon(epsilon), _check_degree(degree)
    value = float(_delta_curve(loss_cumulants(mechanism, remove=remove), np.asarray(epsilon), degree))
    if not 0.0 <= value <= 1.0:
        raise AccountingError(
            f"the Edgeworth expansion of degree {degree} gives delta = {value:.6g} at epsilon = {epsilon:g}"
        )
    return value


def edgeworth_epsilon_estimate(mechanism: Mechanism, delta: float, *, degree: int = 2, remove: bool = True) -> float:
    """Estimate of epsilon at ``delta`` for one direction; not a bound.

    Args:
        mechanism: a subsampled Gaussian or a composition. The paper's column is reproduced when
            ``sampling_probability`` is ``moments.with_replacement_probability(B, n)``, not ``B/n``.
        delta: in (0, 1).
        degree: 1 or 2.
        remove: True for removing a record (the paper's column), False for adding one.

    Returns:
        Epsilon in nats; 0 where the expansion puts delta(0) between 0 and ``delta``.

    Raises:
        ValueError: a parameter outside its range.
        AccountingError: a standardized cumulant reaches 1; or, up to 12 standard deviations beyond the mean, the
            estimated delta does not fall to ``delta``, or not monotonically, or leaves [0, delta] after it.

    Cost: under 2 ms for each distinct component.
    """
    delta, degree = check_delta(delta), _check_degree(degree)
    cumulants = loss_cumulants(mechanism, remove=remove)
    ratios = _largest_ratios(cumulants)
    if not ratios.usable:
        raise AccountingError(
            f"the Edgeworth expansion is invalid: standardized cumulants reach {ratios.third:.3g} (third) and "
            f"{ratios.fourth:.3g} (fourth), and both must be below 1"
        )
    highest = max(0.0, cumulants.upper[0]) + _REACH * math.sqrt(cumulants.upper[1])
    grid = np.linspace(0.0, highest, _POINTS)
    curve = _delta_curve(cumulants, grid, degree)
    name = f"the Edgeworth expansion of degree {degree}"
    if not np.isfinite(curve).all():
        raise AccountingError(f"{name} overflows below epsilon = {highest:.6g}")
    reached = np.nonzero(curve <= delta)[0]
    if reached.size == 0:
        raise AccountingError(f"{name} has no root: its delta stays above {delta:g} up to epsilon = {highest:.6g}")
    first = int(reached[0])
    before = curve[: first + 1]
    lowest = np.minimum.accumulate(before)
    if (before[:-1] > (1.0 + _WIGGLE) * lowest[:-1]).any() or before.max() > 1.0 + _WIGGLE:
        raise AccountingError(f"{name} is not monotone below epsilon = {grid[first]:.6g}, so its root means nothing")
    after = curve[first:]
    if after.max() > delta or after.min() < -_NEGATIVE * delta:
        worst = after.max() if after.max() > delta else after.min()
        raise AccountingError(f"{name} gives delta = {worst:.6g} beyond its root near epsilon = {grid[first]:.6g}")
    if first == 0:
        return 0.0
    return float(
        brentq(
            lambda e: float(_delta_curve(cumulants, np.asarray(e), degree)) - delta,
            grid[first - 1],
            grid[first],
            xtol=1e-14,
        )
    )
