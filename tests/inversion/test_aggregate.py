"""The noisy mean as it is carried out: bounds, samples, noise. ``tests.attacks`` has its audit."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from privlib.aggregation import Bound, NoisyAggregate, Sampling
from privlib.inversion.aggregate import bounded, centroid_geometry, noisy_means, release_aggregate, taking_part
from privlib.inversion.releases import Release, Unprotected
from privlib.types import Adjacency

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE


def test_bounds():
    vectors = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [math.nan, 1.0], [math.inf, 0.0], [1e30, 1e30]])
    sphere, ball = bounded(vectors, Bound.SPHERE, 2.0), bounded(vectors, Bound.BALL, 2.0)
    assert sphere.norm(dim=1).tolist() == pytest.approx([2.0, 2.0, 0.0, 0.0, 0.0, 2.0])
    assert ball.norm(dim=1).tolist() == pytest.approx([2.0, 0.5, 0.0, 0.0, 0.0, 2.0])
    assert torch.equal(sphere[0], sphere[1]) or torch.allclose(sphere[0], sphere[1])
    wild = torch.randn(1000, 3, dtype=torch.float64) * torch.logspace(-320, 300, 1000, dtype=torch.float64)[:, None]
    for bound in Bound:
        assert bounded(wild, bound, 0.37).norm(dim=1).max() <= 0.37 * (1 + 1e-15)


def test_release_is_the_bounded_mean_with_the_noise_that_is_charged():
    vectors = torch.eye(4, dtype=torch.float64) * 5.0
    mechanism = NoisyAggregate(4, 4, 2.0, 0.5)
    draws = noisy_means(vectors, mechanism, np.random.default_rng(0), draws=20_000)
    assert mechanism.noise_std == 0.25
    assert draws.mean(0) == pytest.approx([0.5] * 4, abs=0.01)
    assert draws.std(0) == pytest.approx([0.25] * 4, rel=0.02)
    assert abs(np.corrcoef(draws.T) - np.eye(4)).max() < 0.03
    release = release_aggregate(vectors, mechanism, rng=np.random.default_rng(3))
    assert release.vector.tolist() == noisy_means(vectors, mechanism, np.random.default_rng(3), draws=1)[0].tolist()


def test_samples():
    rng = np.random.default_rng(1)
    fixed = NoisyAggregate(6, 2, 1.0, 1.0, Sampling.FIXED_SIZE, adjacency=REPLACE)
    rows = taking_part(fixed, 6, rng, draws=3000)
    assert (rows.sum(1) == 2).all() and rows.mean(0) == pytest.approx([1 / 3] * 6, abs=0.04)
    assert len(np.unique(rows, axis=0)) == 15
    poisson = NoisyAggregate(6, 2, 1.0, 1.0, Sampling.POISSON)
    rows = taking_part(poisson, 7, rng, draws=3000)
    assert rows.mean(0) == pytest.approx([1 / 3] * 7, abs=0.04)
    assert np.corrcoef(rows[:, 0], rows[:, 1])[0, 1] == pytest.approx(0.0, abs=0.07)
    assert taking_part(NoisyAggregate(6, 6, 1.0, 1.0), 5, rng).tolist() == [[True] * 5]


def test_without_noise_there_is_no_release():
    result = release_aggregate(torch.eye(3), NoisyAggregate(3, 3, 1.0, 0.0), rng=np.random.default_rng())
    assert isinstance(result, Unprotected) and torch.allclose(result.vector, torch.full((3,), 1 / 3).double())
    scaled = result.scaled_to(3.0)
    assert isinstance(scaled, Unprotected) and torch.allclose(scaled.vector, torch.full((3,), math.sqrt(3.0)).double())
    assert Unprotected(torch.zeros(3)).scaled_to(2.0).vector.tolist() == [0.0] * 3


def test_a_release_cannot_be_made_by_hand():
    mechanism = NoisyAggregate(3, 3, 1.0, 1.0)
    with pytest.raises(ValueError, match="by the function that adds the noise"):
        Release(torch.zeros(3), mechanism, mark=None)
    release = release_aggregate(torch.eye(3), mechanism, rng=np.random.default_rng(0))
    before = release.vector
    release.vector.zero_()
    assert torch.equal(release.vector, before)
    with pytest.raises(AttributeError):
        release.vector = before
    with pytest.raises(TypeError):
        dataclasses.replace(release, vector=before)
    shorter = release.scaled_to(0.5)
    assert float(shorter.vector.norm()) == pytest.approx(0.5) and shorter.mechanism == mechanism


def test_wrong_vectors_are_refused():
    replaced = NoisyAggregate(3, 3, 1.0, 1.0, adjacency=REPLACE)
    with pytest.raises(ValueError, match="vectors must be num_vectors = 3"):
        release_aggregate(torch.eye(4), replaced, rng=np.random.default_rng())
    with pytest.raises(ValueError, match="vectors must have shape"):
        release_aggregate(torch.zeros(3), replaced, rng=np.random.default_rng())


def test_centroid_geometry():
    apart = centroid_geometry(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), Bound.SPHERE, 1.0)
    assert apart == pytest.approx({"centroid_norm": math.sqrt(0.5), "mean_cosine": math.sqrt(0.5)})
    assert math.isnan(centroid_geometry(torch.tensor([[1.0], [-1.0]]), Bound.SPHERE, 1.0)["mean_cosine"])
