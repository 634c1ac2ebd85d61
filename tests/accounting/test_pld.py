"""The grid accountant: printed numbers, refusals, and the profile of a replaced record."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.common import DifferentialPrivacyParameters
from scipy.stats import norm

from privlib.accounting import certified, gdp, pld, single
from privlib.mechanisms import Composition, SubsampledGaussian, block_gdp_mu
from privlib.schedules import edm_sigmas, num_block_steps
from privlib.types import AccountingError, Adjacency

REPLACE = Adjacency.REPLACE_ONE


def paper(percent: int) -> SubsampledGaussian:
    return SubsampledGaussian(block_gdp_mu(edm_sigmas(39), num_block_steps(percent / 100, 39)), 25 / 50_000, 50_000)


@pytest.mark.slow
@pytest.mark.parametrize(("percent", "printed"), [(55, 0.2988), (62, 1.691), (65, 6.289), (67, 25.696)])
def test_printed_upper_bounds(percent: int, printed: float) -> None:
    value = pld.epsilon_upper(paper(percent), 1e-5)
    assert abs(value - printed) <= 0.51 * (1e-4 if printed < 1 else 1e-3)
    assert value >= certified.epsilon_interval(paper(percent), 1e-5).lower


@pytest.mark.slow
def test_printed_lower_bound() -> None:
    assert pld.epsilon_lower(paper(55), 1e-5) == pytest.approx(0.04880, abs=5e-6)


def test_trap_6_lower_end_is_low_by_count_times_half_a_step() -> None:
    mechanism = SubsampledGaussian(0.7, 0.01, 400)
    exact = certified.epsilon_interval(mechanism, 1e-5)
    coarse, fine = (exact.lower - pld.epsilon_lower(mechanism, 1e-5, step=step) for step in (1e-3, 1e-4))
    assert coarse == pytest.approx(400 * 1e-3 / 2, rel=0.1)
    assert fine == pytest.approx(400 * 1e-4 / 2, rel=0.1)
    assert 0.0 <= pld.epsilon_upper(mechanism, 1e-5, step=1e-4) - exact.upper < 1e-3  # the upper end is of second order


def test_trap_4_noise_floor_is_refused() -> None:
    for call in (pld.epsilon_upper, pld.epsilon_lower):
        with pytest.raises(AccountingError, match="noise floor"):
            call(SubsampledGaussian(1.0, 0.1, 10), 1e-18, step=1e-3)


def test_no_finite_epsilon_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    # A tenth of the mass at infinity: no epsilon reaches a delta below that.
    infinite = privacy_loss_distribution.from_privacy_parameters(DifferentialPrivacyParameters(1.0, 0.1))
    monkeypatch.setattr(pld, "_composed", lambda *_: infinite)
    with pytest.raises(AccountingError, match="no finite epsilon"):
        pld.epsilon_upper(SubsampledGaussian(1.0, 0.5), 1e-5)


def test_exact_gaussian_lies_between() -> None:
    mechanism = SubsampledGaussian(0.8, 1.0, 1)
    exact = gdp.epsilon_for_delta(0.8, 1e-5)
    low, high = (f(mechanism, 1e-5, step=1e-3) for f in (pld.epsilon_lower, pld.epsilon_upper))
    assert low <= exact <= high and high - low < 2e-3


def test_no_loss() -> None:
    assert pld.epsilon_upper(SubsampledGaussian(0.0, 0.3, 5), 1e-5) == 0.0
    assert pld.delta_upper(SubsampledGaussian(0.0, 0.3, 5), 0.0) == 0.0


def test_delta_upper_inverts_epsilon_upper() -> None:
    mechanism = Composition((SubsampledGaussian(0.7, 0.05, 20), SubsampledGaussian(0.2, 1.0, 3)))
    epsilon = pld.epsilon_upper(mechanism, 1e-5, step=1e-3)
    assert pld.delta_upper(mechanism, epsilon, step=1e-3) == pytest.approx(1e-5, rel=1e-6)


@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.9), (0.5, 0.01), (3.0, 1e-6), (0.02, 0.5)])
def test_replaced_profile_is_a_profile(mu: float, q: float) -> None:
    epsilons = np.linspace(-6.0, 6.0, 2001)
    deltas = pld.replaced_profile(mu, q, epsilons)
    alphas = np.exp(epsilons)
    assert (
        np.all(np.diff(deltas) <= 1e-15)
        and np.all(deltas >= np.maximum(0.0, 1 - alphas) - 1e-15)
        and np.all(deltas <= 1)
    )
    slopes = np.diff(deltas) / np.diff(alphas)
    assert np.all(np.diff(slopes) >= -1e-9)  # convex in exp(epsilon)
    # Exchanging the two laws changes nothing.
    assert deltas == pytest.approx(1 - alphas + alphas * deltas[::-1], abs=1e-12)
    # At positive epsilons: the closed form of one output at twice the shift.
    at = 1003 if mu < 0.1 else 1500
    assert math.log(deltas[at]) == pytest.approx(single.log_delta_bounds(2 * mu, q, float(epsilons[at]))[1], abs=1e-8)


def two_outputs(mu: float, q: float, epsilon: float) -> float:
    """delta of two outputs when a record's contribution flips from +C to -C, by brute force on the plane."""
    x = np.linspace(-9.0, 9.0 + mu, 1501)
    p, p_other = ((1 - q) * norm.pdf(x) + q * norm.pdf(x, shift) for shift in (mu, -mu))
    return float(
        np.maximum(np.outer(p, p) - math.exp(epsilon) * np.outer(p_other, p_other), 0.0).sum() * (x[1] - x[0]) ** 2
    )


@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.9), (0.5, 0.9), (1.0, 0.5), (0.6, 0.1)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0])
def test_trap_1_replacing_a_record_is_never_charged_less_than_flipping_it_costs(
    mu: float, q: float, epsilon: float
) -> None:
    exact = two_outputs(mu, q, epsilon)
    assert pld.delta_upper(SubsampledGaussian(mu, q, 2, REPLACE), epsilon, step=1e-3) >= exact * (1 - 1e-5)


def test_add_or_remove_at_twice_the_shift_would_be_charged_too_little() -> None:
    # Why replacing has a profile of its own: the bound that one output obeys fails for two.
    doubled = pld.delta_upper(SubsampledGaussian(2.0, 0.9, 2), 0.0, step=1e-4)
    assert doubled == pytest.approx(0.77088, abs=1e-4)
    assert two_outputs(1.0, 0.9, 0.0) > doubled + 0.005


def test_too_fine_a_grid_for_replacing_is_refused() -> None:
    with pytest.raises(AccountingError, match="step"):
        pld.epsilon_upper(SubsampledGaussian(3.0, 0.5, 2, REPLACE), 1e-5, step=1e-7)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((0.0, 1e-3), "delta"), ((1.0, 1e-3), "delta"), ((1e-5, 0.0), "step"), ((1e-5, -1.0), "step")],
)
def test_bad_input(arguments: tuple[float, float], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        pld.epsilon_upper(SubsampledGaussian(1.0, 0.5), arguments[0], step=arguments[1])
