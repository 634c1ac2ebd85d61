"""Gaussian differential privacy against mpmath, and the rounding bounds that every other bound leans on."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from privlib.accounting import gdp


def exact_log_ndtr(x: float) -> mpmath.mpf:
    value = mpmath.mpf(x)
    if x > 5:
        return mpmath.log1p(-mpmath.erfc(value / mpmath.sqrt(2)) / 2)
    return mpmath.log(mpmath.erfc(-value / mpmath.sqrt(2)) / 2)


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    # The two terms agree to many digits where delta is tiny.
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        cdf = lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2
        return cdf(m / 2 - e / m) - mpmath.exp(e) * cdf(-m / 2 - e / m)


def test_error_of_scipy_log_ndtr_is_within_the_charge() -> None:
    rng = np.random.default_rng(1)
    points = np.concatenate(
        [
            rng.uniform(-10, 10, 300),
            -np.exp(rng.uniform(-20, math.log(1e4), 300)),
            rng.uniform(-1.5, 0.5, 300),
            [0.0, -1e4],
        ]
    )
    with mpmath.workdps(40):
        for x in points:
            assert abs(mpmath.mpf(float(log_ndtr(x))) - exact_log_ndtr(float(x))) <= 1e-15 * (1 + x * x)


@settings(max_examples=150, deadline=None)
@given(mu=st.floats(1e-6, 60.0), scale=st.floats(0.0, 30.0))
def test_log_delta_bounds_hold_and_are_narrow(mu: float, scale: float) -> None:
    epsilon = mu * (mu / 2 + scale)
    exact = exact_delta(mu, epsilon)
    low, high = gdp.log_delta_bounds(mu, epsilon)
    with mpmath.workdps(60):
        log_exact = mpmath.log(exact)
    assert low <= log_exact <= high
    if mu > 1e-3:
        assert high - low <= 1e-10 * (1 + scale**2) * (1 + 1e-2 / mu)


@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.7, 3.0, 50.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-20, 1e-9, 1e-5, 0.2, 0.999])
def test_epsilon_interval_contains_the_root(mu: float, delta: float) -> None:
    interval = gdp.epsilon_interval(mu, delta)
    assert 0.0 <= interval.lower <= interval.upper
    if interval.upper > 0.0:
        assert exact_delta(mu, interval.upper) <= delta
        assert interval.width <= (1e-8 if mu > 1e-3 else 1e-5) * interval.upper
    else:
        assert exact_delta(mu, 0.0) <= delta
    if interval.lower > 0.0:
        assert exact_delta(mu, interval.lower) >= delta
    assert gdp.epsilon_for_delta(mu, delta) in interval or interval.upper == 0.0


@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 1.0, 40.0, 1000.0])
@pytest.mark.parametrize("mu", [0.05, 1.0, 45.0])
def test_delta_interval(mu: float, epsilon: float) -> None:
    interval = gdp.delta_interval(mu, epsilon)
    exact = exact_delta(mu, epsilon)
    assert interval.lower <= exact <= interval.upper or exact < 1e-300
    assert gdp.delta_for_epsilon(mu, epsilon) <= interval.upper


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.1, 1e-9), (20.0, 1e-3), (0.0, 0.1)])
def test_calibration_inverts(epsilon: float, delta: float) -> None:
    mu = gdp.mu_for_epsilon(epsilon, delta)
    assert gdp.delta_for_epsilon(mu, epsilon) == pytest.approx(delta, rel=1e-10)
    assert gdp.epsilon_for_delta(mu, delta) == pytest.approx(epsilon, rel=1e-9, abs=1e-12)


def test_trap_8_epsilon_is_zero_exactly_where_delta_at_zero_is_reached() -> None:
    total_variation = math.erf(1.0 / math.sqrt(8.0))
    assert gdp.epsilon_for_delta(1.0, total_variation * (1 + 1e-9)) == 0.0
    assert gdp.epsilon_for_delta(1.0, total_variation * (1 - 1e-9)) > 0.0
    assert gdp.epsilon_interval(1.0, total_variation * (1 - 1e-9)).upper > 0.0


def test_no_loss_at_mu_zero() -> None:
    assert gdp.delta_for_epsilon(0.0, 0.0) == 0.0
    assert gdp.epsilon_for_delta(0.0, 1e-300) == 0.0
    assert gdp.delta_interval(0.0, 0.0).upper == 0.0


def test_composition_is_the_root_of_squares() -> None:
    assert gdp.compose([3.0, 4.0]) == 5.0
    assert gdp.compose([]) == 0.0


def test_tradeoff_curve() -> None:
    alpha = np.linspace(0.0, 1.0, 11)
    beta = gdp.tradeoff(1.3, alpha)
    assert beta[0] == 1.0 and beta[-1] == 0.0 and np.all(np.diff(beta) < 0)
    assert gdp.tradeoff(1.3, beta) == pytest.approx(alpha, abs=1e-12)  # symmetric
    assert gdp.tradeoff(0.0, alpha) == pytest.approx(1.0 - alpha, abs=1e-15)
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\]"):
        gdp.tradeoff(1.0, np.array([0.5, 1.5]))


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", None, True])
def test_bad_mu(bad: object) -> None:
    for call in (lambda: gdp.epsilon_for_delta(bad, 1e-5), lambda: gdp.delta_for_epsilon(bad, 1.0)):
        with pytest.raises(ValueError, match=r"gdp_mu .*\[0, inf\)"):
            call()


@pytest.mark.parametrize("bad", [0.0, 1.0, -1e-5, math.nan, True])
def test_bad_delta(bad: object) -> None:
    for call in (gdp.epsilon_for_delta, gdp.epsilon_interval, gdp.mu_for_epsilon):
        with pytest.raises(ValueError, match=r"delta .*\(0, 1\)"):
            call(1.0, bad)


def test_a_delta_that_underflows_is_not_reported_as_zero() -> None:
    assert gdp.delta_interval(0.01, 5.0).upper > 0.0
