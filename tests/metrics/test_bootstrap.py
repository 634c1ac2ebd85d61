"""The paired bootstrap against scipy's, against the normal interval, and its pairing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import torch

from privlib.metrics.bootstrap import paired_bootstrap


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_a_mean_has_the_normal_interval():
    values = 3.0 + draw(400)
    found = paired_bootstrap(values, lambda a: a, resamples=20_000)
    half = 1.96 * float(values.std(correction=0)) / math.sqrt(400)
    assert found.value == pytest.approx(float(values.mean()), rel=1e-12)
    assert found.lower == pytest.approx(found.value - half, abs=0.05 * half)
    assert found.upper == pytest.approx(found.value + half, abs=0.05 * half)


def test_a_ratio_against_scipy():
    rows = torch.stack([2.0 + draw(60), 5.0 + draw(60, seed=1)], dim=1)
    found = paired_bootstrap(rows, lambda a, b: a / b, resamples=20_000, confidence=0.9)
    theirs = scipy.stats.bootstrap(
        (rows[:, 0].numpy(), rows[:, 1].numpy()),
        lambda a, b, axis: a.mean(axis) / b.mean(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        confidence_level=0.9,
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    ).confidence_interval
    width = theirs.high - theirs.low
    assert found.lower == pytest.approx(theirs.low, abs=0.03 * width)
    assert found.upper == pytest.approx(theirs.high, abs=0.03 * width)


def test_what_pairs_share_cancels():
    shared = 100.0 * draw(50)
    rows = torch.stack([shared + 1.0, shared], dim=1)
    difference = paired_bootstrap(rows, lambda a, b: a - b)
    assert difference.lower == pytest.approx(1.0, abs=1e-9) and difference.upper == pytest.approx(1.0, abs=1e-9)


def test_it_covers_as_often_as_it_says():
    covered = 0
    for trial in range(200):
        found = paired_bootstrap(draw(40, seed=trial), lambda a: a, resamples=400, seed=trial)
        covered += found.lower <= 0.0 <= found.upper
    assert 0.88 * 200 <= covered <= 0.99 * 200


def test_it_depends_on_its_seed_alone():
    values = draw(30)
    one, again = (paired_bootstrap(values, lambda a: a, seed=3) for _ in range(2))
    assert one == again != paired_bootstrap(values, lambda a: a, seed=4)
    assert str(one) == f"{one.value:.3f} [{one.lower:.3f}, {one.upper:.3f}]"


def test_bad_arguments():
    with pytest.raises(ValueError, match="at least 10 samples for a bootstrap interval, got 9"):
        paired_bootstrap(draw(9), lambda a: a)
    with pytest.raises(ValueError, match="rows must be finite"):
        paired_bootstrap(torch.full((20,), math.inf), lambda a: a)
    with pytest.raises(ValueError, match="statistic must be finite"), np.errstate(all="ignore"):
        paired_bootstrap(torch.stack([draw(20), torch.zeros(20)], dim=1), lambda a, b: a / b)
    with pytest.raises(ValueError, match="resamples must be at least 100"):
        paired_bootstrap(draw(20), lambda a: a, resamples=10)
    with pytest.raises(ValueError, match="confidence"):
        paired_bootstrap(draw(20), lambda a: a, confidence=1.5)
