"""Cumulants of the privacy loss against 50-digit quadrature, closed forms and exact identities."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.accounting.moments import loss_cumulants, subsampled_gaussian_cumulants, with_replacement_probability
from privlib.mechanisms import Composition, SubsampledGaussian
from privlib.types import AccountingError, Adjacency


def reference(mu: float, q: float) -> tuple[tuple[mpmath.mpf, ...], tuple[mpmath.mpf, ...]]:
    with mpmath.workdps(40):
        mu_, q_ = mpmath.mpf(mu), mpmath.mpf(q)
        h = min(mpmath.mpf("0.15"), mpmath.mpf("0.2") / mu_)
        nodes = [k * h for k in range(int(-16 / h), int((5 * mu_ + 16) / h) + 1)]
        losses = [mpmath.log(1 + q_ * mpmath.expm1(mu_ * x - mu_ * mu_ / 2)) for x in nodes]
        lower = [h * mpmath.npdf(x) for x in nodes]
        upper = [(1 - q_) * w + q_ * h * mpmath.npdf(x, mu_) for w, x in zip(lower, nodes, strict=True)]

        def cumulants(weights: list[mpmath.mpf]) -> tuple[mpmath.mpf, ...]:
            mean = mpmath.fdot(weights, losses)
            second, third, fourth = (
                mpmath.fdot(weights, [(loss - mean) ** power for loss in losses]) for power in (2, 3, 4)
            )
            return mean, second, third, fourth - 3 * second**2

        return cumulants(upper), cumulants(lower)


@pytest.mark.parametrize(
    ("mu", "q"),
    [(1e-3, 1e-6), (1e-3, 0.5), (0.1, 0.01), (0.6946, 5e-4), (3.9, 5e-4), (10.0, 1e-6), (10.0, 0.3), (2.0, 0.999)],
)
def test_against_high_precision_quadrature(mu: float, q: float) -> None:
    got = subsampled_gaussian_cumulants(mu, q)
    for exact, values in zip(reference(mu, q), (got.upper, got.lower), strict=True):
        deviation = math.sqrt(exact[1])
        for power, (true, value) in enumerate(zip(exact, values, strict=True), start=1):
            slack = 0.0 if power <= 2 else deviation**power
            assert abs(value - float(true)) <= 2e-14 * max(abs(float(true)), slack), (power, value, true)


@pytest.mark.parametrize("mu", [1e-3, 0.7, 12.0])
@pytest.mark.parametrize("remove", [True, False])
def test_full_batch_is_the_gaussian_closed_form(mu: float, remove: bool) -> None:
    got = subsampled_gaussian_cumulants(mu, 1.0, remove=remove)
    assert got.upper == (0.5 * mu**2, mu**2, 0.0, 0.0)
    assert got.lower == (-0.5 * mu**2, mu**2, 0.0, 0.0)


def test_next_to_full_batch_meets_the_closed_form() -> None:
    got = subsampled_gaussian_cumulants(1.0, 1.0 - 1e-9)
    assert got.upper[:2] == pytest.approx((0.5, 1.0), rel=1e-8)
    assert np.abs(got.upper[2:]).max() < 1e-7


def test_small_loss_limit() -> None:
    # To leading order the loss is y, whose second and third moments under Q are known in closed form.
    mu, q = 1.0, 1e-6
    second = q**2 * math.expm1(mu**2)
    third = q**3 * (math.exp(3 * mu**2) - 3 * math.exp(mu**2) + 2)
    got = subsampled_gaussian_cumulants(mu, q)
    assert got.lower[0] == pytest.approx(-0.5 * second, rel=1e-4)
    assert got.upper[0] == pytest.approx(0.5 * second, rel=1e-4)
    assert got.lower[1] == pytest.approx(second, rel=1e-4)
    assert got.lower[2] == pytest.approx(third, rel=1e-3)


@settings(max_examples=40, deadline=None)
@given(mu=st.floats(1e-3, 10.0), q=st.floats(1e-6, 1.0))
def test_means_are_divergences_and_directions_mirror(mu: float, q: float) -> None:
    removing = subsampled_gaussian_cumulants(mu, q)
    adding = subsampled_gaussian_cumulants(mu, q, remove=False)
    assert removing.upper[0] > 0 > removing.lower[0]  # relative entropies
    assert removing.upper[0] <= 0.5 * q * mu**2 * (1 + 1e-12)  # joint convexity
    assert adding == removing.reversed() or q == 1.0
    assert adding.reversed() == removing or q == 1.0


def test_zero_shift_has_no_loss() -> None:
    assert subsampled_gaussian_cumulants(0.0, 0.3).upper == (0.0, 0.0, 0.0, 0.0)


def test_composition_adds_and_replacement_doubles() -> None:
    parts = (SubsampledGaussian(0.5, 0.01, 7), SubsampledGaussian(1.5, 0.2, 3))
    total = loss_cumulants(Composition(parts))
    expected = 7 * np.array(subsampled_gaussian_cumulants(0.5, 0.01).upper)
    expected += 3 * np.array(subsampled_gaussian_cumulants(1.5, 0.2).upper)
    assert total.upper == pytest.approx(expected, rel=1e-14)
    replaced = loss_cumulants(SubsampledGaussian(0.5, 0.01, 7, Adjacency.REPLACE_ONE))
    assert replaced == loss_cumulants(SubsampledGaussian(1.0, 0.01, 7))


def test_hopeless_size_is_refused() -> None:
    with pytest.raises(AccountingError, match="gdp_mu"):
        subsampled_gaussian_cumulants(5000.0, 0.5)


@pytest.mark.parametrize(("mu", "q"), [(-1.0, 0.5), (math.nan, 0.5), (1.0, 0.0), (1.0, 1.5), (1.0, math.nan)])
def test_bad_input(mu: float, q: float) -> None:
    with pytest.raises(ValueError, match="gdp_mu|sampling_probability"):
        subsampled_gaussian_cumulants(mu, q)


def test_with_replacement_probability() -> None:
    assert with_replacement_probability(1, 50_000) == pytest.approx(1 / 50_000, rel=1e-15)
    assert with_replacement_probability(2, 10) == pytest.approx(0.19, rel=1e-14)
    assert with_replacement_probability(3, 1) == 1.0
    assert with_replacement_probability(25, 50_000) == pytest.approx(1 - (1 - 1 / 50_000) ** 25, rel=1e-10)
    with pytest.raises(ValueError, match="batch_size"):
        with_replacement_probability(0, 10)
