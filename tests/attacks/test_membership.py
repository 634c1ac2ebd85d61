"""Error statistics against the formulas in the chain's own units, and on denoisers that remember or cannot."""

import numpy as np
import pytest
import torch

from privlib.attacks.chain import ddpm_sigmas
from privlib.attacks.membership import DENOISING, PROXIMAL, T_ERROR, denoising_errors, error_maps, proximal_errors
from privlib.attacks.scoring import Scores, auc
from privlib.data.images import ImageSet
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.samplers.noise import Purpose, SampleNoise

SETTINGS = {"stops": [0.1, 0.25], "interval": 50, "draws": 2, "seed": 3}


def pictures(count, seed, side=8):
    pixels = torch.randint(0, 256, (count, 3, side, side), generator=torch.Generator().manual_seed(seed))
    return ImageSet("noise", pixels.to(torch.uint8), torch.zeros(count, dtype=torch.int64), ("noise",))


def shrink(deviation):
    """The posterior mean of white Gaussian pixels: it knows no picture."""
    return lambda x, sigma: x * deviation**2 / (deviation**2 + sigma**2)


def test_the_t_error_is_that_of_the_chain_in_its_own_units():
    kept = 1.0 / (1.0 + ddpm_sigmas() ** 2)
    denoiser = shrink(0.4)

    def noise_of(y, step):  # a network of the chain sees variance-preserving states
        x, sigma = y / kept[step].sqrt(), float(ddpm_sigmas()[step])
        return (x - denoiser(x, sigma)) / sigma

    def move(y, start, end):
        clean = (y - (1 - kept[start]).sqrt() * noise_of(y, start)) / kept[start].sqrt()
        return kept[end].sqrt() * clean + (1 - kept[end]).sqrt() * noise_of(y, start)

    images = pictures(2, 0).unit(torch.float64)
    y = kept[0].sqrt() * images
    for start, end in ((0, 50), (50, 100)):
        y = move(y, start, end)
    expected = (move(move(y, 100, 150), 150, 100) - y).square().flatten(1).sum(1)
    found = error_maps(denoiser, images, **SETTINGS)[T_ERROR][:, 0].flatten(1).sum(1)
    assert torch.allclose(found.double() * kept[100], expected, rtol=1e-4)


def test_the_proximal_error_of_a_gaussian_denoiser_is_its_closed_form():
    x = pictures(3, 1).unit(torch.float64)
    own = x * 0.1 / (0.25 + 0.01)  # noise that D(x) = x s^2 / (s^2 + sigma^2), s = 1/2, sees at 0.1
    expected = (own - (x + 2.0 * own) * 2.0 / (0.25 + 4.0)).pow(4).flatten(1).sum(1)
    found = proximal_errors(shrink(0.5), x, [2.0], first_sigma=0.1)
    assert torch.allclose(found.flatten(1).sum(1), expected, rtol=1e-9)


def test_the_denoising_error_is_the_mean_over_draws_of_the_missed_noise():
    x, noise = pictures(3, 2).unit(torch.float64), torch.randn(2, 3, 3, 8, 8, dtype=torch.float64)
    found = denoising_errors(lambda x, sigma: torch.zeros_like(x), x, [0.5], noise)  # takes all of x for noise
    expected = (noise - (x + 0.5 * noise) / 0.5).square().flatten(2).sum(2).mean(0)
    assert torch.allclose(found.flatten(1).sum(1), expected, rtol=1e-9)


def test_maps_keep_the_sum_and_the_place_of_errors():
    corner = torch.zeros(32, 32)
    corner[:4, :4] = 1.0

    def sees_noise_in_a_corner(x, sigma):  # the square of sigma for noise there, none elsewhere
        return x - sigma * sigma * corner

    images, levels = torch.zeros(1, 3, 32, 32), [1.0, 2.0]
    maps = proximal_errors(sees_noise_in_a_corner, images, levels, first_sigma=0.5)
    assert maps.shape == (1, 2, 8, 8)
    assert maps[0, :, 0, 0].tolist() == pytest.approx([3 * 16 * (0.5 - level) ** 4 for level in levels])
    assert float(maps[:, :, 0, 0].sum()) == float(maps.sum())


def test_results_depend_on_neither_the_batch_size_nor_the_threads():
    images, denoiser = pictures(7, 3).unit(), EmpiricalDenoiser(pictures(5, 4))
    whole = error_maps(denoiser, images, **SETTINGS)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        parts = error_maps(denoiser, images, **SETTINGS, batch_size=2)
    finally:
        torch.set_num_threads(before)
    for name in (T_ERROR, PROXIMAL, DENOISING):
        assert torch.allclose(whole[name], parts[name], rtol=1e-4, atol=1e-6), name
    noise = SampleNoise(3, range(7), (3, 8, 8)).normal(Purpose.INITIAL, 0)
    assert not torch.equal(noise[0], noise[1])


def test_every_attack_finds_the_members_of_a_denoiser_that_remembers_and_none_of_one_that_cannot():
    members, others = pictures(60, 5), pictures(60, 6)

    def attack(denoiser):
        maps = [error_maps(denoiser, side.unit(), **SETTINGS) for side in (members, others)]
        return {name: auc(Scores(*(-side[name][:, 0].flatten(1).sum(1).double() for side in maps))) for name in maps[0]}

    assert min(attack(EmpiricalDenoiser(members)).values()) > 0.99
    blind = attack(shrink(0.6))
    assert np.allclose(list(blind.values()), 0.5, atol=0.17)  # three standard errors of 60 against 60


def test_bad_input_is_refused():
    denoiser = shrink(0.6)
    with pytest.raises(ValueError, match="unit scale|must lie in"):
        error_maps(denoiser, 3.0 * torch.ones(1, 3, 8, 8), **SETTINGS)
    with pytest.raises(ValueError, match="draws must be at least 1"):
        error_maps(denoiser, torch.zeros(1, 3, 8, 8), **(SETTINGS | {"draws": 0}))
    with pytest.raises(ValueError, match="multiples of"):
        error_maps(denoiser, torch.zeros(1, 3, 8, 8), **(SETTINGS | {"stops": [0.33]}))
