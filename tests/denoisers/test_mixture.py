"""The mixture oracle against the score of its density, numerical integration and the one-component case."""

import math

import pytest
import torch
from scipy.integrate import quad

from privlib.denoisers.gaussian import GaussianDenoiser
from privlib.denoisers.mixture import MixtureDenoiser


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_one_component_is_the_gaussian():
    mean, x, sigma = draw(1, 2, 3), draw(4, 2, 3, seed=1), torch.tensor([0.002, 0.3, 2.0, 80.0])
    gaussian = GaussianDenoiser(mean[0], 0.7 * torch.eye(6, dtype=torch.float64))
    torch.testing.assert_close(MixtureDenoiser(mean, 0.7)(x, sigma), gaussian(x, sigma))


@pytest.mark.parametrize("sigma", [0.2, 1.0, 5.0])
def test_tweedie(sigma):
    """x + sigma^2 grad log p(x), the gradient taken by automatic differentiation of the density."""
    means, x = 2.0 * draw(5, 4), 2.0 * draw(6, 4, seed=1)
    variances = torch.tensor([0.0, 0.1, 0.5, 1.0, 2.0], dtype=torch.float64)
    weights = torch.tensor([0.1, 0.2, 0.3, 0.3, 0.1], dtype=torch.float64)
    x.requires_grad_()
    total = (variances + sigma**2)[:, None]
    components = torch.distributions.Normal(means, total.sqrt().expand(5, 4))
    log_density = torch.logsumexp(components.log_prob(x[:, None]).sum(2) + weights.log(), dim=1)
    (score,) = torch.autograd.grad(log_density.sum(), x)
    result = MixtureDenoiser(means, variances, weights)(x.detach(), sigma)
    torch.testing.assert_close(result, (x + sigma**2 * score).detach(), rtol=1e-9, atol=1e-9)


def test_against_numerical_integration_in_one_dimension():
    means, variances, weights = (-1.0, 0.5), (0.3, 0.05), (0.25, 0.75)
    x, sigma = 0.3, 0.6

    def joint(x0, power):
        prior = sum(
            p * math.exp(-((x0 - m) ** 2) / (2 * v)) / math.sqrt(v)
            for m, v, p in zip(means, variances, weights, strict=True)
        )
        return x0**power * prior * math.exp(-((x - x0) ** 2) / (2 * sigma**2))

    expected = quad(joint, -8, 8, args=(1,), limit=200)[0] / quad(joint, -8, 8, args=(0,), limit=200)[0]
    denoiser = MixtureDenoiser(torch.tensor(means)[:, None], torch.tensor(variances), torch.tensor(weights))
    assert denoiser(torch.tensor([[x]], dtype=torch.float64), sigma).item() == pytest.approx(expected, rel=1e-6)


def test_responsibilities_add_up_far_away_too():
    denoiser = MixtureDenoiser(draw(3, 2), 0.1)
    result = denoiser.responsibilities(1e6 * draw(4, 2, seed=1), 0.002)
    torch.testing.assert_close(result.sum(dim=1), torch.ones(4, dtype=torch.float64))
    assert denoiser.image_shape == (2,) and denoiser(torch.zeros(1, 2), 1.0).dtype == torch.float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.zeros(3), 0.0), "means must have shape"),
        ((torch.zeros(3, 2).long(), 0.0), "means must be floating"),
        ((torch.full((3, 2), torch.inf), 0.0), "means must be"),
        ((torch.zeros(3, 2), -0.1), "variances must lie"),
        ((torch.zeros(3, 2), torch.zeros(2)), "variances must be"),
        ((torch.zeros(3, 2), math.nan), "variances must be"),
        ((torch.zeros(3, 2), 0.0, torch.tensor([0.5, 0.5, 0.5])), "add up to 1"),
        ((torch.zeros(3, 2), 0.0, torch.tensor([1.5, -0.5, 0.0])), "weights must"),
    ],
)
def test_what_is_no_mixture(arguments, message):
    with pytest.raises(ValueError, match=message):
        MixtureDenoiser(*arguments)
