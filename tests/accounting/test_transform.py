"""The transform of the privacy loss and its error bound, against high precision."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch

from privlib.accounting.transform import (
    LossPair,
    _log_strip_integral,
    _range,
    line_values,
    log_normal_sf,
    tilted_moments,
)
from tests.accounting.reference import transform

PAIRS = [
    (0.05, 1e-3),
    (0.7, 5e-4),
    (1.0, 0.01),
    (2.0, 0.4),
    (1.0, 0.999999),
    (4.0, 1e-5),
    (6.0, 0.9),
    (1e-6, 0.5),
    (1.0, 1e-12),
]


@pytest.mark.parametrize("r", [-40.0, -0.3, 1.2, 25.0])
@pytest.mark.parametrize(("mu", "q"), PAIRS)
def test_relative_error_covers_the_true_error(mu: float, q: float, r: float) -> None:
    omegas = torch.tensor([0.0, 0.3, 2.0, 9.0 / mu if mu > 0.01 else 50.0], dtype=torch.float64)
    omegas = omegas.sort().values
    line = line_values(LossPair(mu, q), r, omegas)
    for i, omega in enumerate(omegas.tolist()):
        exact = transform(mu, q, r, omega)
        with mpmath.workdps(40):
            value = mpmath.exp(mpmath.mpc(float(line.log_modulus[i]), float(line.phase[i])))
            error = abs(value - exact) / abs(value)
        # Forming exp(log_modulus) costs what the contour charges separately.
        units = 16 * 2.0**-53 * (1.0 + abs(float(line.log_modulus[i])) + abs(float(line.phase[i])))
        assert error <= float(line.relative_error[i]) + units
    if q < 0.99 and abs(r) < 10:
        assert float(line.relative_error[0]) < 1e-11


def test_small_losses_keep_their_digits() -> None:
    line = line_values(LossPair(1e-4, 1e-6), 1.5, torch.tensor([1.0], dtype=torch.float64))
    exact = transform(1e-4, 1e-6, 1.5, 1.0)
    with mpmath.workdps(40):
        error = abs(mpmath.log(exact) - mpmath.mpc(float(line.log_modulus[0]), float(line.phase[0])))
    # Losses are of size q mu = 1e-10: a transform formed around 1 would be off by 1e-16.
    assert error <= 1e-25 and error <= float(line.relative_error[0]) < 1e-17


@pytest.mark.parametrize(("mu", "q"), [(0.7, 5e-4), (2.0, 0.4), (6.0, 0.9), (1.0, 1e-9)])
@pytest.mark.parametrize(("r", "omega"), [(-3.0, 20.0), (0.5, 1.0), (1.4, 200.0), (8.0, 5.0)])
def test_strip_integral_is_an_upper_bound(mu: float, q: float, r: float, omega: float) -> None:
    widths = torch.tensor([0.45 * math.pi / mu, 0.2 / mu], dtype=torch.float64).clamp(max=9.0)
    bound, _ = _log_strip_integral(LossPair(mu, q), r, omega, widths)
    x = torch.arange(-30.0, 30.0 + abs(r) * mu, 0.02, dtype=torch.float64)
    for a, log_bound in zip(widths.tolist(), bound.tolist(), strict=True):
        for share in (-1.0, -0.5, 0.0, 0.7, 1.0):
            z = torch.complex(x, torch.full_like(x, share * a))
            g = (1.0 - q) + q * torch.exp(mu * z - 0.5 * mu * mu)
            log_size = (r * torch.log(g.abs()) - omega * g.angle()) - 0.5 * (x**2 - (share * a) ** 2)
            assert float(torch.logsumexp(log_size, 0)) + math.log(0.02 / math.sqrt(2 * math.pi)) <= log_bound


@pytest.mark.parametrize(("mu", "q"), [(0.7, 5e-4), (2.0, 0.4), (6.0, 0.9), (3.0, 1e-8)])
@pytest.mark.parametrize("r", [-30.0, -1.0, 1.1, 4.0, 20.0])
def test_truncation_bound_covers_both_tails(mu: float, q: float, r: float) -> None:
    left, right, log_bound = _range(LossPair(mu, q), r)
    with mpmath.workdps(30):
        g = lambda x: (
            ((1 - mpmath.mpf(q)) + mpmath.mpf(q) * mpmath.exp(mu * x - mpmath.mpf(mu) ** 2 / 2)) ** r * mpmath.npdf(x)
        )
        tails = mpmath.quad(g, [-left - 30, -left - 6, -left]) + mpmath.quad(g, [right, right + 6, right + 30])
        assert mpmath.log(tails) <= log_bound
        # Negligible beside A(r).
        assert log_bound - float(mpmath.log(transform(mu, q, r, 0.0).real)) < -34.0


def test_tail_of_the_normal_law() -> None:
    for x in (-3.0, 0.0, 0.1, 1.0, 9.0, 30.0):
        assert log_normal_sf(x) >= float(mpmath.log(mpmath.erfc(x / mpmath.sqrt(2)) / 2)) - 1e-15


@pytest.mark.parametrize(("mu", "q"), PAIRS)
def test_rounding_of_the_loss(mu: float, q: float) -> None:
    x = torch.linspace(-12.0, 14.0 + 3 * mu, 57, dtype=torch.float64)
    value, sigma, rounding = LossPair(mu, q).log_ratio(x)
    assert bool((sigma > 0).all() and (sigma <= 1).all())
    with mpmath.workdps(60):
        for xi, vi, ri in zip(x.tolist(), value.tolist(), rounding.tolist(), strict=True):
            m, q_, x_ = mpmath.mpf(mu), mpmath.mpf(q), mpmath.mpf(xi)
            exact = mpmath.log1p(q_ * mpmath.expm1(m * x_ - m**2 / 2))
            assert abs(mpmath.mpf(vi) - exact) <= ri


def test_moments_are_those_of_the_tilted_law() -> None:
    mu, q, r = 1.3, 0.05, 2.2
    log_a, mean, variance = (float(t) for t in tilted_moments((LossPair(mu, q),), r))
    step = 1e-3
    at = lambda v: float(mpmath.log(transform(mu, q, v, 0.0).real))
    assert log_a == pytest.approx(at(r), rel=1e-13)
    assert mean == pytest.approx((at(r + step) - at(r - step)) / (2 * step), rel=1e-6)
    assert variance == pytest.approx((at(r + step) - 2 * at(r) + at(r - step)) / step**2, rel=1e-6)


def test_symmetry_of_the_two_directions() -> None:
    # A(0) = A(1) = 1, and the profile of either direction starts from there.
    for r in (0.0, 1.0):
        line = line_values(LossPair(2.0, 0.3), r, torch.zeros(1, dtype=torch.float64))
        assert abs(float(line.log_modulus)) <= float(line.relative_error) + 1e-16


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: CPU and GPU cannot be compared")
def test_cpu_and_gpu_agree() -> None:
    omegas = torch.linspace(0.0, 30.0, 301, dtype=torch.float64)
    here, there = (line_values(LossPair(1.0, 0.01), 1.4, omegas.to(device)) for device in ("cpu", "cuda"))
    for a, b in ((here.log_modulus, there.log_modulus), (here.phase, there.phase)):
        gap = (a - b.cpu()).abs()
        assert bool((gap <= here.relative_error + there.relative_error.cpu() + 1e-14).all())
