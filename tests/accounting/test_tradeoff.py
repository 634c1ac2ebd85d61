"""Trade-off curves and attack success against closed forms and direct likelihood-ratio tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from privlib.accounting import gdp
from privlib.accounting.tradeoff import (
    attack_success_from_epsilon,
    attack_success_from_tradeoff,
    tradeoff_curve,
    tradeoff_lower_bound,
)
from privlib.mechanisms import SubsampledGaussian
from privlib.types import Adjacency

ALPHA = np.linspace(0.0, 1.0, 101)


def test_full_batch_is_exact() -> None:
    curve = tradeoff_curve(SubsampledGaussian(0.5, 1.0, 4), ALPHA)
    assert curve == pytest.approx(gdp.tradeoff(1.0, ALPHA), abs=1e-14)
    replaced = tradeoff_curve(SubsampledGaussian(0.5, 1.0, 1, Adjacency.REPLACE_ONE), ALPHA)
    assert replaced == pytest.approx(gdp.tradeoff(1.0, ALPHA), abs=1e-14)


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_envelope_supports_the_gaussian_curve(mu: float) -> None:
    epsilons = np.linspace(0.0, gdp.epsilon_for_delta(mu, 1e-12), 400)
    deltas = np.array([gdp.delta_for_epsilon(mu, float(epsilon)) for epsilon in epsilons])
    bound, exact = tradeoff_lower_bound(ALPHA, epsilons, deltas), gdp.tradeoff(mu, ALPHA)
    assert (bound <= exact + 1e-12).all()
    assert np.abs(bound - exact).max() < 2e-4


def test_one_pair_closed_form() -> None:
    epsilon, delta = 1.2, 0.05
    bound = tradeoff_lower_bound(ALPHA, np.array([epsilon]), np.array([delta]))
    expected = np.maximum.reduce(
        [np.zeros_like(ALPHA), 1 - delta - math.exp(epsilon) * ALPHA, math.exp(-epsilon) * (1 - delta - ALPHA)]
    )
    assert bound == pytest.approx(expected, abs=1e-15)
    # The best balanced test sits in the corner, where both errors are equal.
    corner = (1 - delta) / (1 + math.exp(epsilon))
    assert 1 - corner == pytest.approx(attack_success_from_epsilon(epsilon, delta), rel=1e-14)


def test_huge_epsilon_does_not_overflow() -> None:
    bound = tradeoff_lower_bound(ALPHA, np.array([2000.0]), np.array([0.0]))
    assert bound[0] == 1.0
    assert (bound[1:] == 0.0).all()


@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.3), (2.0, 0.05)])
def test_single_subsampled_output_against_its_likelihood_ratio_tests(mu: float, q: float) -> None:
    # The likelihood ratio increases in x, so the best tests are thresholds, in both directions.
    thresholds = np.linspace(-8.0, 8.0 + mu, 4001)
    first = ndtr(-thresholds)
    second = 1.0 - ((1 - q) * ndtr(-thresholds) + q * ndtr(mu - thresholds))
    curve = tradeoff_curve(SubsampledGaussian(mu, q), first)
    assert (curve <= second + 1e-9).all()
    assert (tradeoff_curve(SubsampledGaussian(mu, q), second) <= first + 1e-9).all()
    # Adding and removing have mirrored curves; the bound is the convex hull of the lower of the two, which meets
    # each of them at the outer part and is a line between.
    middle = np.interp(0.5, first[::-1], second[::-1])
    assert tradeoff_curve(SubsampledGaussian(mu, q), np.array([0.5]))[0] > middle - 0.05


def test_curve_is_a_tradeoff_function() -> None:
    curve = tradeoff_curve(SubsampledGaussian(0.7, 0.02, 2000), ALPHA, num_epsilons=7)
    assert (np.diff(curve) <= 1e-15).all()
    assert (np.diff(curve, 2) >= -1e-12).all()
    assert (curve <= 1.0 - ALPHA + 1e-12).all()
    assert curve[0] > 1.0 - 1e-6
    assert curve[10] > 0.0


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.3, 5.0, 800.0])
def test_attack_success_from_epsilon(epsilon: float) -> None:
    expected = 1.0 / (1.0 + math.exp(-epsilon))
    assert attack_success_from_epsilon(epsilon) == pytest.approx(expected, rel=1e-15)
    with_delta = attack_success_from_epsilon(epsilon, 0.2)
    assert expected <= with_delta <= 1.0
    assert attack_success_from_epsilon(epsilon, 1.0) == pytest.approx(1.0, rel=1e-15)


def test_attack_success_from_tradeoff_gaussian() -> None:
    interval = attack_success_from_tradeoff(SubsampledGaussian(1.0))
    assert interval.lower <= ndtr(0.5) <= interval.upper
    assert interval.width < 1e-9


@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.3), (0.5, 0.01)])
def test_attack_success_from_tradeoff_one_output(mu: float, q: float) -> None:
    # Total variation distance of one output: q times that of the two Gaussians.
    exact = 0.5 * (1.0 + q * (2.0 * ndtr(mu / 2) - 1.0))
    interval = attack_success_from_tradeoff(SubsampledGaussian(mu, q))
    assert interval.lower <= exact <= interval.upper
    assert interval.width < 1e-6


def test_tradeoff_beats_the_best_single_pair() -> None:
    mu = 1.0
    success = attack_success_from_tradeoff(SubsampledGaussian(mu)).upper
    for delta in (1e-1, 1e-3, 1e-5):
        assert success <= attack_success_from_epsilon(gdp.epsilon_for_delta(mu, delta), delta) + 1e-12
    # Equality at epsilon = 0, where the pair is the total variation distance itself.
    total_variation = gdp.delta_for_epsilon(mu, 0.0)
    assert attack_success_from_epsilon(0.0, total_variation) == pytest.approx(success, rel=1e-9)


def test_balanced_error_of_the_curve_is_the_attack_bound() -> None:
    mu = 1.3
    point = brentq(lambda a: float(gdp.tradeoff(mu, np.array(a))) - a, 1e-6, 0.5)
    assert 1.0 - point == pytest.approx(attack_success_from_tradeoff(SubsampledGaussian(mu)).midpoint, rel=1e-9)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, math.nan])
def test_bad_alpha(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        tradeoff_curve(SubsampledGaussian(1.0), np.array([alpha]))


def test_bad_profile() -> None:
    with pytest.raises(ValueError, match="one length"):
        tradeoff_lower_bound(ALPHA, np.array([0.0, 1.0]), np.array([0.1]))
    with pytest.raises(ValueError, match="epsilons"):
        tradeoff_lower_bound(ALPHA, np.array([-1.0]), np.array([0.1]))
    with pytest.raises(ValueError, match="deltas"):
        tradeoff_lower_bound(ALPHA, np.array([1.0]), np.array([1.1]))
    with pytest.raises(ValueError, match="delta"):
        attack_success_from_epsilon(1.0, -0.1)
    with pytest.raises(ValueError, match="epsilon"):
        attack_success_from_epsilon(-1.0)
