"""Inverting the accountant: the answer meets the target and the next value does not."""

from dataclasses import replace

import pytest

from privlib.accounting import calibrate, gdp
from privlib.accounting.certified import epsilon_interval
from privlib.mechanisms import SubsampledGaussian, block_gdp_mu, output_wise_block
from privlib.schedules import edm_sigmas
from privlib.types import AccountingError

DELTA = 1e-5
BLOCK = output_wise_block(edm_sigmas(39), 0.62, batch_size=25, num_records=50_000, count=50_000)


def upper(mechanism: SubsampledGaussian) -> float:
    return epsilon_interval(mechanism, DELTA).upper


def test_largest_count_brackets_the_target() -> None:
    count = calibrate.largest_count(BLOCK, 1.0, DELTA)
    assert upper(replace(BLOCK, count=count)) <= 1.0 < upper(replace(BLOCK, count=count + 1))


def test_largest_count_of_full_batch_follows_from_the_closed_form() -> None:
    single = SubsampledGaussian(0.1)
    count = calibrate.largest_count(single, 2.0, DELTA)
    assert count == int((gdp.mu_for_epsilon(2.0, DELTA) / 0.1) ** 2)


def test_largest_batch_size_brackets_the_target() -> None:
    batch = calibrate.largest_batch_size(BLOCK, 50_000, 2.0, DELTA)
    assert upper(replace(BLOCK, sampling_probability=batch / 50_000)) <= 2.0
    assert upper(replace(BLOCK, sampling_probability=(batch + 1) / 50_000)) > 2.0


def test_latest_handoff_is_where_the_paper_prints_it() -> None:
    # Table 8: B = 25 costs 0.299 after 22 steps (55 %) and 1.691 after 25 (62 %).
    sigmas = edm_sigmas(39)
    assert calibrate.latest_handoff(sigmas, 25 / 50_000, 50_000, 1.692, DELTA) == 25
    assert calibrate.latest_handoff(sigmas, 25 / 50_000, 50_000, 1.690, DELTA) == 24


@pytest.mark.parametrize("clip", [4.0, 16.0])
def test_latest_handoff_of_a_wide_clip(clip: float) -> None:
    """The search passes hand-offs whose epsilon is astronomical; the answer meets the target and the next does not."""
    sigmas, q, count = edm_sigmas(39), 25 / 3448, 3448
    steps = calibrate.latest_handoff(sigmas, q, count, 10.0, DELTA, beta=1.0 / clip)
    cost = [upper(SubsampledGaussian(block_gdp_mu(sigmas, k, beta=1.0 / clip), q, count)) for k in (steps, steps + 1)]
    assert cost[0] <= 10.0 < cost[1]


def test_smallest_beta_recovers_a_printed_row() -> None:
    # Table 3: at beta = 2 the 65 % block with B = 50 costs 1.217.
    block = output_wise_block(edm_sigmas(39), 0.65, batch_size=50, num_records=50_000, count=50_000)
    beta = calibrate.smallest_beta(block, 1.217, DELTA)
    assert beta == pytest.approx(2.0, abs=2e-3)
    assert upper(replace(block, gdp_mu=block.gdp_mu / beta)) <= 1.217


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan")])
def test_a_target_that_is_not_positive_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"epsilon must lie in \(0, inf\)"):
        calibrate.largest_count(BLOCK, epsilon, DELTA)


def test_an_unattainable_target_is_refused() -> None:
    with pytest.raises(AccountingError, match="exceeded already at count = 1"):
        calibrate.largest_count(SubsampledGaussian(8.0), 0.5, DELTA)
