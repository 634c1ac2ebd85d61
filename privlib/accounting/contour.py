r"""Certified privacy profile of composed subsampled Gaussians, by numerical inversion on a contour.

Let S be the privacy loss of the whole composition in one direction and ``M(z) = E exp(zS)`` (``transform.py``). The
privacy profile ``delta(eps) = E (1 - exp(eps - S))_+`` has the bilateral Laplace transform

.. math:: \int e^{z\epsilon}\,\delta(\epsilon)\,d\epsilon = \frac{M(z)}{z(z+1)},\qquad \operatorname{Re} z > 0.

**The sum.** Poisson's formula for ``f(y) = exp(cy) delta(y)`` with period ``W`` and ``omega_m = 2 pi m/W`` reads

.. math:: T(\epsilon) := \frac{e^{-c\epsilon}}{W}\sum_{m\in\mathbb{Z}}
          \frac{M(c+i\omega_m)\,e^{-i\omega_m\epsilon}}{(c+i\omega_m)(c+1+i\omega_m)}
          = \delta(\epsilon) + \sum_{k\ne 0} e^{ckW}\,\delta(\epsilon + kW).

(f is continuous and integrable and its transform is absolutely summable, so the formula holds at every point.) Every
alias on the right is non-negative, so **T is an upper bound of delta for every c > 0 and W > 0**, and subtracting a
bound of the aliases gives a lower bound: for k < 0 they sum to at most ``1/(exp(cW) - 1)`` since delta <= 1, and for k
> 0, by ``(1 - exp(-y))_+ <= kappa exp(sy)`` with ``kappa = s^s/(1+s)^(1+s)``, to at most
``kappa M(s) exp(-s eps) / (exp((s-c)W) - 1)`` for any ``s > c``.

**The cut.** Terms beyond frequency index m are bounded by ``decay.py``: together at most
``exp(-c eps) M(c) B W / (2 pi^2 m)`` where B bounds ``|M(c + i omega)|/M(c)`` from there on.

**Rounding.** ``|prod a^n - prod b^n| <= prod (|a| + d)^n - prod |a|^n`` turns the relative errors of ``transform.py``
into errors of M; forming ``exp(n log A - z eps)`` is charged ``8u`` times the absolute values in the exponent.

The three errors are added up for the very numbers at hand, so the interval is proved a posteriori; the choice of c, s,
W and m, and the root finder, can only make it wider. Cost does not depend on the number of outputs or on epsilon: a few
hundred frequencies times about a thousand nodes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from privlib.accounting.decay import log_decay
from privlib.accounting.transform import LossPair, line_values, node_count, tilted_moments
from privlib.numerics import UNIT_ROUNDOFF
from privlib.types import AccountingError

#: Sine-cosine pairs that one inversion may evaluate: about 0.3 s and 3 s on two cores.
COMFORTABLE_WORK, MAX_WORK = 3e7, 3e8


@dataclass(frozen=True)
class LossSum:
    """The privacy loss of a composition in one direction.

    Attributes:
        terms: pairs and how often each is composed.
        pure_mu: GDP parameter of the full-batch (q = 1) part, whose transform is known in closed form.
        remove: True for log dP/dQ under P (a record removed), False for log dQ/dP under Q (a record added).
        device: where the transform is evaluated.
    """

    terms: tuple[tuple[LossPair, int], ...]
    pure_mu: float
    remove: bool
    device: torch.device

    def exponent(self, c: float) -> float:
        return 1.0 + c if self.remove else -c

    def largest(self) -> float:
        """Supremum of the loss: ``-log(1-q)`` for each output when a record is added, else infinite."""
        if self.remove or self.pure_mu > 0.0:
            return math.inf
        return -math.fsum(count * math.log1p(-pair.q) for pair, count in self.terms) * (1.0 + 1e-12)

    def log_moment_bounds(self, s: float) -> list[float]:
        """Upper bound of ``log A`` for each term at a real s whose exponent ``1 + s`` is exact."""
        zero = torch.zeros(1, dtype=torch.float64, device=self.device)
        lines = [line_values(pair, self.exponent(s), zero) for pair, _ in self.terms]
        return [float(line.log_modulus + torch.log1p(line.relative_error)) for line in lines]

    def log_transform_bound(self, s: float) -> float:
        """Upper bound of ``log M(s)`` for a real s whose exponent ``1 + s`` is exact."""
        total = 0.5 * self.pure_mu**2 * s * (s + 1.0)
        for (_, count), bound in zip(self.terms, self.log_moment_bounds(s), strict=True):
            total += count * bound
        return total + 1e-12 * abs(total) + 1e-12

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """``log M(c)`` and its first two derivatives (see ``tilted_moments``: they steer and prove nothing)."""
        return _cumulants(self, c)


@functools.lru_cache(maxsize=1024)
def _cumulants(loss: LossSum, c: float) -> tuple[float, float, float]:
    square = loss.pure_mu**2
    log_a, mean, variance = tilted_moments(tuple(pair for pair, _ in loss.terms), loss.exponent(c))
    counts = torch.tensor([float(count) for _, count in loss.terms], dtype=torch.float64)
    value = 0.5 * square * c * (c + 1.0) + float(counts @ log_a)
    first = square * (c + 0.5) + (1.0 if loss.remove else -1.0) * float(counts @ mean)
    second = square + float(counts @ variance)
    return value, first, second


def _log_kappa(s: float) -> float:
    return -s * math.log1p(1.0 / s) - math.log1p(s)


def saddle_point(loss: LossSum, epsilon: float) -> float:
    """Positive root c of ``K'(c) = epsilon + 1/c + 1/(c+1)``, where the integrand is smallest."""

    def excess(log_c: float) -> float:
        c = math.exp(log_c)
        return loss.cumulants(c)[1] - epsilon - 1.0 / c - 1.0 / (c + 1.0)

    return math.exp(_increasing_root(excess))


def saddle_point_for_delta(loss: LossSum, delta: float) -> tuple[float, float]:
    """The saddle point c at which the saddle-point approximation of the profile equals delta, and its epsilon."""

    def epsilon_at(c: float) -> tuple[float, float]:
        value, first, second = loss.cumulants(c)
        epsilon = first - 1.0 / c - 1.0 / (c + 1.0)
        curvature = second + 1.0 / c**2 + 1.0 / (c + 1.0) ** 2
        log_delta = value - c * epsilon - math.log(c * (c + 1.0)) - 0.5 * math.log(2.0 * math.pi * curvature)
        return epsilon, log_delta

    c = math.exp(_increasing_root(lambda log_c: math.log(delta) - epsilon_at(math.exp(log_c))[1]))
    return c, epsilon_at(c)[0]


def chernoff_bound(loss: LossSum, delta: float, s: float) -> float:
    """Proved upper bound of epsilon at delta from one Chernoff exponent: ``(log M(s) + log kappa - log delta)/s``."""
    s = (1.0 + s) - 1.0  # the transform is evaluated at the exponent 1 + s, which has to be exact
    terms = (loss.log_transform_bound(s), _log_kappa(s), -math.log(delta))
    return (math.fsum(terms) + 1e-14 * math.fsum(map(abs, terms))) / s


def chernoff_epsilon(loss: LossSum, delta: float, saddle: float) -> float:
    """About the smallest ``chernoff_bound`` for a few s around the saddle point (steers choices, proves nothing)."""
    points = [saddle * factor for factor in (0.125, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0)]
    return max(0.0, min((loss.cumulants(s)[0] + _log_kappa(s) - math.log(delta)) / s for s in points))


def _increasing_root(function: Callable[[float], float]) -> float:
    """Root of an increasing function of log c by bracketing and the Illinois variant of false position."""
    # Unit steps: the transform is cheap near the root and expensive far to the right of it.
    low = high = 0.0
    f_low = f_high = function(0.0)
    while f_low > 0.0 and low > -60.0:
        high, f_high, low = low, f_low, low - 1.0
        f_low = function(low)
    while f_high < 0.0 and high < 60.0:
        low, f_low, high = high, f_high, high + 1.0
        f_high = function(high)
    if f_low > 0.0 or f_high < 0.0:
        raise AccountingError("no saddle point: delta or epsilon is out of reach of double precision")
    for _ in range(60):
        if high - low < 1e-7 or f_high == f_low:
            break
        middle = high - f_high * (high - low) / (f_high - f_low)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        value = function(middle)
        if value > 0.0:
            high, f_high, f_low = middle, value, 0.5 * f_low
        else:
            low, f_low, f_high = middle, value, 0.5 * f_high
    return 0.5 * (low + high)


@dataclass(frozen=True)
class Profile:
    """``delta(eps)`` near one epsilon, as a finite sum with proved errors (see the module's text)."""

    c: float
    s: float
    period: float
    log_m_c: float
    log_m_s: float
    real: torch.Tensor  # of M(c + i omega)/M(c)/(z (z+1)), doubled for omega > 0
    imag: torch.Tensor
    omegas: torch.Tensor
    error: float  # sum of the errors of those terms
    exponent_size: float
    term_sum: float
    log_cut: float

    def bounds(self, epsilons: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Lower bound, value and upper bound of delta at each epsilon; shapes (E,). Values may stray outside [0, 1]."""
        angle = torch.outer(epsilons, self.omegas)
        series = torch.cos(angle) @ self.real + torch.sin(angle) @ self.imag
        prefactor = torch.exp(self.log_m_c - self.c * epsilons)
        value = prefactor * series / self.period
        size = self.exponent_size + (abs(self.c) + float(self.omegas[-1])) * epsilons.abs()
        rounding = self.error + UNIT_ROUNDOFF * (8.0 * size + self.omegas.numel() + 40.0) * self.term_sum
        error = prefactor * (rounding / self.period + math.exp(self.log_cut))
        left_alias = 1.0 / math.expm1(min(700.0, self.c * self.period))
        right_alias = torch.exp(_log_kappa(self.s) + self.log_m_s - self.s * epsilons) / math.expm1(
            min(700.0, (self.s - self.c) * self.period)
        )
        slack = 1.0 + 1e-12
        upper = value + error * slack
        lower = value - (error + left_alias + right_alias) * slack
        return lower, value, upper


def log_delta_estimate(loss: LossSum, epsilon: float) -> float:
    """Saddle-point approximation of ``log delta(epsilon)``: it steers choices and proves nothing."""
    c = saddle_point(loss, epsilon)
    value, _, second = loss.cumulants(c)
    curvature = second + 1.0 / c**2 + 1.0 / (c + 1.0) ** 2
    return value - c * epsilon - math.log(c * (c + 1.0)) - 0.5 * math.log(2.0 * math.pi * curvature)


def _choose_contour(
    loss: LossSum, saddle: float, epsilon: float, log_target: float, spend: float
) -> tuple[float, float, float]:
    """The contour c, the Chernoff exponent s and the period, for the shortest period that meets the target.

    Left of the saddle point the integrand is larger than delta, which costs digits; ``spend`` nats of them are spent,
    because just right of the saddle point ``M`` can explode (a rare output with a huge loss), and then only a smaller c
    leaves room for s.
    """
    factors = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0]
    points = [(saddle * f, loss.cumulants(saddle * f)[0]) for f in factors]
    sizes = [log_m - c * epsilon - math.log(c * (c + 1.0)) for c, log_m in points]
    at_saddle = sizes[factors.index(1.0)]
    best = (math.nan, math.nan, math.inf)
    for i, (c, _) in enumerate(points):
        if c > saddle or sizes[i] > at_saddle + spend:
            continue
        left = (math.log(2.0) - log_target) / c
        for s, log_m in points[i + 1 :]:
            right = (_log_kappa(s) + log_m - s * epsilon - log_target) / (s - c)
            if max(left, right) < best[2]:
                best = (c, s, max(left, right))
    # The transform is evaluated at the exponent 1 + c, which has to be exact.
    return (1.0 + best[0]) - 1.0, (1.0 + best[1]) - 1.0, best[2]


def _cut(
    loss: LossSum,
    r: float,
    log_errors: torch.Tensor,
    indices: torch.Tensor,
    omegas: torch.Tensor,
    log_target: float,
    limit: float,
) -> int | None:
    """Position of the first cut whose error meets the target, or None if that is more work than ``limit``."""
    good = (log_errors <= log_target).nonzero()
    if not good.numel():
        return None
    position = int(good[0])
    nodes = sum(node_count(pair, r, float(omegas[position])) for pair, _ in loss.terms)
    return position if nodes * float(indices[position]) <= limit else None


def build_profile(
    loss: LossSum, epsilon: float, *, scale: float, relative: float, required: float, spend: float, work: float
) -> Profile:
    """Evaluate the transform so that the profile near ``epsilon`` has about ``relative`` error.

    Args:
        loss: the composed privacy loss.
        epsilon: where the profile is wanted.
        scale: log of the delta that errors are measured against.
        relative: error aimed at, relative to that delta.
        required: error that is still acceptable when ``relative`` would need too many frequencies.
        spend: nats of precision that a contour left of the saddle point may cost.
        work: sine-cosine pairs that may be evaluated to reach ``required``.

    Raises:
        AccountingError: not even ``required`` can be met within ``work``.
    """
    saddle = saddle_point(loss, epsilon)
    log_target = math.log(relative) + min(0.0, scale)
    c, s, least_period = _choose_contour(loss, saddle, epsilon, log_target, spend)
    value = loss.cumulants(c)[0]

    # The spacing is rounded down to 20 significant bits: its multiples are then exact, and so is "omega_m = m omega_1".
    spacing = 2.0 * math.pi / least_period
    unit = 2.0 ** (math.floor(math.log2(spacing)) - 19)
    spacing = math.floor(spacing / unit) * unit
    period = 2.0 * math.pi / spacing

    indices = torch.unique(torch.ceil(2.0 ** torch.arange(3.0, 24.25, 0.25, dtype=torch.float64))).to(loss.device)
    cut_omegas = indices * spacing
    log_b = -0.5 * loss.pure_mu**2 * cut_omegas**2
    r = loss.exponent(c)
    for (pair, count), log_a in zip(loss.terms, loss.log_moment_bounds(c), strict=True):
        log_b = log_b + count * log_decay(pair, r, log_a, cut_omegas)
    log_cuts = log_b + math.log(period / (2.0 * math.pi**2)) - torch.log(indices)
    log_relative_cuts = log_cuts + value - c * epsilon - scale
    chosen = _cut(loss, r, log_relative_cuts, indices, cut_omegas, math.log(relative), COMFORTABLE_WORK)
    if chosen is None:
        chosen = _cut(loss, r, log_relative_cuts, indices, cut_omegas, math.log(required), work)
    if chosen is None:
        raise AccountingError(
            f"cannot certify delta near epsilon = {epsilon:.6g} to a relative error of {required:.3g} in {work:.0e} "
            "evaluations; ask for a wider tolerance"
        )
    last = int(indices[chosen])

    omegas = torch.arange(last + 1, dtype=torch.float64, device=loss.device) * spacing
    log_modulus = -0.5 * loss.pure_mu**2 * omegas**2
    phase = loss.pure_mu**2 * omegas * (c + 0.5)
    error_exponent = torch.zeros_like(omegas)
    # Charged 8u: a few operations for each exponent, and one more for each term of a sum.
    summands = 1.0 + len(loss.terms) / 8.0
    exponent_size = abs(value) + 0.5 * loss.pure_mu**2 * (omegas**2 + omegas * (2 * c + 1))
    log_m_c = 0.5 * loss.pure_mu**2 * c * (c + 1.0)
    sign = 1.0 if loss.remove else -1.0
    for pair, count in loss.terms:
        line = line_values(pair, r, omegas)
        log_at_c = float(line.log_modulus[0])
        log_m_c += count * log_at_c
        log_modulus = log_modulus + count * (line.log_modulus - log_at_c)
        phase = phase + count * sign * line.phase
        error_exponent = error_exponent + count * torch.log1p(line.relative_error)
        exponent_size = exponent_size + count * (line.log_modulus.abs() + abs(log_at_c) + line.phase.abs())
    doubled = torch.full_like(omegas, 2.0)
    doubled[0] = 1.0
    fixed = torch.full_like(omegas, c)
    log_radius = (
        torch.log(doubled) + log_modulus - torch.log(torch.hypot(omegas, fixed) * torch.hypot(omegas, fixed + 1.0))
    )
    radius = torch.exp(log_radius)
    angle = phase - torch.atan2(omegas, fixed) - torch.atan2(omegas, fixed + 1.0)
    # Where the relative error is large (the modulus is nothing but rounding) its sum with the modulus is taken in logs.
    small = error_exponent < 1.0
    error = torch.where(
        small,
        radius * (torch.expm1(error_exponent) + 8.0 * UNIT_ROUNDOFF * (summands * exponent_size + 8.0)),
        torch.exp(log_radius + error_exponent) * (1.0 + 1e-9),
    )
    return Profile(
        c=c,
        s=s,
        period=period,
        log_m_c=log_m_c,
        log_m_s=loss.log_transform_bound(s),
        real=radius * torch.cos(angle),
        imag=radius * torch.sin(angle),
        omegas=omegas,
        error=float(error.sum()),
        exponent_size=summands * abs(log_m_c),
        term_sum=float(radius.sum()),
        log_cut=float(log_cuts[chosen] + error_exponent[0]) + 1e-9,
    )
