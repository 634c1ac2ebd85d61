"""The contour sum: every sub-bound, and the three error terms, against independent evaluations."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import torch

from privlib.accounting import certified, rdp
from privlib.accounting.contour import (
    COMFORTABLE_WORK,
    LossSum,
    _log_kappa,
    build_profile,
    chernoff_bound,
    chernoff_epsilon,
    log_delta_estimate,
    saddle_point,
    saddle_point_for_delta,
)
from privlib.accounting.transform import LossPair
from privlib.mechanisms import SubsampledGaussian
from privlib.types import AccountingError
from tests.accounting.reference import composed_delta, transform

CPU = torch.device("cpu")


def loss_sum(mu: float, q: float, count: int, *, remove: bool = True, pure_mu: float = 0.0) -> LossSum:
    return LossSum(((LossPair(mu, q), count),), pure_mu, remove, CPU)


def profile_at(loss: LossSum, epsilon: float, relative: float = 1e-9):
    scale = log_delta_estimate(loss, epsilon)
    return build_profile(
        loss, epsilon, scale=scale, relative=relative, required=max(relative, 1e-3), spend=10.0, work=COMFORTABLE_WORK
    )


@pytest.mark.parametrize("s", [1e-3, 0.2, 1.0, 7.0, 400.0])
def test_chernoff_constant(s: float) -> None:
    y = np.exp(np.linspace(math.log(1e-6), math.log(1e6), 200_001))
    worst = np.max(np.log(-np.expm1(-y)) - s * y)
    assert worst <= _log_kappa(s) + 1e-12
    assert worst == pytest.approx(_log_kappa(s), abs=1e-6)


CASES = [
    (0.7, 5e-4, 50_000, True, 0.5),
    (1.0, 0.01, 1000, True, 1.8),
    (1.0, 0.01, 1000, False, 1.4),
    (0.3, 0.1, 200, True, 2.0),
    (0.3, 0.1, 200, False, 2.0),
    (2.0, 0.3, 40, False, 12.0),
    (1.0, 0.5, 30, True, 0.0),
]


@pytest.mark.parametrize(("mu", "q", "count", "remove", "epsilon"), CASES)
def test_profile_contains_plain_inversion(mu: float, q: float, count: int, remove: bool, epsilon: float) -> None:
    loss = loss_sum(mu, q, count, remove=remove)
    low, value, high = (
        float(t) for t in profile_at(loss, epsilon).bounds(torch.tensor([epsilon], dtype=torch.float64))
    )
    assert low <= value <= high
    assert high - low <= 1e-5 * high
    # Another line than the saddle point's, another spacing, another code.
    reference = composed_delta([(mu, q, count)], epsilon, remove, 0.5 * saddle_point(loss, epsilon))
    assert low * (1 - 1e-8) <= reference <= high * (1 + 1e-8)


@pytest.mark.parametrize(("mu", "q", "count", "remove", "epsilon"), CASES[:4])
def test_the_sum_is_an_upper_bound_for_any_period_because_aliases_are_positive(
    mu: float, q: float, count: int, remove: bool, epsilon: float
) -> None:
    loss = loss_sum(mu, q, count, remove=remove)
    exact = float(profile_at(loss, epsilon).bounds(torch.tensor([epsilon], dtype=torch.float64))[1])
    for relative in (0.3, 0.03, 1e-3):
        # A loose target makes a short period, whose aliases are large: they may only raise the value.
        low, _, high = (
            float(t) for t in profile_at(loss, epsilon, relative).bounds(torch.tensor([epsilon], dtype=torch.float64))
        )
        assert low <= exact * (1 + 1e-8)
        assert exact <= high * (1 + 1e-8)


def test_aliases_are_bounded_on_both_sides_away_from_the_centre() -> None:
    loss = loss_sum(0.7, 0.05, 300)
    profile = profile_at(loss, 2.0, 1e-2)
    points = torch.linspace(0.5, 4.0, 15, dtype=torch.float64)
    low, _, high = profile.bounds(points)
    for epsilon, a, b in zip(points.tolist(), low.tolist(), high.tolist(), strict=True):
        c = saddle_point(loss, epsilon)
        assert a <= composed_delta([(0.7, 0.05, 300)], epsilon, True, 0.5 * c) * (1 + 1e-9) + 1e-15
        assert b >= composed_delta([(0.7, 0.05, 300)], epsilon, True, 0.5 * c) * (1 - 1e-9) - 1e-15


def test_saddle_points_agree() -> None:
    loss = loss_sum(1.0, 0.01, 1000)
    c, epsilon = saddle_point_for_delta(loss, 1e-5)
    assert saddle_point(loss, epsilon) == pytest.approx(c, rel=1e-6)
    assert log_delta_estimate(loss, epsilon) == pytest.approx(math.log(1e-5), abs=1e-5)


def test_chernoff_epsilon_is_above_the_profile() -> None:
    loss = loss_sum(1.0, 0.01, 1000)
    c, _ = saddle_point_for_delta(loss, 1e-5)
    epsilon = chernoff_epsilon(loss, 1e-5, c)
    assert float(profile_at(loss, epsilon).bounds(torch.tensor([epsilon], dtype=torch.float64))[0]) <= 1e-5


def test_exponents_are_exact() -> None:
    profile = profile_at(loss_sum(0.7, 5e-4, 50_000), 0.5)
    for exponent in (profile.c, profile.s):
        assert (1.0 + exponent) - 1.0 == exponent
    spacing = float(profile.omegas[1])
    assert all(float(w) == k * spacing for k, w in enumerate(profile.omegas))
    mantissa = math.frexp(spacing)[0] * 2.0**20
    assert mantissa == int(mantissa)  # few significant bits: the multiples are exact


def test_transform_bound_is_above_the_moment() -> None:
    for remove, s in ((True, 3.0), (False, 2.5)):
        loss = loss_sum(0.7, 5e-4, 50_000, remove=remove, pure_mu=0.4)
        exact = 50_000 * mpmath.log(transform(0.7, 5e-4, 1 + s if remove else -s, 0.0).real) + 0.08 * s * (s + 1)
        assert 0.0 <= loss.log_transform_bound(s) - exact < 1e-6
        assert abs(loss.log_transform_bound(s) - loss.cumulants(s)[0]) < 1e-6


def test_largest_loss() -> None:
    assert loss_sum(1.0, 0.1, 10).largest() == math.inf
    assert loss_sum(1.0, 0.1, 10, remove=False).largest() == pytest.approx(-10 * math.log(0.9), rel=1e-11)
    assert loss_sum(1.0, 0.1, 10, remove=False, pure_mu=0.1).largest() == math.inf


def test_refuses_what_it_cannot_prove() -> None:
    loss = loss_sum(6.0, 1e-5, 2)
    with pytest.raises(AccountingError, match="cannot certify delta near epsilon"):
        build_profile(loss, 49.0, scale=math.log(1e-15), relative=1e-9, required=1e-6, spend=10.0, work=1e6)


@pytest.mark.parametrize("count", [1_000, 10_000_000])
@pytest.mark.parametrize("s", [0.5, 3.0, 20.0])
def test_a_chernoff_bound_is_the_renyi_bound_of_its_order(count: int, s: float) -> None:
    """The Renyi accountant shares no code with the transform: the same inequality, evaluated independently."""
    mechanism = SubsampledGaussian(0.5, 1e-3, count)
    loss = LossSum(((LossPair(0.5, 1e-3), count),), 0.0, True, torch.device("cpu"))
    renyi = rdp.epsilon_from_divergence(rdp.renyi_divergence(mechanism, 1.0 + s), 1.0 + s, 1e-6)
    bound = chernoff_bound(loss, 1e-6, s)
    assert bound == pytest.approx(renyi, rel=1e-6)
    assert bound >= certified.epsilon_interval(mechanism, 1e-6).lower
