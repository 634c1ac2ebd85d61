"""The Fréchet distance: closed forms, two other implementations, invariances, bias, and coverage of the interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given
from hypothesis import strategies as st

from privlib.metrics.frechet import GaussianFit, fit_gaussian, frechet_distance, frechet_estimate


def normal(generator: torch.Generator, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def random_fit(dimensions: int, seed: int, rank: int | None = None) -> GaussianFit:
    generator = torch.Generator().manual_seed(seed)
    root = normal(generator, dimensions, rank or dimensions)
    return GaussianFit(normal(generator, dimensions), root @ root.T)


def moved(fit: GaussianFit, matrix: torch.Tensor, shift: torch.Tensor) -> GaussianFit:
    covariance = matrix @ fit.covariance @ matrix.T
    return GaussianFit(matrix @ fit.mean + shift, (covariance + covariance.T) / 2)


def test_closed_form_in_one_dimension() -> None:
    first = GaussianFit(torch.tensor([1.0]).double(), torch.tensor([[4.0]]).double())
    second = GaussianFit(torch.tensor([-2.0]).double(), torch.tensor([[0.25]]).double())
    assert frechet_distance(first, second) == pytest.approx(3.0**2 + (2.0 - 0.5) ** 2, rel=1e-14)


@pytest.mark.parametrize(
    ("first", "second", "tolerance"),
    [
        ([0.1, 0.2, 1.0, 2.0, 30.0], [0.5, 0.1, 3.0, 0.7, 29.0], 1e-11),
        # A direction in which only one of them varies: the root of a round-off remains, 1e-8 of the trace.
        ([0.0, 1e-6, 1.0, 2.0, 30.0], [0.5, 1e-6, 3.0, 0.0, 29.0], 1e-5),
    ],
)
def test_closed_form_for_covariances_that_commute(first: list, second: list, tolerance: float) -> None:
    generator = torch.Generator().manual_seed(3)
    basis = torch.linalg.qr(normal(generator, 5, 5)).Q
    means, fits = normal(generator, 2, 5), []
    for mean, deviations in zip(means, (first, second), strict=True):
        variances = torch.tensor(deviations, dtype=torch.float64) ** 2
        fits.append(moved(GaussianFit(mean, torch.diag(variances)), basis, 0.0 * mean))
    expected = float((means[0] - means[1]).square().sum()) + sum(
        (a - b) ** 2 for a, b in zip(first, second, strict=True)
    )
    assert frechet_distance(*fits) == pytest.approx(expected, abs=tolerance)


@given(seed=st.integers(0, 10_000), dimensions=st.integers(1, 12))
def test_against_the_matrix_square_root(seed: int, dimensions: int) -> None:
    first, second = random_fit(dimensions, seed), random_fit(dimensions, seed + 20_000)
    root = scipy.linalg.sqrtm(first.covariance.numpy() @ second.covariance.numpy())
    covariances = np.trace(first.covariance + second.covariance) - 2.0 * np.trace(root).real
    expected = float((first.mean - second.mean).square().sum()) + covariances
    assert frechet_distance(first, second) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.slow
def test_against_torchmetrics() -> None:
    from torchmetrics.image.fid import FrechetInceptionDistance

    class Flat(torch.nn.Module):
        num_features = 12

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return images.flatten(1)

    generator = torch.Generator().manual_seed(1)
    first, second = normal(generator, 300, 3, 2, 2), 0.5 * normal(generator, 400, 3, 2, 2) + 0.2
    metric = FrechetInceptionDistance(feature=Flat()).set_dtype(torch.float64)
    metric.update(first, real=True)
    metric.update(second, real=False)
    ours = frechet_distance(fit_gaussian(first.flatten(1)), fit_gaussian(second.flatten(1)))
    assert ours == pytest.approx(float(metric.compute()), rel=1e-9)


@given(seed=st.integers(0, 10_000), dimensions=st.integers(1, 8), scale=st.floats(0.01, 100.0))
def test_invariances(seed: int, dimensions: int, scale: float) -> None:
    first, second, third = (random_fit(dimensions, seed + 20_000 * i) for i in range(3))
    distance = frechet_distance(first, second)
    generator = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(normal(generator, dimensions, dimensions)).Q
    shift = 10.0 * normal(generator, dimensions)
    rotated = frechet_distance(moved(first, rotation, shift), moved(second, rotation, shift))
    assert rotated == pytest.approx(distance, rel=1e-8, abs=1e-8)
    assert frechet_distance(second, first) == pytest.approx(distance, rel=1e-10)
    stretched = scale * torch.eye(dimensions).double()
    zero = torch.zeros(dimensions).double()
    scaled = frechet_distance(moved(first, stretched, zero), moved(second, stretched, zero))
    assert scaled == pytest.approx(scale**2 * distance, rel=1e-8, abs=1e-8 * scale**2)
    detour = math.sqrt(frechet_distance(first, third)) + math.sqrt(frechet_distance(third, second))
    assert math.sqrt(distance) <= detour * (1.0 + 1e-9)


def test_singular_covariances() -> None:
    fit = random_fit(20, 4, rank=3)
    assert 0.0 <= frechet_distance(fit, fit) < 1e-10
    point = GaussianFit(fit.mean, torch.zeros(20, 20).double())
    assert frechet_distance(fit, point) == pytest.approx(float(fit.covariance.trace()), rel=1e-9)


def test_fit_is_that_of_numpy() -> None:
    features = normal(torch.Generator().manual_seed(0), 40, 3).float() + 5.0
    fit = fit_gaussian(features)
    np.testing.assert_allclose(fit.mean, features.double().numpy().mean(0), rtol=1e-12)
    np.testing.assert_allclose(fit.covariance, np.cov(features.double().numpy().T), rtol=1e-10)


def test_refused_fits() -> None:
    eye = torch.eye(2).double()
    zero = torch.zeros(2).double()
    with pytest.raises(ValueError, match="shapes"):
        GaussianFit(zero, torch.eye(3).double())
    with pytest.raises(ValueError, match="covariance must be finite float64"):
        GaussianFit(zero, torch.eye(2))
    with pytest.raises(ValueError, match="mean must be finite float64"):
        GaussianFit(zero * float("nan"), eye)
    with pytest.raises(ValueError, match="symmetric"):
        GaussianFit(zero, torch.tensor([[1.0, 0.5], [0.0, 1.0]]).double())
    with pytest.raises(ValueError, match="positive semidefinite"):
        frechet_distance(GaussianFit(zero, -eye), GaussianFit(zero, eye))
    with pytest.raises(ValueError, match="same number of features, got 2, 3"):
        frechet_distance(GaussianFit(zero, eye), random_fit(3, 0))


def correlated(count: int, dimensions: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Samples of a Gaussian, a reference set, and the distance of the Gaussian itself to the reference set."""
    generator = torch.Generator().manual_seed(1_000)
    reference = normal(generator, 2_000, dimensions)
    root = torch.eye(dimensions).double() + 0.3 / dimensions**0.5 * normal(generator, dimensions, dimensions)
    mean = torch.full((dimensions,), 0.2, dtype=torch.float64)
    truth = frechet_distance(GaussianFit(mean, root @ root.T), fit_gaussian(reference))
    return normal(torch.Generator().manual_seed(seed), count, dimensions) @ root.T + mean, reference, truth


def test_fewer_samples_look_farther_away_and_extrapolation_takes_most_of_it_back() -> None:
    estimates = []
    for seed in range(30):
        samples, reference, truth = correlated(200, 8, seed)
        estimates.append(frechet_estimate(samples, reference, num_bootstrap=20, num_halvings=2, seed=seed))
    value = np.array([e.value for e in estimates])
    half = np.array([e.half_value for e in estimates])
    extrapolated = np.array([e.extrapolated for e in estimates])
    assert (half > value).all()
    noise = value.std() / math.sqrt(len(value))
    assert value.mean() - truth > 5.0 * noise
    assert abs(extrapolated.mean() - truth) < 3.0 * noise < 0.6 * (value.mean() - truth)
    # Twice the bias at half the size, and a standard error that is the scatter between repetitions.
    assert (half.mean() - truth) / (value.mean() - truth) == pytest.approx(2.0, abs=0.35)
    assert np.mean([e.standard_error for e in estimates]) == pytest.approx(value.std(), rel=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "dimensions"), [(200, 4), (400, 8)])
def test_coverage_of_the_bootstrap_interval(count: int, dimensions: int) -> None:
    repetitions = 150
    hits = 0
    for seed in range(repetitions):
        samples, reference, truth = correlated(count, dimensions, seed)
        estimate = frechet_estimate(samples, reference, num_bootstrap=100, num_halvings=2, confidence=0.9, seed=seed)
        hits += estimate.lower <= truth <= estimate.upper
    # 0.9 within four standard deviations of a binomial; wide intervals at few samples are allowed, narrow ones not.
    assert hits / repetitions > 0.9 - 4.0 * math.sqrt(0.09 / repetitions)
    assert hits / repetitions < 0.995


def test_standard_error_against_the_delta_method() -> None:
    # The derivative of the distance is 2 (m - m_r) in the mean and I - T in the covariance, with T the linear map that
    # carries the fit of the samples to that of the reference (Olkin and Pukelsheim 1982).
    samples, reference, _ = correlated(4_000, 3, 7)
    estimate = frechet_estimate(samples, reference, num_bootstrap=400, num_halvings=1)
    fit, target = fit_gaussian(samples), fit_gaussian(reference)
    root = scipy.linalg.sqrtm(target.covariance.numpy())
    middle = scipy.linalg.inv(scipy.linalg.sqrtm(root @ fit.covariance.numpy() @ root))
    gradient = torch.eye(3).double() - torch.from_numpy(root @ middle @ root)
    centred = samples - fit.mean
    influence = 2.0 * centred @ (fit.mean - target.mean) + ((centred @ gradient) * centred).sum(1)
    assert estimate.standard_error == pytest.approx(float(influence.std()) / math.sqrt(4_000), rel=0.15)
    assert estimate.lower < estimate.extrapolated < estimate.upper
    assert estimate.upper - estimate.lower == pytest.approx(2 * 1.96 * estimate.standard_error, rel=0.2)


def test_line_through_an_odd_number_of_samples() -> None:
    samples, reference, _ = correlated(101, 2, 0)
    estimate = frechet_estimate(samples, reference, num_bootstrap=20)
    slope = (estimate.half_value - estimate.value) / (1 / 50 - 1 / 101)
    assert estimate.extrapolated == pytest.approx(estimate.value - slope / 101, rel=1e-10)
    assert (estimate.num_samples, estimate.num_reference, estimate.num_features) == (101, 2_000, 2)


def test_value_is_the_plain_distance_and_the_seed_fixes_the_rest() -> None:
    samples, reference, _ = correlated(150, 4, 0)
    one, again, other = (frechet_estimate(samples, reference, num_bootstrap=20, seed=seed) for seed in (1, 1, 2))
    assert one == again and one.value == other.value and one.lower != other.lower
    assert one.value == pytest.approx(frechet_distance(fit_gaussian(samples), fit_gaussian(reference)), rel=1e-12)
    assert one.explained == 1.0
    wide = frechet_estimate(samples, reference, num_bootstrap=20, confidence=0.5, seed=1)
    assert wide.upper - wide.lower < one.upper - one.lower


def test_projection_on_the_reference_shrinks_the_distance() -> None:
    samples, reference, _ = correlated(150, 6, 0)
    values = [frechet_estimate(samples, reference, components=k, num_bootstrap=20).value for k in (1, 3, 6)]
    full = frechet_estimate(samples, reference, num_bootstrap=20)
    assert values[0] < values[1] < values[2]
    assert values[2] == pytest.approx(full.value, rel=1e-9)
    basis = np.linalg.svd(reference.numpy() - reference.numpy().mean(0), full_matrices=False)[2][:3]
    by_hand = frechet_distance(*(fit_gaussian(x @ torch.from_numpy(basis.T.copy())) for x in (samples, reference)))
    assert values[1] == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": torch.zeros(100, 3)}, "same number of features, got 3 and 4"),
        ({"features": torch.rand(9, 4)}, "give at least 10 and 5, or components of at most 3"),
        ({"reference": torch.rand(4, 4)}, "4 reference samples are too few"),
        ({"features": torch.full((100, 4), float("nan"))}, "features must be finite"),
        ({"components": 0}, "components"),
        ({"num_bootstrap": 19}, "num_bootstrap"),
        ({"num_halvings": 0}, "num_halvings"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 0.0}, "confidence"),
    ],
)
def test_refused_estimates(arguments: dict, message: str) -> None:
    sets = {"features": torch.rand(100, 4), "reference": torch.rand(100, 4)}
    with pytest.raises(ValueError, match=message):
        frechet_estimate(**(sets | arguments))
