"""Counts released once: the law of the noise, the charge, and what is made of the counts."""

import math

import pytest
import torch
from scipy import stats

from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.groups import PublicGroups
from privlib.denoisers.released import ReleasedCounts, ReweightedDenoiser, release_counts
from privlib.mechanisms import SubsampledGaussian
from privlib.types import Adjacency

GROUPS = PublicGroups(torch.tensor([[0.0], [0.1], [0.2], [9.0], [9.1], [5.0]]), 3, seed=4)


def test_noise_and_charge():
    counts = torch.arange(4000)
    released = release_counts(counts, noise_multiplier=2.5, generator=torch.Generator().manual_seed(4))
    assert stats.kstest((released.values - counts).numpy() / 2.5, "norm").pvalue > 0.01
    assert released.mechanism == SubsampledGaussian(0.4, 1.0, 1, Adjacency.ADD_OR_REMOVE_ONE)
    again = release_counts(counts, noise_multiplier=2.5, generator=torch.Generator().manual_seed(4))
    assert torch.equal(again.values, released.values)


def test_weights_spread_a_share_over_its_group():
    place = {tuple((GROUPS.index == g).nonzero().flatten().tolist()): g for g in range(3)}
    values = torch.zeros(3, dtype=torch.float64)
    values[place[(0, 1, 2)]], values[place[(3, 4)]], values[place[(5,)]] = 30.0, 10.0, -5.0
    weights = ReleasedCounts(values, SubsampledGaussian(1.0)).image_weights(GROUPS)
    torch.testing.assert_close(weights, torch.tensor([0.25, 0.25, 0.25, 0.125, 0.125, 0.0], dtype=torch.float64))


def test_equal_shares_give_the_plain_posterior_mean():
    images = torch.rand(6, 1, 2, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1
    weights = ReleasedCounts(GROUPS.sizes.double() * 7, SubsampledGaussian(1.0)).image_weights(GROUPS)
    x = images[:3].double() + 0.5
    torch.testing.assert_close(PublicAnchor(images, weights=weights)(x, 1.0), PublicAnchor(images)(x, 1.0))


def test_counts_in_groups_without_public_images_are_dropped():
    groups = PublicGroups(torch.ones(4, 2), 2)
    weights = ReleasedCounts(torch.tensor([3.0, 50.0]), SubsampledGaussian(1.0)).image_weights(groups)
    assert weights.tolist() == [0.25] * 4


@pytest.mark.parametrize("values", [[0.0, -1.0, 0.0], [-3.0, -1.0, -2.0], [math.nan, math.nan, math.nan]])
def test_nothing_to_weigh(values):
    with pytest.raises(ValueError, match="too much noise"):
        ReleasedCounts(torch.tensor(values), SubsampledGaussian(1.0)).image_weights(GROUPS)


@pytest.mark.parametrize(
    ("counts", "multiplier", "message"),
    [
        (torch.tensor([1.0]), 1.0, "int64"),
        (torch.tensor([-1]), 1.0, "non-negative"),
        (torch.tensor([[1]]), 1.0, "shape"),
        (torch.tensor([1]), 0.0, "noise_multiplier"),
    ],
)
def test_bad_arguments(counts, multiplier, message):
    with pytest.raises(ValueError, match=message):
        release_counts(counts, noise_multiplier=multiplier, generator=torch.Generator())


def test_a_denoiser_of_the_images_becomes_that_of_the_reweighted_images():
    images = torch.rand(6, 1, 4, 4, generator=torch.Generator().manual_seed(1)) * 2 - 1
    weights = torch.tensor([0.4, 0.3, 0.1, 0.0, 0.2, 0.0], dtype=torch.float64)
    x = images.double() + 0.7 * torch.randn(6, 1, 4, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    moved = ReweightedDenoiser(PublicAnchor(images), images, weights=weights)
    torch.testing.assert_close(moved(x, 0.7), PublicAnchor(images, weights=weights)(x, 0.7))


def test_a_denoiser_of_blurred_images_moves_to_the_reweighted_mixture():
    """The density behind D is wider than the images; with noise much wider still, the move is the exact one."""
    images = torch.rand(5, 8, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 2 - 1
    weights = torch.tensor([0.5, 0.2, 0.1, 0.1, 0.1], dtype=torch.float64)
    x, sigma, blur = torch.randn(40, 8, generator=torch.Generator().manual_seed(4), dtype=torch.float64), 1.5, 0.05
    total = math.hypot(sigma, blur)

    def oracle(prior, noisy):
        mean = torch.softmax(prior.log() - torch.cdist(noisy, images).square() / (2 * total**2), 1) @ images
        return mean + (blur / total) ** 2 * (noisy - mean)  # posterior mean of a mixture of blurred points

    plain = torch.full((5,), 0.2, dtype=torch.float64)
    moved = ReweightedDenoiser(lambda noisy, _: oracle(plain, noisy), images, weights=weights)(x, sigma)
    moves = (oracle(weights, x) - oracle(plain, x)).norm(dim=1)
    assert float(((moved - oracle(weights, x)).norm(dim=1) / moves).max()) < 4 * (blur / sigma) ** 2
