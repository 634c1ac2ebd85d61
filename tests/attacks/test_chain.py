"""The walk up, against the chain's own units and a network library's schedulers."""

import pytest
import torch
from diffusers import DDIMScheduler, DDPMScheduler

from privlib.attacks.chain import chain_steps, ddpm_sigmas, predicted_noise, walk_up
from privlib.denoisers.gaussian import GaussianDenoiser


def test_levels_are_those_of_the_published_chain():
    kept = DDPMScheduler(num_train_timesteps=1000, beta_start=1e-4, beta_end=0.02).alphas_cumprod
    assert torch.allclose(ddpm_sigmas(), (1 / kept.double() - 1).sqrt(), rtol=1e-4)
    assert float(ddpm_sigmas()[0]) == pytest.approx((1 / 0.9999 - 1) ** 0.5, rel=1e-9)
    assert bool((ddpm_sigmas().diff() > 0).all())


def test_a_step_of_the_walk_is_the_deterministic_step_of_a_scheduler():
    """diffusers steps down only; what the walk goes up, the scheduler must bring back with the same prediction."""
    scheduler = DDIMScheduler(num_train_timesteps=1000, beta_start=1e-4, beta_end=0.02, clip_sample=False)
    scheduler.set_timesteps(20)
    sigmas = ddpm_sigmas()[[250, 300]].tolist()
    covariance = torch.diag(torch.linspace(0.1, 1.0, 48, dtype=torch.float64))
    denoiser = GaussianDenoiser(torch.full((3, 4, 4), 0.3), covariance)
    start = torch.randn(2, 3, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    (x, noise), (further, _) = walk_up(denoiser, start, sigmas)
    scale = [(1 + sigma**2) ** -0.5 for sigma in sigmas]
    back = scheduler.step(noise, 300, scale[1] * further).prev_sample
    assert torch.allclose(back, scale[0] * x, rtol=1e-4, atol=1e-5)


def test_noise_is_what_the_denoiser_takes_away():
    denoiser = GaussianDenoiser(torch.zeros(1, 2, 2), torch.eye(4))
    x = torch.ones(1, 1, 2, 2, dtype=torch.float64)
    assert torch.allclose(predicted_noise(denoiser, x, 2.0), x * 2.0 / 5.0)


def test_stops_stand_on_the_walk_and_the_last_one_step_before_the_end():
    steps, positions = chain_steps([0.1, 0.25, 1.0], interval=50)
    assert steps == [*range(0, 1000, 50), 999]
    assert [steps[position] for position in positions] == [100, 250, 950]
    assert chain_steps([0.1], interval=50)[0] == [0, 50, 100, 150]


@pytest.mark.parametrize(
    ("stops", "interval", "message"),
    [
        ([0.12], 50, "multiples of 0.05"),
        ([0.0], 50, r"in \(0, 1\], got 0.0"),
        ([1.05], 50, r"in \(0, 1\], got 1.05"),
        ([0.5], 30, "interval must divide"),
        ([0.5], 1000, "interval must divide"),
    ],
)
def test_stops_off_the_walk_are_refused(stops, interval, message):
    with pytest.raises(ValueError, match=message):
        chain_steps(stops, interval=interval)
