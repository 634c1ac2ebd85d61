"""One subsampled output: the closed form in both directions."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.accounting import gdp, single
from tests.accounting.reference import single_delta, single_epsilon


@settings(max_examples=150, deadline=None)
@given(mu=st.floats(1e-3, 12.0), log_q=st.floats(math.log(1e-12), math.log(0.999999)), epsilon=st.floats(0.0, 60.0))
def test_log_delta_bounds_contain_high_precision(mu: float, log_q: float, epsilon: float) -> None:
    q = math.exp(log_q)
    low, high = single.log_delta_bounds(mu, q, epsilon)
    with mpmath.workdps(400):
        e = mpmath.mpf(epsilon)
        exact = max(single_delta(mu, q, e, True), single_delta(mu, q, e, False))
        log_exact = mpmath.log(exact) if exact > mpmath.mpf(10) ** -300 else None
    if log_exact is not None:
        assert low <= log_exact <= high


@pytest.mark.parametrize("mu", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("q", [1e-5, 0.1, 0.9, 0.999999])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01])
def test_epsilon_against_independent_code(mu: float, q: float, delta: float) -> None:
    interval = single.epsilon_interval(mu, q, delta)
    assert interval.width <= 1e-6 * interval.upper
    assert single_epsilon(mu, q, delta) == pytest.approx(interval.midpoint, rel=1e-5, abs=1e-10)
    if interval.upper > 0.0:
        with mpmath.workdps(60):
            upper, lower = mpmath.mpf(interval.upper), mpmath.mpf(interval.lower)
            assert max(single_delta(mu, q, upper, remove) for remove in (True, False)) <= delta
            assert interval.lower == 0.0 or max(single_delta(mu, q, lower, remove) for remove in (True, False)) >= delta


def test_the_point_where_the_added_direction_ends() -> None:
    # delta is continuous there, but the closed form of the added direction loses its digits.
    for q in (0.01, 0.5, 0.99):
        edge = -math.log1p(-q)
        for epsilon in (edge * (1 - 1e-15), edge, edge * (1 + 1e-15), edge * (1 - 1e-9)):
            low, high = single.log_delta_bounds(1.0, q, epsilon)
            with mpmath.workdps(60):
                exact = mpmath.log(single_delta(1.0, q, mpmath.mpf(epsilon), True))
            assert low <= exact <= high


def test_nothing_is_gained_at_q_next_to_one() -> None:
    interval = single.epsilon_interval(1.5, 1.0 - 2.0**-50, 1e-5)
    assert interval.midpoint == pytest.approx(gdp.epsilon_for_delta(1.5, 1e-5), rel=1e-9)


def test_zero_only_below_the_total_variation() -> None:
    total_variation = 0.01 * math.erf(1.0 / math.sqrt(8.0))
    assert single.epsilon_interval(1.0, 0.01, total_variation * (1 + 1e-9)).upper == 0.0
    assert single.epsilon_interval(1.0, 0.01, total_variation * (1 - 1e-9)).lower > 0.0
