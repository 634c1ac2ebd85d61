"""Edgeworth estimates against the printed columns, exact limits and curves that must be refused."""

from __future__ import annotations

import math

import pytest

from privlib.accounting import gdp
from privlib.accounting.edgeworth import cumulant_ratios, edgeworth_delta_estimate, edgeworth_epsilon_estimate
from privlib.accounting.moments import with_replacement_probability
from privlib.mechanisms import SubsampledGaussian, block_gdp_mu
from privlib.schedules import edm_sigmas, num_block_steps
from privlib.types import AccountingError

CIFAR10, CELEBA = (50_000, 1e-5), (162_770, 1e-6)


def paper(percent: int, batch_size: int, num_records: int, *, beta: float = 1.0) -> SubsampledGaussian:
    mu = block_gdp_mu(edm_sigmas(39), num_block_steps(percent / 100, 39), beta=beta)
    return SubsampledGaussian(mu, with_replacement_probability(batch_size, num_records), 50_000)


@pytest.mark.parametrize(
    ("percent", "batch_size", "data", "beta", "printed", "decimals"),
    [
        (55, 25, CIFAR10, 1.0, 0.2987, 4),  # Table 7
        (62, 25, CIFAR10, 1.0, 1.68, 2),
        (65, 25, CIFAR10, 1.0, 5.33, 2),
        (67, 25, CIFAR10, 1.0, 23.0, 1),
        (55, 50, CIFAR10, 1.0, 0.636, 3),  # Table 8
        (55, 100, CIFAR10, 1.0, 1.360, 3),
        (55, 200, CIFAR10, 1.0, 2.946, 3),
        (62, 25, CIFAR10, 1.0, 1.683, 3),
        (62, 50, CIFAR10, 1.0, 3.513, 3),
        (65, 50, CIFAR10, 4.0, 0.438, 3),  # Table 3
        (65, 50, CIFAR10, 2.0, 1.218, 3),
        (65, 50, CIFAR10, 1.0, 10.777, 3),
        (65, 50, CIFAR10, 0.5, 256.624, 3),
        (55, 25, CELEBA, 1.0, 0.099, 3),  # Table 9
        (55, 50, CELEBA, 1.0, 0.208, 3),
        (55, 100, CELEBA, 1.0, 0.435, 3),
        (55, 200, CELEBA, 1.0, 0.915, 3),
        (62, 25, CELEBA, 1.0, 0.563, 3),
        (62, 50, CELEBA, 1.0, 1.150, 3),
        (62, 100, CELEBA, 1.0, 2.36, 2),  # Table 10
        (67, 100, CELEBA, 1.0, 30.09, 2),
        (70, 100, CELEBA, 1.0, 132.91, 2),
        (55, 25, CIFAR10, 1.0, 0.299, 3),  # Table 11
        (65, 25, CIFAR10, 1.0, 5.331, 3),
        (67, 25, CIFAR10, 1.0, 22.982, 3),
        (70, 25, CIFAR10, 1.0, 104.035, 3),
    ],
)
def test_printed_numbers(
    percent: int, batch_size: int, data: tuple[int, float], beta: float, printed: float, decimals: int
) -> None:
    num_records, delta = data
    value = edgeworth_epsilon_estimate(paper(percent, batch_size, num_records, beta=beta), delta)
    assert abs(value - printed) <= 0.5 * 10.0**-decimals


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("mu", [0.01, 1.0, 5.0, 50.0])
def test_exact_for_full_batches(degree: int, remove: bool, mu: float) -> None:
    # The loss is Gaussian, so every correction vanishes; mu = 50 has epsilon beyond the overflow of exp.
    estimate = edgeworth_epsilon_estimate(SubsampledGaussian(mu), 1e-5, degree=degree, remove=remove)
    assert estimate == pytest.approx(gdp.epsilon_for_delta(mu, 1e-5), rel=1e-9)


def test_converges_where_the_limit_theorem_holds() -> None:
    # q sqrt(count) fixed: successive degrees close in on the exact value; 0.9 is far inside the central regime.
    from privlib.accounting import certified

    mechanism = SubsampledGaussian(0.5, 0.002, 100_000)
    exact = certified.epsilon_interval(mechanism, 1e-5).midpoint
    errors = [abs(edgeworth_epsilon_estimate(mechanism, 1e-5, degree=degree) - exact) for degree in (1, 2)]
    assert errors[1] < errors[0] < 2e-3 * exact


def test_the_estimate_can_be_too_low() -> None:
    assert edgeworth_epsilon_estimate(paper(65, 25, 50_000), 1e-5) < 0.86 * 6.288


def test_delta_and_epsilon_invert_each_other() -> None:
    mechanism = paper(62, 25, 50_000)
    epsilon = edgeworth_epsilon_estimate(mechanism, 1e-5)
    assert edgeworth_delta_estimate(mechanism, epsilon) == pytest.approx(1e-5, rel=1e-8)


def test_zero_only_where_delta_at_zero_is_below_the_target() -> None:
    mechanism = SubsampledGaussian(0.1, 0.001, 10)
    assert edgeworth_delta_estimate(mechanism, 0.0) < 0.2
    assert edgeworth_epsilon_estimate(mechanism, 0.2) == 0.0


def test_cumulant_ratios() -> None:
    assert cumulant_ratios(SubsampledGaussian(2.0)).usable
    assert cumulant_ratios(paper(70, 25, 50_000)).usable
    few = cumulant_ratios(SubsampledGaussian(3.0, 1e-3, 10))
    assert not few.usable
    many = cumulant_ratios(SubsampledGaussian(3.0, 1e-3, 1000))
    assert many.third == pytest.approx(few.third / 10, rel=1e-12)
    assert many.fourth == pytest.approx(few.fourth / 100, rel=1e-12)
    with pytest.raises(AccountingError, match="variance"):
        cumulant_ratios(SubsampledGaussian(0.0, 0.5))


def test_the_row_printed_as_unstable_is_refused() -> None:
    with pytest.raises(AccountingError, match="invalid"):
        edgeworth_epsilon_estimate(paper(65, 50, 50_000, beta=0.25), 1e-5)


@pytest.mark.parametrize(
    ("mechanism", "degree", "remove", "message"),
    [
        (paper(65, 25, 50_000), 2, False, "beyond its root"),  # negative delta
        (paper(65, 25, 50_000), 1, False, "not monotone"),
        (paper(70, 25, 50_000), 1, False, "no root"),
    ],
)
def test_curves_that_are_refused(mechanism: SubsampledGaussian, degree: int, remove: bool, message: str) -> None:
    assert cumulant_ratios(mechanism).usable
    with pytest.raises(AccountingError, match=message):
        edgeworth_epsilon_estimate(mechanism, 1e-5, degree=degree, remove=remove)


def test_negative_delta_is_not_returned() -> None:
    with pytest.raises(AccountingError, match="delta = -"):
        edgeworth_delta_estimate(paper(65, 25, 50_000), 3.0, remove=False)


def test_bad_input() -> None:
    mechanism = SubsampledGaussian(1.0, 0.1)
    with pytest.raises(ValueError, match="degree"):
        edgeworth_epsilon_estimate(mechanism, 1e-5, degree=3)
    with pytest.raises(ValueError, match="delta"):
        edgeworth_epsilon_estimate(mechanism, 0.0)
    with pytest.raises(ValueError, match="epsilon"):
        edgeworth_delta_estimate(mechanism, math.nan)
