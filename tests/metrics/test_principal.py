"""Principal components against the singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from privlib.metrics.principal import principal_components


def random_features(count: int, dimensions: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    mixing = torch.randn(dimensions, dimensions, generator=generator, dtype=torch.float64)
    return torch.randn(count, dimensions, generator=generator, dtype=torch.float64) @ mixing + 3.0


def test_against_the_singular_value_decomposition() -> None:
    features = random_features(200, 6)
    basis = principal_components(features, components=4)
    centred = features.numpy() - features.numpy().mean(0)
    _, singular, right = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(basis.variances, singular[:4] ** 2 / 199, rtol=1e-10)
    assert basis.explained == pytest.approx((singular[:4] ** 2).sum() / (singular**2).sum(), rel=1e-12)
    np.testing.assert_allclose(np.abs(right[:4] @ basis.directions.numpy()), np.eye(4), atol=1e-9)
    coordinates = basis(features)
    np.testing.assert_allclose(np.cov(coordinates.T.numpy()), np.diag(basis.variances), atol=1e-9)
    np.testing.assert_allclose(coordinates.mean(0), 0.0, atol=1e-12)


def test_new_features_are_measured_from_the_mean_of_the_old_ones() -> None:
    features = random_features(50, 3)
    basis = principal_components(features, components=3)
    shift = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    torch.testing.assert_close(basis(features + shift), basis(features) + shift @ basis.directions)


def test_one_feature_is_enough() -> None:
    features = torch.tensor([[1.0], [3.0]])
    assert float(principal_components(features, components=1).variances) == pytest.approx(2.0)


def test_no_more_components_than_directions() -> None:
    flat = torch.cat([random_features(30, 3), torch.ones(30, 2, dtype=torch.float64)], dim=1)  # two constant features
    assert principal_components(flat, components=3).explained == pytest.approx(1.0)
    with pytest.raises(ValueError, match="components must be at most 3"):
        principal_components(flat, components=4)
    with pytest.raises(ValueError, match="components must be at most 4"):
        principal_components(random_features(5, 10), components=5)
    with pytest.raises(ValueError, match="components must be at most 0"):
        principal_components(torch.ones(5, 2), components=1)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (torch.zeros(4), "shape"),
        (torch.zeros(4, 2, dtype=torch.int64), "floating-point"),
        (torch.zeros(1, 2), "at least 2 samples"),
        (torch.tensor([[0.0, 1.0], [float("nan"), 1.0]]), "finite"),
    ],
)
def test_bad_features(features: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        principal_components(features, components=1)
