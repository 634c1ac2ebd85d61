r"""Moment generating function of the privacy loss on a vertical line of the complex plane, with a proved error bound.

For the pair ``P = (1-q) N(0,1) + q N(mu,1)``, ``Q = N(0,1)`` and ``g = dP/dQ = 1 - q + q exp(mu x - mu^2/2)``, both
directions of the privacy loss reduce to one function of a complex exponent ``w``:

.. math:: A(w) = E_{x \sim N(0,1)}\, g(x)^w,\qquad
          E_P\, e^{z \log(P/Q)} = A(1 + z),\qquad E_Q\, e^{z \log(Q/P)} = A(-z).

``A`` is computed by the trapezoidal rule on ``x_j = j h``. Error of the rule, in three parts:

*Discretization.* ``f(x) = g(x)^w phi(x)`` is analytic while ``mu |Im x| < pi``. Since ``g(x+iy)`` is a convex
combination of 1 and a complex number of modulus ``E = exp(mu x - mu^2/2)`` and argument ``mu y``, for ``mu |y| <=
pi/2``

.. math:: g(x)\cos(\mu y/2) \le |g(x+iy)| \le g(x),\quad |g(x+iy)| \ge 1-q,\quad
          |\arg g(x+iy)| \le \mu|y|\,\min\bigl(1, \tfrac{q}{1-q}E\bigr).

With ``w = r + i omega`` these bound ``|f(x+iy)|`` on the strip ``|y| <= a`` by a positive function of x whose integral
``N_a`` is bounded by an upper sum. The infinite trapezoidal sum is off by at most ``2 N_a / (exp(2 pi a/h) - 1)``
(Trefethen and Weideman 2014, Theorem 5.1). ``h`` is chosen so that this is about 1e-18 and is a short dyadic number, so
that the nodes ``j h`` are exact in floating point.

*Truncation.* Left of ``x = -Y``: ``g <= 1`` (``r >= 0``) or ``g >= 1-q`` (``r < 0``). Right of ``X``: ``g >= 1`` (``r <
0``), or ``g <= rho q exp(mu x - mu^2/2)`` with ``rho = 1 + (1-q)/(q exp(mu X - mu^2/2))`` (``r >= 0``); beyond ``max(0,
r mu)`` the bounding Gaussians decrease, so the left-out sum is at most the integral.

*Rounding.* ``A - 1 = sum_j phi(x_j) h (g^w - 1)`` is accumulated so that small losses lose no digits. Standard model:
every operation is exact up to a factor ``1 + theta``, ``|theta| <= u = 2^-53``, and exp, expm1, log, log1p, sin, cos,
atan2 are within 2 units in the last place (``4u``). Perturbations of the inputs are propagated to first order with
constants doubled, and a sum of n terms is charged ``n u`` times the sum of absolute values. The result is a bound ``e0
+ |omega| e1`` whose two coefficients are computed from the same arrays.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import torch

from privlib.numerics import UNIT_ROUNDOFF
from privlib.types import AccountingError

#: Log of the relative size to which discretization and truncation errors are pushed.
_LOG_NEGLIGIBLE = -41.5
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
#: Elements of one (frequency, node) tile; two float64 temporaries of this size are alive at a time.
_TILE = 1 << 20
_MAX_NODES = 1 << 25


def log_normal_sf(x: float) -> float:
    """Upper bound of ``log P(N(0,1) > x)``: ``-x^2/2 - log(2)`` for x > 0, and 0 otherwise."""
    return -0.5 * x * x - math.log(2.0) if x > 0 else 0.0


@dataclass(frozen=True)
class LossPair:
    """One subsampled Gaussian, add-or-remove, by its parameters: ``0 < mu``, ``0 < q < 1``."""

    mu: float
    q: float

    def log_ratio(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """``log g(x)``, ``sigma = d log g / d(mu x)`` in (0, 1), and a bound on the rounding error of log g."""
        t = self.mu * x - 0.5 * self.mu * self.mu
        log_q, log_p = math.log(self.q), math.log1p(-self.q)
        sigma = torch.sigmoid(t + (log_q - log_p))
        large = t > 30.0
        y = self.q * torch.expm1(torch.clamp(t, max=30.0))
        value = torch.where(large, t + log_q + torch.log1p(torch.exp(log_p - log_q - t)), torch.log1p(y))
        rounding = 4.0 * sigma * (self.mu * x.abs() + self.mu**2)
        rounding = rounding + torch.where(large, 8.0 * (t.abs() + abs(log_q) + 1.0), 6.0 * (y / (1.0 + y)).abs())
        return value, sigma, UNIT_ROUNDOFF * (rounding + 4.0 * value.abs())


@dataclass(frozen=True)
class LineValues:
    """``A(r + i omega)`` on a set of frequencies as ``exp(log_modulus + i phase)``, with its relative error."""

    log_modulus: torch.Tensor
    phase: torch.Tensor
    relative_error: torch.Tensor


def _log_strip_integral(pair: LossPair, r: float, omega: float, a: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Log of an upper bound of ``sup_{|y| <= a} int |f(x + iy)| dx`` for each half-width a (shape (K,)), by upper sums.

    Also a plain estimate of ``log A(r)`` from the same points, to which the spacing is adapted.
    """
    mu, q = pair.mu, pair.q
    low = -9.0 - math.sqrt(2.0 * max(0.0, r * math.log1p(-q)))
    high = 9.0 + 2.0 * abs(r) * mu + math.sqrt(2.0 * omega * mu * float(a.max()))
    edges = torch.linspace(low, high, min(8192, max(512, math.ceil((high - low) / 0.05))) + 1, dtype=torch.float64)
    width = float(edges[1] - edges[0])
    log_ratio, _, _ = pair.log_ratio(edges)
    angle = torch.clamp(torch.exp(mu * edges - 0.5 * mu * mu + math.log(q) - math.log1p(-q)), max=1.0)
    half = torch.cos(0.5 * mu * a).log()[:, None]
    modulus = (
        r * log_ratio if r >= 0 else torch.minimum(r * log_ratio + r * half, torch.full_like(edges, r * math.log1p(-q)))
    )
    psi = modulus - 0.5 * edges**2 + 0.5 * a[:, None] ** 2 + omega * mu * a[:, None] * angle - _LOG_SQRT_2PI
    slope = edges.abs() + abs(r) * mu + omega * mu * mu * a[:, None] * angle
    cells = (
        torch.maximum(psi[:, :-1], psi[:, 1:])
        + 0.5 * width * torch.maximum(slope[:, :-1], slope[:, 1:])
        + math.log(width)
    )
    # Beyond the last edges psi (on the right: with its last term at its largest) falls at least like a Gaussian: each
    # tail is at most twice its value at the edge.
    rise = omega * mu * a * (1.0 - angle[-1])
    tails = torch.maximum(psi[:, 0], psi[:, -1] + rise) + math.log(4.0)
    log_size = torch.logsumexp(r * log_ratio - 0.5 * edges**2 - _LOG_SQRT_2PI, 0) + math.log(width)
    # The same rule is applied to phi alone, whose integral on the strip is exp(a^2/2).
    log_integral = torch.logsumexp(torch.cat([cells, tails[:, None]], dim=1), dim=1)
    return torch.maximum(log_integral, 0.5 * a**2), float(log_size)


@functools.lru_cache(maxsize=4096)
def _strip(pair: LossPair, r: float, omega: float) -> tuple[float, float]:
    """A spacing h whose discretization bound is negligible beside A(r), and the log of that bound (absolute)."""
    widest = min(9.0, 0.499 * math.pi / pair.mu)
    a = widest * 2.0 ** (-torch.arange(14, dtype=torch.float64))
    log_integral, log_size = _log_strip_integral(pair, r, omega, a)
    spacing = 2.0 * math.pi * a / (torch.clamp(log_integral - log_size, min=0.0) + math.log(4.0) - _LOG_NEGLIGIBLE)
    best = int(spacing.argmax())
    scale = 2.0 ** (math.floor(math.log2(float(spacing[best]))) - 10)
    h = math.floor(float(spacing[best]) / scale) * scale
    return h, math.log(4.0) + float(log_integral[best]) - 2.0 * math.pi * float(a[best]) / h


def _range(pair: LossPair, r: float) -> tuple[float, float, float]:
    """Integration limits ``-Y, X`` and the log of the truncation bound (absolute)."""
    mu, q = pair.mu, pair.q
    weight = r * math.log1p(-q) if r < 0 else 0.0
    left = math.sqrt(2.0 * (weight - _LOG_NEGLIGIBLE))
    if r <= 0:
        right = left
        log_right = log_normal_sf(right)
    else:
        log_bump = r * math.log(q) + 0.5 * mu * mu * r * (r - 1.0)

        def log_tail(x: float) -> float:
            log_odds = math.log1p(-q) - math.log(q) - mu * x + 0.5 * mu * mu
            log_rho = math.log1p(math.exp(log_odds)) if log_odds < 30.0 else log_odds + 1e-12
            # Second bound, valid for r >= 1: g^r <= (1-q) + q exp(r(mu x - mu^2/2)) by convexity.
            by_bump = r * log_rho + log_bump + log_normal_sf(x - r * mu)
            by_convexity = max(
                log_normal_sf(x), 0.5 * mu * mu * r * (r - 1.0) + math.log(q) + log_normal_sf(x - r * mu)
            )
            return min(by_bump, by_convexity + math.log(2.0)) if r >= 1 else by_bump

        # A(r) is at least its own second bump, so a tail that is negligible beside that bump is negligible beside A(r).
        target = _LOG_NEGLIGIBLE + max(0.0, log_bump - math.log(2.0))
        low = max(9.0, r * mu)
        step = 1.0
        while log_tail(low + step) > target:
            step *= 1.25
        right = low + step
        log_right = log_tail(right)
    log_bound = math.log(4.0) + max(weight + log_normal_sf(left), log_right, log_normal_sf(left), log_normal_sf(right))
    return left, right, log_bound


@dataclass(frozen=True)
class _Nodes:
    """Quadrature nodes with ``u_j = phi(x_j) h exp(r log g - shift)``, and everything the error bound needs."""

    log_ratio: torch.Tensor
    weight: torch.Tensor
    shift: float
    excess: float  # A(r) e^-shift - e^-shift
    error_constant: float
    error_slope: float


def _nodes(pair: LossPair, r: float, omega: float, device: torch.device) -> _Nodes:
    h, log_discretization = _strip(pair, r, omega)
    left, right, log_truncation = _range(pair, r)
    first, last = -math.ceil(left / h), math.ceil(right / h)
    if last - first > _MAX_NODES:
        raise AccountingError(
            f"the quadrature would need {last - first} nodes (gdp_mu = {pair.mu:g}, exponent = {r:g})"
        )
    x = torch.arange(first, last + 1, dtype=torch.float64, device=device) * h
    log_ratio, _, rounding = pair.log_ratio(x)
    a = r * log_ratio
    gauss = -0.5 * x * x
    peak = float((a + gauss).max())
    shift = peak if peak > 300.0 else 0.0
    scale = h * math.exp(-_LOG_SQRT_2PI)
    weight = scale * torch.exp(a + gauss - shift)
    plain = scale * torch.exp(gauss - shift)
    excess_terms = torch.where(a < 1.0, torch.expm1(torch.clamp(a, max=1.0)) * plain, weight - plain)
    excess = float(excess_terms.sum())

    u = UNIT_ROUNDOFF
    relative = abs(r) * rounding + u * (6.0 * a.abs() + 4.0 * x * x + 4.0 * abs(shift) + 40.0)
    magnitude = log_ratio.abs()
    constant = (
        weight * (abs(r) * rounding + 4.0 * u * a.abs()) + excess_terms.abs() * (relative + x.numel() * u)
    ).sum()
    slope = (weight * (3.0 * relative * magnitude + 4.0 * rounding + (40.0 + 2.0 * x.numel()) * u * magnitude)).sum()
    analytic = 2.0 * (math.exp(log_discretization - shift) + math.exp(log_truncation - shift))
    return _Nodes(log_ratio, weight, shift, excess, 2.0 * float(constant) + analytic, 2.0 * float(slope))


def node_count(pair: LossPair, r: float, omega: float) -> float:
    """How many quadrature nodes ``A(r + i omega)`` needs."""
    left, right, _ = _range(pair, r)
    return (left + right) / _strip(pair, r, omega)[0]


def tilted_moments(pairs: tuple[LossPair, ...], r: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``log A(r)`` and the mean and variance of ``log g`` under the law tilted to ``g^r phi / A(r)``, for all pairs at
    once.

    A plain trapezoidal sum without an error bound: it steers choices and proves nothing. Shapes (len(pairs),).
    """
    mus = torch.tensor([[pair.mu] for pair in pairs], dtype=torch.float64)
    log_q = torch.tensor([[math.log(pair.q)] for pair in pairs], dtype=torch.float64)
    log_p = torch.tensor([[math.log1p(-pair.q)] for pair in pairs], dtype=torch.float64)
    steepest = float(mus.max())
    low = -10.0 - math.sqrt(2.0 * max(0.0, r * float(log_p.min())))
    high = 10.0 + max(0.0, r * steepest)
    h = min(0.4, 0.25 / steepest)
    if (high - low) / h > _MAX_NODES / len(pairs):
        raise AccountingError(f"exponent = {r:g} at gdp_mu = {steepest:g} is out of reach of the quadrature")
    x = torch.arange(math.floor(low / h), math.ceil(high / h) + 1, dtype=torch.float64) * h
    t = mus * x - 0.5 * mus**2
    log_ratio = torch.where(
        t > 30.0,
        t + log_q + torch.log1p(torch.exp(torch.clamp(log_p - log_q - t, max=700.0))),
        torch.log1p(torch.exp(log_q) * torch.expm1(torch.clamp(t, max=30.0))),
    )
    log_weight = r * log_ratio - 0.5 * x**2 + math.log(h) - _LOG_SQRT_2PI
    log_a = torch.logsumexp(log_weight, 1)
    probability = torch.exp(log_weight - log_a[:, None])
    mean = (probability * log_ratio).sum(1)
    variance = (probability * (log_ratio - mean[:, None]) ** 2).sum(1)
    return log_a, mean, variance


def line_values(pair: LossPair, r: float, omegas: torch.Tensor) -> LineValues:
    """``A(r + i omega)`` for increasing non-negative ``omegas`` (shape (M,), float64), with its error bound.

    Cost: about ``M * (right + left) * mu * omega_max / 2 pi`` sine-cosine pairs; memory is bounded by the tile size.
    """
    device = omegas.device
    moduli, phases, errors = [], [], []
    start, total = 0, omegas.numel()
    while start < total:
        # Frequencies go in blocks that double, since the spacing that a block needs falls with its largest frequency.
        stop = min(total, max(64, 2 * start))
        nodes = _nodes(pair, r, float(omegas[stop - 1]), device)
        rows = max(1, _TILE // nodes.log_ratio.numel())
        real, imag = [], []
        for block in omegas[start:stop].split(rows):
            half_angle = torch.outer(0.5 * block, nodes.log_ratio)
            sine = torch.sin(half_angle)
            imag.append(2.0 * (sine * torch.cos(half_angle)) @ nodes.weight)
            real.append(nodes.excess - 2.0 * sine.square_() @ nodes.weight)
        re, im = torch.cat(real), torch.cat(imag)
        offset = math.exp(-nodes.shift)
        modulus = torch.hypot(offset + re, im).clamp(min=1e-200)
        size = torch.hypot(re, im)
        near_one = (size < 0.5) if nodes.shift == 0.0 else torch.zeros_like(size, dtype=torch.bool)
        log_modulus = torch.where(
            near_one,
            0.5 * torch.log1p(torch.where(near_one, 2.0 * re + size**2, 0.0)),
            torch.log(modulus) + nodes.shift,
        )
        absolute = 1e-200 + nodes.error_constant + omegas[start:stop] * nodes.error_slope + 16.0 * UNIT_ROUNDOFF * size
        absolute = absolute + 16.0 * UNIT_ROUNDOFF * torch.where(near_one, 0.0, modulus * (1.0 + abs(nodes.shift)))
        moduli.append(log_modulus)
        phases.append(torch.atan2(im, offset + re))
        errors.append(absolute / modulus)
        start = stop
    return LineValues(torch.cat(moduli), torch.cat(phases), torch.cat(errors))
