"""Changed windows against a plain loop, against linear closed forms, and clear errors."""

from __future__ import annotations

import math

import pytest
import torch

from privlib.samplers.hybrid import reference
from privlib.samplers.noise import Purpose, SampleNoise
from privlib.samplers.path import public_euler_maruyama
from privlib.samplers.steps import ancestral_step, euler_maruyama_step
from privlib.samplers.window import Sampler, window_endpoints
from privlib.schedules import edm_sigmas
from tests.samplers.oracles import GaussianData

LEVELS = edm_sigmas(8, sigma_max=5.0, sigma_min=0.1)
NEURAL, EMPIRICAL = GaussianData(0.3, 0.25), GaussianData(-0.2, 0.04)
UPDATES = pytest.mark.parametrize("update", [euler_maruyama_step, ancestral_step])


def endpoints(windows, *, update=euler_maruyama_step, substitute=EMPIRICAL, count=5, batch_size=64):
    return window_endpoints(
        Sampler(NEURAL, LEVELS, update),
        substitute,
        windows,
        image_shape=(3,),
        count=count,
        seed=4,
        batch_size=batch_size,
    )


def plain_loop(update, *, swapped=(), redrawn=(), count=5):
    """The whole path written out, from the first level, with no state kept."""
    noise, levels = SampleNoise(4, range(count), (3,)), LEVELS.tolist()
    x = levels[0] * noise.normal(Purpose.INITIAL)
    for i in range(8):
        denoised = (EMPIRICAL if i in swapped else NEURAL)(x, levels[i])
        if i == 7:
            return denoised
        fresh = noise.normal(Purpose.REDRAWN_STEP if i in redrawn else Purpose.PUBLIC_STEP, i)
        x = update(x, denoised, levels[i], levels[i + 1], noise=fresh)


@UPDATES
def test_every_endpoint_is_that_of_the_whole_path(update):
    windows = [range(2, 4), range(5, 8), range(0, 1)]
    ends = endpoints(windows, update=update)
    assert torch.equal(ends.unchanged, plain_loop(update))
    assert torch.equal(ends.all_swapped, plain_loop(update, swapped=range(8)))
    for window, swapped, redrawn in zip(windows, ends.swapped, ends.redrawn, strict=True):
        assert torch.equal(swapped, plain_loop(update, swapped=window))
        assert torch.equal(redrawn, plain_loop(update, redrawn=window))


def test_the_unchanged_path_is_that_of_the_reference_sampler():
    settings = {"image_shape": (3,), "count": 5, "seed": 4}
    ends = window_endpoints(Sampler(NEURAL, LEVELS, euler_maruyama_step), EMPIRICAL, [range(1, 2)], **settings)
    for denoiser, found in ((NEURAL, ends.unchanged), (EMPIRICAL, ends.all_swapped)):
        assert torch.equal(reference(denoiser, LEVELS, solver=public_euler_maruyama, **settings).images, found)


def test_a_denoiser_in_its_own_place_changes_nothing():
    ends = endpoints([range(1, 3), range(4, 8)], substitute=NEURAL)
    for swapped in (*ends.swapped, ends.all_swapped):
        assert torch.equal(swapped, ends.unchanged)
    for redrawn in ends.redrawn:
        assert not torch.isclose(redrawn, ends.unchanged).any()


def test_batches_do_not_matter():
    together, apart = endpoints([range(2, 5)]), endpoints([range(2, 5)], batch_size=2)
    for one, two in zip(vars(together).values(), vars(apart).values(), strict=True):
        for left, right in zip(*((part if isinstance(part, tuple) else (part,)) for part in (one, two)), strict=True):
            assert torch.equal(left, right)


@UPDATES
def test_redrawn_noise_has_the_variance_of_the_linear_recursion(update):
    """For linear steps x' = a x + b + g z the endpoint moves by the sum over the window of g (z' - z) times later a."""
    window, levels = range(2, 5), LEVELS.tolist()
    ends = window_endpoints(
        Sampler(NEURAL, LEVELS, update), EMPIRICAL, [window], image_shape=(2000,), count=10, seed=1, batch_size=10
    )
    zero, one = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)

    def step(i, x, noise):
        return float(update(x, NEURAL(x, levels[i]), levels[i], levels[i + 1], noise=noise))

    variance, factor = 0.0, 0.25 / (0.25 + levels[7] ** 2)  # the last step is the denoised image
    for i in reversed(range(2, 7)):
        if i in window:
            variance += 2.0 * (factor * (step(i, zero, one) - step(i, zero, zero))) ** 2
        factor *= step(i, one, zero) - step(i, zero, zero)
    moved = ends.redrawn[0] - ends.unchanged
    assert float(moved.var()) == pytest.approx(variance, rel=6 * math.sqrt(2 / 20_000))
    assert float(moved.mean()) == pytest.approx(0.0, abs=5 * math.sqrt(variance / 20_000))


@pytest.mark.parametrize(
    "window", [range(6, 9), range(-1, 2), range(3, 3), range(4, 2), range(0, 6, 2), [1, 2], (1, 3)], ids=str
)
def test_windows_outside_the_schedule(window):
    with pytest.raises(ValueError, match=r"consecutive steps within 0..7 for this grid of 8 levels, got"):
        endpoints([range(0, 2), window])


def test_other_bad_arguments():
    with pytest.raises(ValueError, match="count"):
        endpoints([range(0, 2)], count=0)
    with pytest.raises(ValueError, match="batch_size"):
        endpoints([range(0, 2)], batch_size=0)
    with pytest.raises(ValueError, match="sigmas must be strictly decreasing"):
        Sampler(NEURAL, (1.0, 2.0), euler_maruyama_step)
    with pytest.raises(ValueError, match="number of sigmas must be at least 2"):
        Sampler(NEURAL, (1.0,), euler_maruyama_step)
