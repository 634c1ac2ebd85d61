"""The central-limit estimate against the printed column, its formula, the Gaussian case and its known failure."""

from __future__ import annotations

import math

import pytest
import torch

from privlib.accounting import certified, gdp
from privlib.accounting.clt import clt_epsilon_estimate, log_clt_gdp_mu
from privlib.accounting.moments import with_replacement_probability
from privlib.mechanisms import Composition, SubsampledGaussian, block_gdp_mu
from privlib.schedules import edm_sigmas, num_block_steps
from privlib.types import Adjacency

Q_PAPER = with_replacement_probability(25, 50_000)


@pytest.mark.parametrize(("percent", "printed"), [(55, 0.296), (62, 1.388), (65, 4.313), (67, 45.101)])
def test_printed_column(percent: int, printed: float) -> None:
    mu = block_gdp_mu(edm_sigmas(39), num_block_steps(percent / 100, 39))
    assert abs(clt_epsilon_estimate(SubsampledGaussian(mu, Q_PAPER, 50_000), 1e-5) - printed) <= 5e-4


def test_printed_column_at_70_percent_needs_a_single_precision_grid() -> None:
    # The estimate is so steep in mu there that the eight printed digits resolve the rounding of the noise levels.
    exact = block_gdp_mu(edm_sigmas(39), 28)
    assert abs(clt_epsilon_estimate(SubsampledGaussian(exact, Q_PAPER, 50_000), 1e-5) / 25_905.494 - 1) < 1.3e-5
    ramp = torch.linspace(0, 1, 39, dtype=torch.float32)
    levels = (80 ** (1 / 7) + ramp * (0.002 ** (1 / 7) - 80 ** (1 / 7))) ** 7
    start, end = levels[:-1], levels[1:]
    rounded = math.sqrt(float((2 * (start - end) / start**3)[:28].sum()))
    assert abs(clt_epsilon_estimate(SubsampledGaussian(rounded, Q_PAPER, 50_000), 1e-5) / 25_905.494 - 1) < 2e-6


@pytest.mark.parametrize(("mu", "q", "count"), [(0.5, 0.01, 1000), (2.0, 0.3, 7), (1e-3, 1e-6, 10**7)])
def test_formula(mu: float, q: float, count: int) -> None:
    log_mu = log_clt_gdp_mu(SubsampledGaussian(mu, q, count))
    assert math.exp(log_mu) == pytest.approx(q * math.sqrt(count * math.expm1(mu**2)), rel=1e-12)


def test_full_batches_are_exact() -> None:
    mechanism = Composition((SubsampledGaussian(0.3, 1.0, 4), SubsampledGaussian(0.8)))
    assert clt_epsilon_estimate(mechanism, 1e-6) == pytest.approx(
        gdp.epsilon_for_delta(math.sqrt(4 * 0.09 + 0.64), 1e-6), rel=1e-12
    )


def test_many_small_losses_approach_the_certified_value() -> None:
    mechanism = SubsampledGaussian(0.3, 1e-3, 1_000_000)
    interval = certified.epsilon_interval(mechanism, 1e-5)
    assert clt_epsilon_estimate(mechanism, 1e-5) == pytest.approx(interval.midpoint, rel=2e-3)


def test_rare_large_losses_are_understated() -> None:
    # A published counterexample: noise multiplier 0.6, q = 0.01, 1,000 outputs.
    mechanism = SubsampledGaussian(1 / 0.6, 0.01, 1000)
    estimate = clt_epsilon_estimate(mechanism, 1e-5)
    assert estimate == pytest.approx(5.56, abs=0.01)
    assert certified.epsilon_interval(mechanism, 1e-5).lower > 7.38


def test_nothing_overflows() -> None:
    huge = SubsampledGaussian(38.0, 1e-3, 10)  # exp(mu^2) is beyond double precision
    assert log_clt_gdp_mu(huge) == pytest.approx(0.5 * (math.log(10) + 2 * math.log(1e-3) + 38.0**2), rel=1e-12)
    assert clt_epsilon_estimate(huge, 1e-5) == math.inf
    large = clt_epsilon_estimate(SubsampledGaussian(10.0, 1e-3, 10), 1e-5)
    assert large == pytest.approx(0.5 * 1e-5 * math.exp(100.0), rel=1e-6)


def test_no_shift_no_loss() -> None:
    assert log_clt_gdp_mu(SubsampledGaussian(0.0, 0.5)) == -math.inf
    assert clt_epsilon_estimate(SubsampledGaussian(0.0, 0.5), 1e-5) == 0.0


def test_replacing_is_charged_at_twice_the_shift() -> None:
    replace = SubsampledGaussian(0.5, 0.01, 100, Adjacency.REPLACE_ONE)
    assert clt_epsilon_estimate(replace, 1e-5) == clt_epsilon_estimate(SubsampledGaussian(1.0, 0.01, 100), 1e-5)


def test_bad_delta() -> None:
    with pytest.raises(ValueError, match="delta"):
        clt_epsilon_estimate(SubsampledGaussian(1.0, 0.1), 1.0)
