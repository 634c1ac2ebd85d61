"""The Gaussian oracle against linear algebra done in another way, and against its own definition."""

import pytest
import torch

from privlib.denoisers.gaussian import GaussianDenoiser


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("rank", [3, 12])
def test_it_solves_the_normal_equations(rank):
    mean, factor = draw(3, 2, 2), draw(12, rank, seed=1)
    covariance = factor @ factor.T
    x, sigma = 5.0 * draw(4, 3, 2, 2, seed=2), torch.tensor([0.002, 0.5, 3.0, 80.0], dtype=torch.float64)
    result = GaussianDenoiser(mean, covariance)(x, sigma)
    for row, level, found in zip(x, sigma, result, strict=True):
        solved = torch.linalg.solve(covariance + level**2 * torch.eye(12), (row - mean).flatten())
        torch.testing.assert_close(found.flatten(), mean.flatten() + covariance @ solved, rtol=1e-7, atol=1e-9)


def test_isotropic_data_is_shrunk_toward_the_mean():
    mean, x = draw(5), draw(7, 5, seed=1)
    result = GaussianDenoiser(mean, 4.0 * torch.eye(5, dtype=torch.float64))(x, 2.0)
    torch.testing.assert_close(result, 0.5 * (x + mean))


def test_it_is_the_least_squares_prediction_of_the_clean_record():
    """Regressing x0 on x over many draws gives the denoiser's matrix, within sampling error."""
    factor = draw(3, 3, seed=4)
    clean = draw(200_000, 3, seed=5) @ factor.T
    noisy = clean + 0.7 * draw(200_000, 3, seed=6)
    fitted = torch.linalg.lstsq(noisy, clean).solution
    exact = GaussianDenoiser(torch.zeros(3), factor @ factor.T)(torch.eye(3, dtype=torch.float64), 0.7)
    torch.testing.assert_close(exact, fitted, rtol=0.0, atol=0.01)


def test_dtype_of_x_and_of_the_parameters():
    denoiser = GaussianDenoiser(torch.zeros(3), torch.eye(3))
    assert denoiser.image_shape == (3,)
    assert denoiser(torch.ones(2, 3), 1.0).dtype == torch.float32
    assert denoiser(torch.ones(2, 3, dtype=torch.float64), 1.0).tolist() == [[0.5] * 3] * 2


@pytest.mark.parametrize(
    ("mean", "covariance", "message"),
    [
        (torch.zeros(2), torch.eye(3), r"shape \(2, 2\)"),
        (torch.zeros(0), torch.zeros(0, 0), "d >= 1"),
        (torch.zeros(2), torch.tensor([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (torch.zeros(2), torch.tensor([[1.0, 2.0], [2.0, 1.0]]), "semi-definite, got the eigenvalue -1"),
        (torch.full((2,), torch.nan), torch.eye(2), "mean must"),
        (torch.zeros(2), torch.eye(2).long(), "covariance must"),
    ],
)
def test_what_is_no_gaussian(mean, covariance, message):
    with pytest.raises(ValueError, match=message):
        GaussianDenoiser(mean, covariance)


def test_x_and_sigma_are_checked():
    denoiser = GaussianDenoiser(torch.zeros(3), torch.eye(3))
    with pytest.raises(ValueError, match="x must"):
        denoiser(torch.zeros(2, 4), 1.0)
    with pytest.raises(ValueError, match="sigma must"):
        denoiser(torch.zeros(2, 3), 0.0)
