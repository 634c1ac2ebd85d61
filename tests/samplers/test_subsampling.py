"""Poisson blocks: independent records, the exact probability, and no dependence on anything else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from privlib.samplers.noise import Purpose, SampleNoise
from privlib.samplers.subsampling import poisson_blocks


def lists(blocks) -> list[list[int]]:
    return [[j for j in row if j >= 0] for row in blocks.index.tolist()]


def members(num_records: int, q: float, *, count: int, seed: int, step: int = 0) -> np.ndarray:
    """Membership as 0 and 1, shape (count, num_records)."""
    member = np.zeros((count, num_records))
    for row, block in zip(
        member, lists(poisson_blocks(SampleNoise(seed, range(count), (1,)), num_records, q, step=step)), strict=True
    ):
        row[block] = 1.0
    return member


@pytest.mark.parametrize("q", [0.02, 0.3, 0.9])
def test_records_enter_independently_with_probability_q(q: float) -> None:
    count, n = 3000, 40
    member = members(n, q, count=count, seed=11)
    assert stats.binomtest(int(member.sum()), count * n, q).pvalue > 1e-3
    # Totals of the records, and of the samples: sums of independent Bernoulli variables, neither more nor less spread.
    for axis, size in ((0, count), (1, n)):
        totals = member.sum(axis)
        chi2 = ((totals - size * q) ** 2 / (size * q * (1 - q))).sum()
        assert 1e-3 < stats.chi2.cdf(chi2, len(totals)) < 1 - 1e-3
    sizes = np.bincount(member.sum(1).astype(int), minlength=n + 1)
    expected = stats.binom.pmf(np.arange(n + 1), n, q) * count
    common = expected > 5
    statistic = ((sizes - expected)[common] ** 2 / expected[common]).sum()
    assert stats.chi2.sf(statistic, common.sum()) > 1e-3
    correlations = np.corrcoef(member.T) - np.eye(n)
    assert np.abs(correlations).max() < 5 / math.sqrt(count)


def test_steps_and_seeds_give_other_blocks() -> None:
    base = members(40, 0.5, count=500, seed=3)
    for other in (members(40, 0.5, count=500, seed=3, step=1), members(40, 0.5, count=500, seed=4)):
        assert stats.binomtest(int((base == other).sum()), base.size, 0.5).pvalue > 1e-3


@settings(max_examples=50)
@given(
    q=st.floats(2.0**-60, 1.0), n=st.integers(0, 60), seed=st.integers(0, 2**64 - 1), first=st.integers(0, 1000),
    step=st.integers(0, 50),
)  # fmt: skip
def test_membership_is_one_comparison(q: float, n: int, seed: int, first: int, step: int) -> None:
    """Record j's word decides, whatever other records or samples there are; the chance is floor(q 2^64) / 2^64."""
    noise = SampleNoise(seed, range(first, first + 3), (2,))
    blocks = poisson_blocks(noise, n, q, step=step)
    threshold = math.floor(q * 2**64)
    words = [row.tolist() for row in noise.words(Purpose.BLOCK, step, n)]
    assert lists(blocks) == [[j for j in range(n) if row[j] < threshold] for row in words]
    longer = lists(poisson_blocks(noise, n + 1, q, step=step))
    assert lists(blocks) == [[j for j in row if j < n] for row in longer]
    alone = poisson_blocks(SampleNoise(seed, range(first + 1, first + 2), (2,)), n, q, step=step)
    assert lists(alone)[0] == lists(blocks)[1]


def test_full_and_empty_blocks() -> None:
    noise = SampleNoise(0, range(2), (1,))
    assert lists(poisson_blocks(noise, 4, 1.0)) == [[0, 1, 2, 3]] * 2
    assert lists(poisson_blocks(noise, 4, 2.0**-64)) == [[], []]
    assert poisson_blocks(noise, 0, 0.5).sizes.tolist() == [0, 0]


def test_bad_arguments() -> None:
    noise = SampleNoise(0, range(1), (1,))
    for q in (0.0, 1.5, math.nan, "0.5"):
        with pytest.raises(ValueError, match="sampling_probability"):
            poisson_blocks(noise, 4, q)
    for n in (-1, 2.0, True):
        with pytest.raises(ValueError, match="num_records"):
            poisson_blocks(noise, n, 0.5)
