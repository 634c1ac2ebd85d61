r"""Two mixtures of Gaussians on a line: exact privacy profiles of one subsampled release, groups included.

The pair
--------
``P = sum_i h_i N(i nu, 1)`` and ``Q = sum_j g_j N(-j nu, 1)``: the weights are the chances that i members of the group
take part. The density ratio increases in x, so the best set is a half line and, with :math:`\gamma = e^\epsilon`,

.. math:: H_\gamma(P\,\|\,Q) = \sum_i h_i \Phi(i\nu - x) - \gamma \sum_j g_j \Phi(-j\nu - x)

at the x where the densities cross. Differences like this lose their digits. With ``t_ij`` the ratio of the densities of
components i and j at x, and the weights split as ``a_ij = h_i u_j / sum(u)``, ``u_j = gamma g_j`` times the density of
component j at x, the same number is a sum of positive terms,

.. math:: H_\gamma(P\,\|\,Q) = \sum_{ij} a_{ij}\, G_{(i+j)\nu}(\log t_{ij}),

where G is the Gaussian profile of ``gdp``.

Why it is the worst case
------------------------
Let ``P' = sum_i h_i P_i`` and ``Q' = sum_j g_j Q_j`` be mixtures in any dimension whose components can be coupled
to unit-variance Gaussians at most ``(i + j) nu`` apart. For all splits ``a_ij`` of the h_i and ``e_ij`` of the gamma
g_j, ``P' - gamma Q' = sum_ij (a_ij P_i - e_ij Q_j)``, so by the triangle inequality for positive parts and the joint
convexity of the divergence ``H_gamma(P' || Q') <= sum_ij a_ij G_{(i+j) nu}(log(e_ij / a_ij))``. The split above has
``e_ij / a_ij = t_ij``: the bound is the value on the line. Hence the line is attained and dominates:

* ``Q = N(0, 1)`` (g has one entry): a group that is added or removed under Poisson sampling, h binomial. Given who else
  is drawn, i members move the mean by at most ``i nu``. Both orders; for one picture it is the known pair of Poisson
  sampling, for groups the mixture that Ganesh (2024) composes for DP-SGD.
* ``g = h`` binomial: a group that is replaced under Poisson sampling. Components i and j lie at most ``(i + j) nu``
  apart. For one picture this is below the bound by advanced joint convexity (Balle, Barthe and Gaboardi 2018), since
  the weight that ``P_1`` keeps for ``Q_0``, at half the distance, is put to use.

A sample of fixed size
----------------------
m of n pictures without replacement, k of them replaced; h is hypergeometric. A sample with i group members in one
world and one with j <= i in the other share m - i pictures, if coupled well, and differ in i: at most ``i nu`` apart,
nu being *twice* the norm. Now only splits with j <= i are cheap, that is those whose row sums ``e_i`` satisfy
``e_0 + ... + e_r <= gamma (h_0 + ... + h_r)`` for each r. ``fixed_size_log_upper`` takes the best of these, found by
pooling adjacent rows until the thresholds x increase. The lower end is the pair on the line with ``Q = N(0, 1)``: all
other pictures, and the replacements, lie at one pole and the group at the other. For k = 1 the
two agree and are

.. math:: \delta = q\,G_\nu(\epsilon'),\qquad \epsilon' = \log\bigl(1 + (e^\epsilon - 1)/q\bigr),\quad q = m/n,

the amplification theorem of Balle, Barthe and Gaboardi. For k > 1 they agree where all rows end up in
one pool; elsewhere the width says by how much they differ.

Rounding: thresholds are moved to the safe side of the crossing, Gaussian profiles carry their own error bounds, and the
rest (weights, sums) is covered by a relative ``1e-12``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scipy.optimize import brentq

from privlib.accounting import gdp
from privlib.numerics import UNIT_ROUNDOFF

#: Relative error of the weights and of sums over them.
_SLACK = 1e-12


def _log_sum(logs: Sequence[float]) -> float:
    """Logarithm of a sum of exponentials; for a handful of terms far quicker than an array."""
    largest = max(logs)
    return largest if math.isinf(largest) else largest + math.log(math.fsum(math.exp(x - largest) for x in logs))


def _log_density(shift: float, x: float) -> float:
    """Log-density at x of a Gaussian around ``shift``, relative to the one around 0."""
    return shift * x - 0.5 * shift * shift


def _crossing(excess: Callable[[float], float], error: Callable[[float], float], side: int) -> float:
    """A point just below (side -1) or above (side 1) the root of an increasing function, proved by its error bound."""
    low, high = -1.0, 1.0
    while excess(low) > 0.0:
        low *= 2.0
    while excess(high) < 0.0:
        high *= 2.0
    x = float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))
    gap = 1e-15 * (1.0 + abs(x))
    while side * excess(x) < error(x):
        x, gap = x + side * gap, 2.0 * gap
    return x


def _rounding(shifts: Sequence[float], epsilon: float) -> Callable[[float], float]:
    """Bound of the error of a difference of two log-sums over these shifts."""
    largest = max(abs(shift) for shift in shifts)
    return lambda x: 16.0 * UNIT_ROUNDOFF * (8.0 + largest * abs(x) + largest**2 + epsilon) + 2.0 * _SLACK


def line_log_bounds(rows: Sequence[float], columns: Sequence[float], nu: float, epsilon: float) -> tuple[float, float]:
    """Certified bounds of ``log H(P || Q)`` for the pair on the line.

    Args:
        rows, columns: weights h and g from 0 members up; each sums to 1, and the two are not both ``(1,)``.
        nu: distance that one member moves the mean, positive.
        epsilon: not negative.

    Returns:
        lower and upper bound; ``-inf`` twice where the densities never cross, so that delta is 0.
    """
    plus = [(math.log(h), i * nu) for i, h in enumerate(rows) if h > 0.0]
    minus = [(math.log(g), -j * nu) for j, g in enumerate(columns) if g > 0.0]
    # Far right the density ratio grows without bound, unless P sits at 0 alone and Q has some mass there.
    if plus[-1][1] == 0.0 and minus[0][1] == 0.0 and epsilon >= -minus[0][0]:
        return -math.inf, -math.inf

    def logs(parts: list[tuple[float, float]], x: float) -> list[float]:
        return [log_weight + _log_density(shift, x) for log_weight, shift in parts]

    def excess(x: float) -> float:
        return _log_sum(logs(plus, x)) - _log_sum(logs(minus, x)) - epsilon

    error = _rounding([shift for _, shift in plus + minus], epsilon)
    if plus[-1][1] == 0.0 and minus[0][1] == 0.0 and -minus[0][0] - epsilon <= 4.0 * error(0.0):
        # Within rounding of the point where the crossing runs off to infinity: what is left is below this gap.
        return -math.inf, math.log(-math.expm1(minus[0][0] + epsilon) + 1e-11)

    def total(x: float, upper: bool) -> float:
        columns_at = logs(minus, x)
        log_sum = _log_sum(columns_at)
        terms = []
        for log_weight, a in plus:
            for (_, b), log_column in zip(minus, columns_at, strict=True):
                if a > b:
                    log_ratio = _log_density(a, x) - _log_density(b, x)
                    bound = gdp.log_delta_bounds(a - b, log_ratio)[upper]
                    terms.append(log_weight + log_column - log_sum + bound)
        return _log_sum(terms)

    low = total(_crossing(excess, error, 1), False) + math.log1p(-_SLACK)
    return low, total(_crossing(excess, error, -1), True) + math.log1p(_SLACK)


def fixed_size_log_upper(rows: Sequence[float], nu: float, epsilon: float) -> float:
    """Certified upper bound of ``log H`` in both orders for a group that is replaced under sampling of fixed size.

    Args:
        rows: hypergeometric weights from 0 members up.
        nu: distance that one replaced member moves the mean, positive.
        epsilon: not negative.
    """
    blocks: list[tuple[list[tuple[float, float]], float]] = []
    for i, h in enumerate(rows):
        if h <= 0.0:
            continue
        block = [(math.log(h), i * nu)]
        threshold = _threshold(block, epsilon)
        # A row below that asks for a threshold further right gives up some of its share to this one.
        while blocks and blocks[-1][1] > threshold:
            block = blocks.pop()[0] + block
            threshold = _threshold(block, epsilon)
        blocks.append((block, threshold))
    terms = [
        log_weight + gdp.log_delta_bounds(shift, _log_density(shift, x))[1]
        for block, x in blocks
        for log_weight, shift in block
        if shift > 0.0
    ]
    return _log_sum(terms) + math.log1p(_SLACK)


def _threshold(block: list[tuple[float, float]], epsilon: float) -> float:
    """Where the rows of a block use up its share of gamma; infinity if no row of it moves anything."""
    if block[-1][1] == 0.0:
        return math.inf
    share = epsilon + _log_sum([log_weight for log_weight, _ in block])

    def excess(x: float) -> float:
        return _log_sum([log_weight + _log_density(shift, x) for log_weight, shift in block]) - share

    return _crossing(excess, _rounding([shift for _, shift in block], epsilon), -1)
