"""Renyi bounds against closed forms, mpmath, dp_accounting, the certified accountant and the printed numbers."""

from __future__ import annotations

import math

import mpmath
import pytest
from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.accounting import certified, gdp
from privlib.accounting.rdp import best_renyi_bound, epsilon_from_divergence, rdp_epsilon, renyi_divergence
from privlib.mechanisms import Composition, SubsampledGaussian, block_gdp_mu
from privlib.schedules import edm_sigmas, num_block_steps
from privlib.types import AccountingError, Adjacency


def paper(percent: int) -> SubsampledGaussian:
    mu = block_gdp_mu(edm_sigmas(39), num_block_steps(percent / 100, 39))
    return SubsampledGaussian(mu, 25 / 50_000, 50_000)


@pytest.mark.parametrize(
    ("percent", "delta", "printed", "unit"),
    [
        (55, 1e-5, 0.36, 0.01),
        (62, 1e-5, 2.63, 0.01),
        (65, 1e-5, 7.81, 0.01),
        (67, 1e-5, 48.8, 0.1),
        (55, 4e-10, 0.71, 0.01),
        (62, 4e-10, 5.16, 0.01),
        (65, 4e-10, 12.87, 0.01),
    ],
)
def test_printed_numbers_by_integer_orders(percent: int, delta: float, printed: float, unit: float) -> None:
    assert abs(rdp_epsilon(paper(percent), delta, orders="integer") - printed) <= unit / 2


@pytest.mark.parametrize("percent", [55, 62, 65, 67, 70])
@pytest.mark.parametrize("delta", [1e-5, 4e-10])
def test_real_orders_are_tighter_and_still_above_the_certified_value(percent: int, delta: float) -> None:
    mechanism = paper(percent)
    real = rdp_epsilon(mechanism, delta)
    assert real <= rdp_epsilon(mechanism, delta, orders="integer") * (1 + 1e-12)
    assert real >= certified.epsilon_interval(mechanism, delta).lower


def reference_log_moment(mu: float, q: float, power: float) -> float:
    """``log E_Q (dP/dQ)^power`` to 30 digits, for any real power."""
    with mpmath.workdps(30):
        mu_, q_ = mpmath.mpf(mu), mpmath.mpf(q)
        h = min(mpmath.mpf("0.15"), mpmath.mpf("0.2") / mu_)
        right = 12 + max(0, power) * mu_ + abs(mpmath.log(q_)) * 3
        total = mpmath.fsum(
            h * mpmath.npdf(k * h) * ((1 - q_) + q_ * mpmath.exp(mu_ * k * h - mu_**2 / 2)) ** power
            for k in range(int(-14 / h), int(right / h) + 1)
        )
        return float(mpmath.log(total))


@pytest.mark.parametrize("order", [1 + 1e-6, 1.001, 1.5, 2.5, 7.25, 30.5])
@pytest.mark.parametrize(("mu", "q"), [(0.05, 1e-3), (1.0, 0.01), (3.9, 5e-4), (6.0, 0.4)])
def test_fractional_orders_against_high_precision(order: float, mu: float, q: float) -> None:
    exact = reference_log_moment(mu, q, order) / (order - 1)
    value = renyi_divergence(SubsampledGaussian(mu, q), order)
    # Above the truth, by no more than what double precision costs when the moment is next to 1.
    assert exact * (1 - 1e-9) - 1e-16 / (order - 1) <= value <= exact * (1 + 1e-9) + 1e-13 / (order - 1)


@pytest.mark.parametrize("order", [1.01, 1.5, 4.0, 20.0])
@pytest.mark.parametrize(("mu", "q"), [(0.3, 0.1), (1.0, 0.01), (3.0, 0.5)])
def test_removing_dominates_adding(order: float, mu: float, q: float) -> None:
    remove = reference_log_moment(mu, q, order)
    add = reference_log_moment(mu, q, 1 - order)
    assert add <= remove * (1 + 1e-12)


@pytest.mark.parametrize("order", [2, 3, 17, 64, 500])
@pytest.mark.parametrize(("mu", "q"), [(1e-3, 1e-6), (0.7, 5e-4), (2.0, 0.3), (10.0, 1e-4)])
def test_binomial_sum_and_quadrature_agree(order: int, mu: float, q: float) -> None:
    mechanism = SubsampledGaussian(mu, q)
    whole, real = renyi_divergence(mechanism, order), renyi_divergence(mechanism, float(order))
    assert whole == pytest.approx(real, rel=1e-10, abs=1e-15)
    assert whole > 0.0


@pytest.mark.parametrize("order", [1.5, 8, 300.0])
def test_full_batch_closed_form(order: float) -> None:
    mechanism = SubsampledGaussian(1.7, 1.0, 5)
    assert renyi_divergence(mechanism, order) == pytest.approx(5 * order * 1.7**2 / 2, rel=1e-14)


@pytest.mark.parametrize(
    ("mu", "q", "count"), [(0.7, 5e-4, 50_000), (1.0, 0.01, 1000), (2.0, 0.2, 20), (1 / 0.6, 0.01, 1000)]
)
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_against_dp_accounting(mu: float, q: float, count: int, delta: float) -> None:
    orders = list(range(2, 257))
    accountant = RdpAccountant(orders, NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(1 / mu)), count)
    theirs = accountant.get_epsilon(delta)
    mechanism = SubsampledGaussian(mu, q, count)
    assert rdp_epsilon(mechanism, delta, orders="integer") == pytest.approx(theirs, rel=1e-8)
    assert rdp_epsilon(mechanism, delta) <= theirs * (1 + 1e-8)


@settings(max_examples=15, deadline=None)
@given(mu=st.floats(0.05, 5.0), q=st.floats(1e-4, 1.0), count=st.integers(1, 10_000), log_delta=st.floats(-25.0, -5.0))
def test_never_below_the_gaussian_lower_bound_and_monotone(mu: float, q: float, count: int, log_delta: float) -> None:
    delta = math.exp(log_delta)
    value = rdp_epsilon(SubsampledGaussian(mu, q, count), delta)
    assert value >= 0.0
    assert rdp_epsilon(SubsampledGaussian(mu, q, count + 1), delta) >= value * (1 - 1e-6)
    assert rdp_epsilon(SubsampledGaussian(mu * 1.1, q, count), delta) >= value * (1 - 1e-6)
    assert rdp_epsilon(SubsampledGaussian(mu, 1.0, count), delta) >= value * (1 - 1e-6)
    if q == 1.0:
        assert value >= gdp.epsilon_for_delta(mu * math.sqrt(count), delta)


@pytest.mark.parametrize("mu", [1e-3, 1.0, 45.0, 1e4])
def test_optimum_is_located_far_from_the_first_range(mu: float) -> None:
    bound = best_renyi_bound(SubsampledGaussian(mu), 1e-5)
    exact = gdp.epsilon_for_delta(mu, 1e-5)
    assert exact <= bound.epsilon <= 1.4 * exact
    neighbours = [1 + (bound.order - 1) * factor for factor in (0.99, 1.01)]
    for order in neighbours:
        assert bound.epsilon <= epsilon_from_divergence(order * mu**2 / 2, order, 1e-5)


@pytest.mark.parametrize(("mu", "q", "count"), [(1.0, 0.5, 5000), (5.0, 0.9, 80), (30.0, 0.1, 3)])
def test_epsilon_near_a_thousand(mu: float, q: float, count: int) -> None:
    value = rdp_epsilon(SubsampledGaussian(mu, q, count), 1e-5)
    assert 500.0 < value < 3000.0
    assert value < rdp_epsilon(SubsampledGaussian(mu, q, 2 * count), 1e-5) < math.inf


def test_optimum_on_the_edge_is_not_reported() -> None:
    # A full-batch loss so small that the best order is beyond the widest search, and delta below its total variation.
    with pytest.raises(AccountingError, match="order"):
        rdp_epsilon(SubsampledGaussian(1e-7), 1e-9)
    with pytest.raises(AccountingError, match="orders='real'"):
        rdp_epsilon(SubsampledGaussian(1e-4), 1e-6, orders="integer")


def test_zero_only_where_it_is_proved() -> None:
    assert rdp_epsilon(SubsampledGaussian(0.0, 0.5, 10), 1e-5) == 0.0
    assert rdp_epsilon(SubsampledGaussian(1.0, 1e-8, 10), 1e-5) == 0.0  # total variation below delta
    assert rdp_epsilon(SubsampledGaussian(0.01, 1e-3, 100), 1e-12) > 0.0


def test_replacing_is_charged_at_twice_the_shift() -> None:
    replace = SubsampledGaussian(1.0, 1.0, 1, Adjacency.REPLACE_ONE)
    assert rdp_epsilon(replace, 1e-5) == rdp_epsilon(SubsampledGaussian(2.0), 1e-5)
    assert rdp_epsilon(replace, 1e-5) > 9.99  # the under-report would be 4.73, the exact value is 9.997
    with pytest.raises(AccountingError, match="no Renyi bound is proved"):
        rdp_epsilon(SubsampledGaussian(1.0, 0.01, 100, Adjacency.REPLACE_ONE), 1e-5)


def test_composition_adds_up() -> None:
    parts = (SubsampledGaussian(0.5, 0.01, 7), SubsampledGaussian(1.5, 1.0, 3), SubsampledGaussian(0.5, 0.01, 5))
    total = renyi_divergence(Composition(parts), 3.5)
    assert total == pytest.approx(sum(renyi_divergence(part, 3.5) for part in parts), rel=1e-13)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_bad_delta(delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        rdp_epsilon(SubsampledGaussian(1.0), delta)


def test_bad_orders() -> None:
    with pytest.raises(ValueError, match="orders"):
        rdp_epsilon(SubsampledGaussian(1.0), 1e-5, orders="fine")
    for order in (1.0, 0.5, math.inf):
        with pytest.raises(ValueError, match="order"):
            renyi_divergence(SubsampledGaussian(1.0), order)
