"""The public side of bounded denoisers: posterior mean and kernel mass against plain float64."""

import pytest
import torch

from privlib.denoisers.anchors import PublicAnchor


@pytest.mark.parametrize("sigma", [0.002, 0.05, 1.0, 80.0])
def test_mean_and_mass_against_direct_sums(sigma):
    draw = torch.Generator().manual_seed(1)
    images = torch.rand(40, 3, 4, 4, generator=draw) * 2 - 1
    x = images[:5].double() + sigma * torch.randn(5, 3, 4, 4, generator=draw, dtype=torch.float64)
    logits = -((x[:, None] - images.double()) ** 2).flatten(2).sum(2) / (2 * sigma**2)
    expected = (torch.softmax(logits, 1) @ images.double().flatten(1)).reshape(x.shape)
    anchor = PublicAnchor(images)
    mean, log_mass = anchor.mean_and_log_mass(x, sigma)
    torch.testing.assert_close(mean, expected, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(log_mass, torch.logsumexp(logits, 1) - torch.log(torch.tensor(40.0)), rtol=0, atol=1e-6)
    assert torch.equal(anchor(x, torch.full((5,), sigma)), mean)
    assert anchor(x.float(), sigma).dtype == torch.float32


def test_another_denoiser_serves_as_the_mean():
    images = torch.zeros(3, 1, 2, 2)
    anchor = PublicAnchor(images, denoiser=lambda x, sigma: x * sigma)
    x = torch.ones(2, 1, 2, 2, dtype=torch.float64)
    mean, log_mass = anchor.mean_and_log_mass(x, 0.5)
    assert torch.equal(mean, 0.5 * x) and torch.equal(anchor(x, 0.5), mean)
    torch.testing.assert_close(log_mass, torch.full((2,), -8.0, dtype=torch.float64))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (torch.zeros(1, 3, 4, 4), "at least 2"),
        (torch.zeros(2, 3, 4, 4, dtype=torch.uint8), "floating-point"),
        (torch.full((2, 3, 4, 4), float("nan")), "finite"),
    ],
)
def test_bad_images(images, message):
    with pytest.raises(ValueError, match=message):
        PublicAnchor(images)


def test_weights_are_a_prior():
    draw = torch.Generator().manual_seed(2)
    images = torch.rand(9, 1, 3, 3, generator=draw) * 2 - 1
    weights = torch.tensor([0.0, 0.0, 0.0, 1.0, 5.0, 0.5, 0.0, 2.0, 2.0])
    x = torch.randn(4, 1, 3, 3, generator=draw, dtype=torch.float64)
    mean, log_mass = PublicAnchor(images, weights=weights).mean_and_log_mass(x, 0.8)
    terms = torch.log(weights / weights.sum()) - ((x[:, None] - images) ** 2).flatten(2).sum(2) / (2 * 0.8**2)
    torch.testing.assert_close(log_mass, torch.logsumexp(terms, 1), rtol=1e-6, atol=1e-6)
    expected = torch.softmax(terms, 1) @ images.double().flatten(1)
    torch.testing.assert_close(mean.flatten(1), expected, rtol=1e-6, atol=1e-6)
    repeated = images[[3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 7, 7, 7, 7, 8, 8, 8, 8]]
    torch.testing.assert_close(PublicAnchor(repeated)(x, 0.8), mean, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weights", [torch.ones(2), torch.zeros(3), torch.tensor([1.0, -1.0, 1.0]), torch.ones(3) / 0])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="weights"):
        PublicAnchor(torch.zeros(3, 1, 2, 2), weights=weights)
