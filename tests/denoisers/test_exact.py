"""Arithmetic that does not depend on order or place: checked with whole numbers of any size and with mpmath."""

from fractions import Fraction

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.denoisers.exact import (
    ANCHOR_RANGE,
    MAX_RECORDS,
    exponential,
    grid_step,
    power_of_two,
    record_bits,
    round_to_bits,
    square_bits,
    squared_distances,
)


def test_powers_of_two():
    exponents = torch.arange(-1022, 1024)
    expected = [2.0**e for e in exponents.tolist()]
    assert power_of_two(exponents).tolist() == expected
    assert power_of_two(torch.tensor([-4000, 4000])).tolist() == [2.0**-1022, 2.0**1023]


def test_exponential_against_mpmath():
    z = torch.cat([torch.linspace(-700.0, 700.0, 2001, dtype=torch.float64), torch.tensor([0.0, 1e-300, -1e-12])])
    for argument, value in zip(z.tolist(), exponential(z).tolist(), strict=True):
        assert value == pytest.approx(float(mpmath.exp(argument)), rel=1e-12)
    far = exponential(torch.tensor([-701.0, -1e300, -torch.inf, 1e300], dtype=torch.float64))
    assert far[:3].tolist() == [0.0, 0.0, 0.0] and far[3] == exponential(torch.tensor(700.0, dtype=torch.float64))


@given(seed=st.integers(0, 2**32 - 1), place=st.integers(0, 40), size=st.integers(1, 200))
@settings(max_examples=30, deadline=None)
def test_exponential_has_the_same_bits_in_every_place(seed, place, size):
    z = torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 100.0
    shifted = torch.cat([torch.zeros(place, dtype=torch.float64), z, torch.ones(3, dtype=torch.float64)])
    assert torch.equal(exponential(shifted)[place : place + size], exponential(z))


@pytest.mark.parametrize("dim", [1, 2, 3, 48, 3072, 12288, 2**15, 200_000])
def test_sums_of_squares_fit_into_53_bits(dim):
    assert dim * (2 ** square_bits(dim)) ** 2 <= 2**53
    assert dim * (2 ** (square_bits(dim) + 1)) ** 2 > 2**53, "a bit is given away"
    assert (1 + ANCHOR_RANGE) * 2 ** record_bits(dim) <= 2 ** square_bits(dim)


@given(seed=st.integers(0, 2**32 - 1), exponent=st.integers(-12, 40), dim=st.sampled_from([1, 5, 48, 700]))
@settings(max_examples=40, deadline=None)
def test_squared_distances_are_exact_on_their_grid(seed, exponent, dim):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(2, dim, generator=draw, dtype=torch.float64) * 2.0**exponent
    records = torch.rand(2, 3, dim, generator=draw, dtype=torch.float64) * 2.0 - 1.0
    got = squared_distances(x, records)
    plain = (x[:, None] - records).square().sum(2)
    # Both points move by half a step at most, and the step is that of the largest whole number that may be squared.
    largest = 1.001 * (x.abs().amax(1) + 1.0)
    bits = [min(record_bits(dim), square_bits(dim) - e) for e in torch.frexp(largest).exponent.tolist()]
    slack = torch.tensor([2.0**-b for b in bits], dtype=torch.float64)[:, None] * dim**0.5
    assert bool(((got.sqrt() - plain.sqrt()).abs() <= slack * (1 + 1e-9) + 1e-12).all())
    order = torch.randperm(dim, generator=draw)
    assert torch.equal(squared_distances(x[:, order], records[..., order]), got)
    for row in range(2):
        step = Fraction(2) ** -bits[row]
        whole = [[round(Fraction(v) / step) for v in values.tolist()] for values in (x[row], *records[row])]
        exact = [sum((a - b) ** 2 for a, b in zip(whole[0], record, strict=True)) * step**2 for record in whole[1:]]
        assert [Fraction(v) for v in got[row].tolist()] == exact


@pytest.mark.parametrize("bound", [1e-6, 3e-4, 0.5, 1.0, 1.5, 27.0, 1e4])
def test_anchor_and_a_million_contributions_are_exact(bound):
    step = grid_step(bound)
    assert MAX_RECORDS * bound + ANCHOR_RANGE <= 2**53 * step
    assert step <= 2.0**-16 and (step <= bound * 2.0**-28), "contributions keep 28 bits"


def test_round_to_bits():
    values = torch.tensor([0.3, -0.3, 1.0, -1.0], dtype=torch.float64)
    assert round_to_bits(values, 2).tolist() == [0.25, -0.25, 1.0, -1.0]
