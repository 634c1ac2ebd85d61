"""Pair metrics against their formulas, and where they are exact."""

from __future__ import annotations

import math

import pytest
import torch

from privlib.metrics.features import NetworkFeatures
from privlib.metrics.pairs import cosine_distances, cosine_distances_of, label_agreement, psnr, ssim

FLAT = NetworkFeatures("pixels", torch.nn.Flatten(), 16, (0.0,) * 3, (1.0,) * 3)


def images(count=4, side=16, seed=0):
    return torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(seed)).double() * 2.0 - 1.0


def test_psnr_of_a_known_error():
    one = images().mul(0.5)
    # An error of 0.1 on [-1, 1] is one of 0.05 on [0, 1]: 20 log10(1 / 0.05).
    torch.testing.assert_close(psnr(one, one + 0.1), torch.full((4,), 20 * math.log10(20.0)).double())
    assert psnr(one, one).tolist() == [math.inf] * 4
    two = images(seed=1)
    by_hand = -10 * ((one - two) / 2).square().mean(dim=(1, 2, 3)).log10()
    torch.testing.assert_close(psnr(one, two), by_hand)


def test_what_overshoots_is_clamped():
    one = torch.ones(2, 3, 16, 16)
    assert psnr(1.5 * one, one).tolist() == [math.inf] * 2
    assert ssim(1.5 * one, one).tolist() == [1.0] * 2


def test_ssim_of_flat_images_is_the_luminance_term():
    """Without variance only (2 a b + c) / (a^2 + b^2 + c) is left, c = 0.01^2, with a and b on [0, 1]."""
    a, b, c = 0.25, 0.75, 1e-4
    one, two = (torch.full((2, 3, 16, 16), 2 * level - 1) for level in (a, b))
    expected = (2 * a * b + c) / (a**2 + b**2 + c)
    torch.testing.assert_close(ssim(one, two), torch.full((2,), expected).double(), rtol=1e-6, atol=0.0)


def test_ssim_against_windows_written_out():
    """Every pixel from the weighted moments of its own window, borders mirrored."""
    one, two = images(1, 12, seed=2), images(1, 12, seed=3)
    line = (-torch.arange(-5, 6).double().square() / (2 * 1.5**2)).exp()
    weights = (torch.outer(line, line) / line.sum() ** 2).flatten()[:, None]
    x, y = (
        torch.nn.functional.unfold(torch.nn.functional.pad((z[0][:, None] + 1) / 2, (5,) * 4, mode="reflect"), 11)
        for z in (one, two)
    )
    mean_x, mean_y = ((weights * z).sum(dim=1) for z in (x, y))
    dev_x, dev_y = x - mean_x[:, None], y - mean_y[:, None]
    var_x, var_y, cov = ((weights * z).sum(dim=1) for z in (dev_x**2, dev_y**2, dev_x * dev_y))
    luminance = (2 * mean_x * mean_y + 1e-4) / (mean_x**2 + mean_y**2 + 1e-4)
    expected = (luminance * (2 * cov + 9e-4) / (var_x + var_y + 9e-4)).mean()
    assert float(ssim(one, two)) == pytest.approx(float(expected), rel=1e-6)


def test_ssim_order_and_shape():
    one = images(count=5)
    near, far = ssim(one, one + 0.02 * images(5, seed=1)), ssim(one, images(5, seed=1))
    assert near.shape == (5,) and near.dtype == torch.float64
    assert bool((near > far).all()) and float(near.max()) < 1.0


def test_cosine_distance_by_hand():
    one = torch.tensor([[1.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]])
    two = torch.tensor([[0.0, 3.0], [2.0, 2.0], [-1.0, 0.0], [3.0, 1.0]])
    torch.testing.assert_close(cosine_distances_of(one, two), torch.tensor([1.0, 0.0, 2.0, 0.0]).double())
    assert float(cosine_distances_of(one, one).max()) == 0.0
    a, b = images(seed=4), images(seed=5)
    x, y = FLAT.prepare(a).flatten(1).double(), FLAT.prepare(b).flatten(1).double()
    expected = 1 - torch.nn.functional.cosine_similarity(x, y)
    torch.testing.assert_close(cosine_distances(FLAT, a, b), expected, rtol=1e-5, atol=1e-7)


def test_label_agreement_by_hand():
    one = torch.tensor([[0.6, 0.4], [0.1, 0.9], [0.5, 0.5]])
    two = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    assert label_agreement(one, two).tolist() == [1.0, 0.0, 1.0]


def test_bad_pairs():
    one = images()
    for metric in (psnr, ssim, lambda a, b: cosine_distances(FLAT, a, b)):
        with pytest.raises(ValueError, match="pairs of one shape"):
            metric(one, one[:2])
        with pytest.raises(ValueError, match="images must be finite"):
            metric(one, one / 0.0)
    with pytest.raises(ValueError, match="features must both have shape"):
        cosine_distances_of(torch.ones(2, 3), torch.ones(2, 4))
    with pytest.raises(ValueError, match="zero in any row"):
        cosine_distances_of(torch.ones(2, 3), torch.zeros(2, 3))
    with pytest.raises(ValueError, match="probabilities must both"):
        label_agreement(torch.ones(2, 3), torch.ones(3, 3))
