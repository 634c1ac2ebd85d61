"""Directions of two denoisers against Gaussian closed forms, by hand, and through a sampler."""

from __future__ import annotations

import math

import pytest
import torch

from privlib.denoisers.gaussian import GaussianDenoiser
from privlib.denoisers.mixture import MixtureDenoiser
from privlib.metrics.directions import (
    Directions,
    average_over_seeds,
    direction_cosine,
    implied_distance,
    squared_distance,
)
from privlib.samplers.hybrid import reference
from privlib.samplers.path import public_euler_maruyama
from privlib.samplers.trajectory import Trajectory
from privlib.schedules import edm_sigmas
from privlib.types import Interval


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_two_isotropic_gaussians_by_their_formulas():
    """Data N(0, v I) and N(m, w I): the directions are s x / (v + s) and s (x - m) / (w + s) with s = sigma^2."""
    x, mean, sigma = draw(5, 3, 2, 2), draw(3, 2, 2, seed=1), 0.7
    eye = torch.eye(12, dtype=torch.float64)
    first = GaussianDenoiser(torch.zeros(3, 2, 2), 4.0 * eye)(x, sigma)
    second = GaussianDenoiser(mean, 0.25 * eye)(x, sigma)
    exact = torch.nn.functional.cosine_similarity(x.flatten(1), (x - mean).flatten(1))
    torch.testing.assert_close(direction_cosine(x, first, second), exact, rtol=1e-12, atol=0.0)
    shares = 4.0 / (4.0 + sigma**2), 0.25 / (0.25 + sigma**2)
    gap = (shares[0] - shares[1]) * x - (1.0 - shares[1]) * mean
    torch.testing.assert_close(squared_distance(first, second), gap.flatten(1).square().sum(1), rtol=1e-12, atol=0.0)


def test_any_two_denoisers_agree_at_high_noise():
    """The cosine of denoisers with outputs in a bounded set goes to 1 as the noise grows; their distance need not."""
    one = MixtureDenoiser(draw(4, 12, seed=2), 0.0)
    two = MixtureDenoiser(draw(4, 12, seed=3) + 3.0, 0.0)
    noise, cosines, distances = draw(50, 12, seed=4), [], []
    for sigma in (1.0, 10.0, 100.0, 1000.0):
        x = sigma * noise
        cosines.append(float(direction_cosine(x, one(x, sigma), two(x, sigma)).mean()))
        distances.append(float(squared_distance(one(x, sigma), two(x, sigma)).mean()))
    assert cosines == sorted(cosines) and cosines[-1] > 1.0 - 1e-4
    assert distances[-1] > 10.0


def test_by_hand_and_in_single_precision():
    x, first, second = torch.zeros(2, 2), torch.tensor([[1.0, 0.0], [3.0, 4.0]]), torch.tensor([[0.0, 2.0], [6.0, 8.0]])
    assert direction_cosine(x, first, second).tolist() == [0.0, 1.0]
    assert squared_distance(first, second).tolist() == [5.0, 25.0]
    assert direction_cosine(x, first, second).dtype == torch.float64


def test_the_observer_sees_what_the_sampler_saw():
    covariance = torch.diag(torch.tensor([2.0, 0.5, 0.1], dtype=torch.float64))
    sampled, other = GaussianDenoiser(torch.zeros(3), covariance), GaussianDenoiser(torch.ones(3), covariance)
    sigmas = edm_sigmas(9)
    settings = {"image_shape": (3,), "count": 6, "seed": 5, "solver": public_euler_maruyama}
    path, every, some = Trajectory(), Directions(other), Directions(other, steps=(0, 4, 8))
    reference(sampled, sigmas, observe=path, **settings)
    reference(sampled, sigmas, observe=every, **settings)
    reference(sampled, sigmas, observe=some, **settings)
    assert every.sigmas == path.sigmas == sigmas.tolist() and some.sigmas == sigmas[[0, 4, 8]].tolist()
    assert every.cosines.shape == every.squared_distances.shape == (9, 6)
    for i, (x, denoised) in enumerate(zip(path.states, path.denoised, strict=True)):
        assert torch.equal(every.cosines[i], direction_cosine(x, denoised, other(x, sigmas[i])))
        assert torch.equal(every.squared_distances[i], squared_distance(denoised, other(x, sigmas[i])))
    assert torch.equal(some.cosines, every.cosines[[0, 4, 8]])


def test_a_denoiser_agrees_with_itself():
    denoiser = GaussianDenoiser(torch.zeros(3), torch.eye(3))
    seen = Directions(denoiser)
    reference(denoiser, edm_sigmas(4), image_shape=(3,), count=2, seed=0, solver=public_euler_maruyama, observe=seen)
    torch.testing.assert_close(seen.cosines, torch.ones(4, 2, dtype=torch.float64), rtol=0.0, atol=1e-12)
    assert float(seen.squared_distances.max()) == 0.0


def test_implied_distance_inverts_the_cosine():
    noise, gap = draw(3, 4000, seed=1), draw(3, 4000, seed=2)
    gap = gap - noise * (gap * noise).sum(1, keepdim=True) / noise.square().sum(1, keepdim=True)
    gap = 20.0 * gap / gap.norm(dim=1, keepdim=True)
    x = 0.8 * noise * (math.sqrt(4000) / noise.norm(dim=1, keepdim=True))  # x - 0 has the norm sigma sqrt(d)
    for cosine in direction_cosine(x, torch.zeros_like(x), gap).tolist():
        assert implied_distance(Interval(cosine, cosine), 0.8, 4000).midpoint == pytest.approx(20.0, rel=1e-9)
    printed = implied_distance(Interval(0.99995, 1.0), 10.0, 4000)
    assert printed.lower == 0.0 and printed.upper == pytest.approx(10 * math.sqrt(4000) * 1e-2, rel=1e-3)


def test_averages_over_seeds():
    average = average_over_seeds(torch.tensor([[1.0, 0.0], [2.0, 0.0], [6.0, 3.0]]))
    assert average.mean.tolist() == [3.0, 1.0]
    # Deviations with divisor n - 1: sqrt(7) and sqrt(3), over sqrt(3) seeds.
    assert average.standard_error.tolist() == pytest.approx([math.sqrt(7.0 / 3.0), 1.0])


def test_bad_arguments():
    x = draw(2, 3)
    with pytest.raises(ValueError, match=r"one shape \(batch, \*event\), got \(2, 3\), \(2, 3\), \(1, 3\)"):
        direction_cosine(x, x + 1.0, x[:1])
    with pytest.raises(ValueError, match="differ from x in every row"):
        direction_cosine(x, x + 1.0, x)
    with pytest.raises(ValueError, match="one shape"):
        squared_distance(x, x[:, :2])
    with pytest.raises(ValueError, match="number of seeds must be at least 2, got 1"):
        average_over_seeds(torch.ones(1, 4))
    with pytest.raises(ValueError, match="values must be finite"):
        average_over_seeds(torch.tensor([[1.0], [math.nan]]))
    with pytest.raises(ValueError, match=r"cosine must lie within \(0, 1\]"):
        implied_distance(Interval(-0.1, 0.5), 1.0, 10)
    with pytest.raises(ValueError, match="sigma"):
        implied_distance(Interval(0.5, 0.6), 0.0, 10)
    with pytest.raises(ValueError, match="dimension"):
        implied_distance(Interval(0.5, 0.6), 1.0, 0)
