"""Bounds against binomial tails and closed forms; the power calculation against the exact binomial law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import beta, binom

from privlib.accounting import gdp
from privlib.attacks.bounds import (
    ErrorBounds,
    epsilon_from_errors,
    error_upper_bound,
    gdp_mu_from_errors,
    largest_epsilon,
    one_sided,
    trials_for_epsilon,
    trials_for_error,
    trials_to_refute,
)


@given(trials=st.integers(1, 10_000), share=st.floats(0.0, 1.0), confidence=st.floats(0.5, 0.99999))
def test_clopper_pearson_is_the_probability_at_which_so_few_errors_are_rare(trials, share, confidence) -> None:
    errors = min(trials, int(share * (trials + 1)))
    bound = float(error_upper_bound(errors, trials, confidence))
    if errors == trials:
        assert bound == 1.0
        return
    assert errors / trials < bound < 1.0
    assert binom.cdf(errors, trials, bound) == pytest.approx(1.0 - confidence, rel=1e-6)
    assert bound == pytest.approx(beta.ppf(confidence, errors + 1, trials - errors), rel=1e-9)


def test_no_error_in_n_trials_is_the_rule_of_three() -> None:
    assert float(error_upper_bound(0, 1000, 0.95)) == pytest.approx(1.0 - 0.05**0.001, rel=1e-12)
    assert float(error_upper_bound(0, 1000, 0.95)) == pytest.approx(3.0 / 1000, rel=0.01)


@pytest.mark.parametrize("probability", [0.001, 0.1, 0.5, 0.97])
def test_bounds_cover_as_often_as_they_say(probability) -> None:
    """Exact coverage over the binomial law, not a simulation."""
    counts = np.arange(301)
    covered = error_upper_bound(counts, 300, 0.95) >= probability
    assert binom.pmf(counts, 300, probability)[covered].sum() >= 0.95


@given(mu=st.floats(0.01, 5.0), place=st.floats(-3.0, 3.0), delta=st.floats(1e-6, 0.5))
def test_exact_errors_of_a_gaussian_never_show_more_than_its_curve(mu, place, delta) -> None:
    fpr, fnr = float(ndtr(place - mu / 2)), float(ndtr(-place - mu / 2))
    assert float(gdp_mu_from_errors(fpr, fnr)) == pytest.approx(mu, rel=1e-6)
    assert float(epsilon_from_errors(fpr, fnr, delta)) <= gdp.epsilon_for_delta(mu, delta) + 1e-9


@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
def test_the_test_at_a_ratio_of_epsilon_shows_all_of_it(mu) -> None:
    delta = 0.05
    epsilon = gdp.epsilon_for_delta(mu, delta)
    fpr, fnr = float(ndtr(-epsilon / mu - mu / 2)), float(ndtr(epsilon / mu - mu / 2))
    for errors in ((fpr, fnr), (fnr, fpr)):
        assert float(epsilon_from_errors(*errors, delta)) == pytest.approx(epsilon, rel=1e-9)


def test_useless_errors_show_nothing() -> None:
    assert epsilon_from_errors([0.5, 1.0, 0.3, 1.0], [0.5, 0.2, 0.9, 1.0], 0.01).tolist() == [0.0] * 4
    assert gdp_mu_from_errors([0.5, 1.0, 1.0], [0.5, 0.2, 1.0]).tolist() == [0.0] * 3


def test_error_bounds_by_hand() -> None:
    errors = ErrorBounds(0.0, 3, 1000, 400, 1200, 0.95)
    fpr, fnr = float(error_upper_bound(3, 1000, 0.975)), float(error_upper_bound(400, 1200, 0.975))
    assert (errors.fpr_upper, errors.fnr_upper) == (fpr, fnr)
    assert errors.epsilon(1e-3) == pytest.approx(math.log((1 - 1e-3 - fnr) / fpr))
    assert errors.gdp_mu() == pytest.approx(float(gdp_mu_from_errors(fpr, fnr)))


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 5.0, 9.0])
@pytest.mark.parametrize("confidence", [0.9, 0.999])
def test_trials_for_epsilon_is_where_the_ceiling_passes_it(epsilon, confidence) -> None:
    trials = trials_for_epsilon(epsilon, delta=0.01, confidence=confidence)
    assert largest_epsilon(trials, delta=0.01, confidence=confidence) > epsilon
    assert trials == 1 or largest_epsilon(trials - 1, delta=0.01, confidence=confidence) <= epsilon


def test_trials_for_error() -> None:
    trials = trials_for_error(0.001, confidence=0.95)
    assert float(error_upper_bound(0, trials, 0.975)) <= 0.001 < float(error_upper_bound(0, trials - 1, 0.975))


def test_power_calculation_is_kept_by_the_binomial_law() -> None:
    """With the planned number of trials, the chance to refute, summed exactly, is at least the power."""
    mu, delta, confidence, power = 1.562, 0.2, 0.95, 0.9
    true = 1.25 * mu
    fpr, fnr = float(ndtr(-true / 2 - 2.0 / true)), float(ndtr(-true / 2 + 2.0 / true))
    claim = gdp.epsilon_for_delta(mu, delta)
    trials = trials_to_refute(fpr, fnr, epsilon=claim, delta=delta, confidence=confidence, power=power)
    counts = np.arange(trials + 1)
    upper = error_upper_bound(counts, trials, one_sided(confidence))
    refuted = epsilon_from_errors(upper[:, None], upper[None, :], delta) > claim
    chance = binom.pmf(counts, trials, fpr) @ refuted @ binom.pmf(counts, trials, fnr)
    assert power <= chance < 0.99
    few = trials // 3
    upper = error_upper_bound(counts[: few + 1], few, one_sided(confidence))
    refuted = epsilon_from_errors(upper[:, None], upper[None, :], delta) > claim
    assert binom.pmf(counts[: few + 1], few, fpr) @ refuted @ binom.pmf(counts[: few + 1], few, fnr) < power


def test_power_needs_a_claim_that_is_false() -> None:
    with pytest.raises(ValueError, match="cannot refute epsilon = 3"):
        trials_to_refute(0.1, 0.1, epsilon=3.0, delta=0.01, confidence=0.95)
    with pytest.raises(ValueError, match="more than 100,000,000 trials"):
        trials_to_refute(0.1, 0.1, epsilon=math.log(8.9) - 1e-7, delta=0.01, confidence=0.95)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: error_upper_bound(5, 4, 0.9), r"errors must lie in 0..4, got 5"),
        (lambda: error_upper_bound(0, 0, 0.9), "trials must be at least 1"),
        (lambda: error_upper_bound(0, 4, 1.0), r"confidence must lie in \(0, 1\), got 1.0"),
        (lambda: ErrorBounds(0.0, 1, 9, 1, 9, 0.9).epsilon(0.0), r"delta must lie in \(0, 1\)"),
        (lambda: trials_for_error(0.0, confidence=0.9), r"error must lie in \(0, 1\)"),
    ],
)
def test_bad_input(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
