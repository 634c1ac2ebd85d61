r"""Was an image trained on? Three errors of a denoiser, smaller for images it has seen than for others.

*t-error* (Duan et al. 2023, SecMI). Walk up without noise to level t (``chain.walk_up``), one step further to t' and
back. With :math:`\epsilon = \epsilon(x_t, \sigma_t)` and
:math:`x_{t'} = x_t + (\sigma_{t'} - \sigma_t)\epsilon`, the way back ends at
:math:`x_{t'} + (\sigma_t - \sigma_{t'})\,\epsilon(x_{t'}, \sigma_{t'})`, so the error is

.. math:: (\sigma_{t'} - \sigma_t)^2\,\lVert \epsilon(x_t, \sigma_t) - \epsilon(x_{t'}, \sigma_{t'}) \rVert^2 :

how much the predicted noise changes along one step. The attack's own units multiply it by
:math:`\bar\alpha_t = 1 / (1 + \sigma_t^2)`, the same number for every image, which no threshold feels. The second
prediction is the one that the walk makes next anyway, so all levels cost one evaluation each.

*Proximal error* (Kong et al. 2024, PIA). The denoiser's own noise at the first level,
:math:`\epsilon_0 = \epsilon(x_0, \sigma_0)`, takes the place of random noise:

.. math:: \lVert \epsilon_0 - \epsilon(x_0 + \sigma_t \epsilon_0, \sigma_t) \rVert_4^4 .

Their state :math:`\sqrt{\bar\alpha_t} x_0 + \sqrt{1 - \bar\alpha_t} \epsilon_0` is this one in the other units. Their
second variant, which scales :math:`\epsilon_0` first, is left out.

*Denoising error* (Matsumoto et al. 2023; Carlini et al. 2023). The training loss at a level, averaged over noise:

.. math:: \mathbb{E}_n \lVert n - \epsilon(x_0 + \sigma_t n, \sigma_t) \rVert^2 .

What is assumed: the attacker calls the denoiser at any state and level, and knows nothing else of it. None of these
statistics is optimal; a small error of all of them proves nothing about privacy.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn.functional import adaptive_avg_pool2d

from privlib.attacks.chain import Denoiser, chain_steps, ddpm_sigmas, predicted_noise, walk_up
from privlib.data.images import check_unit_images
from privlib.denoisers.threads import on_threads
from privlib.numerics import check_count
from privlib.samplers.noise import Purpose, SampleNoise

#: The statistics by the names that tables use.
T_ERROR, PROXIMAL, DENOISING = "t-error", "proximal error", "denoising error"

#: Side of the maps that error images are summed up to.
MAP_SIDE = 8


@torch.no_grad()
def error_maps(
    denoiser: Denoiser,
    images: torch.Tensor,
    *,
    stops: Sequence[float],
    interval: int,
    draws: int,
    seed: int,
    batch_size: int = 100,
    device: torch.device | str = "cpu",
) -> dict[str, torch.Tensor]:
    """All three errors at several stops of the chain of 1,000 steps; the result does not depend on the batch size.

    Args:
        denoiser: what is attacked, on ``device``.
        images: clean images on the unit scale, shape (n, channels, height, width).
        stops: shares of the chain, see ``chain.chain_steps``; 0.1 is the choice of Duan et al.
        interval: steps of the chain in one step of the walk; Duan et al. take 10.
        draws: noise draws of the denoising error, at least 1.
        seed: of that noise.
        batch_size: images at once.
        device: where the denoiser runs; on the CPU the batches are shared out among torch's threads.

    Returns:
        for each name a float32 tensor of shape (n, stops, side, side) on the CPU: errors summed over channels and over
        squares of pixels, side at most ``MAP_SIDE``. The sum of a map is the statistic.

    Raises:
        ValueError: images off the unit scale, stops off the walk, a count out of range.

    Cost: evaluations of an image: at most ``max(stops) 1000 / interval + 2``, and ``1 + (1 + draws) len(stops)`` more.
    """
    images = check_unit_images(images)
    draws, batch_size = check_count(draws, "draws"), check_count(batch_size, "batch_size")
    steps, positions = chain_steps(stops, interval=interval)
    walk = ddpm_sigmas()[steps].tolist()
    levels = [walk[position] for position in positions]
    batches = [range(start, min(start + batch_size, len(images))) for start in range(0, len(images), batch_size)]

    def attack(batch: range) -> list[torch.Tensor]:
        x = images[batch.start : batch.stop].to(device)
        stream = SampleNoise(seed, batch, tuple(images.shape[1:]), device)
        noise = torch.stack([stream.normal(Purpose.INITIAL, draw).to(x.dtype) for draw in range(draws)])
        found = (
            step_errors(denoiser, x, walk, positions),
            proximal_errors(denoiser, x, levels, first_sigma=walk[0]),
            denoising_errors(denoiser, x, levels, noise),
        )
        return [maps.to("cpu", torch.float32) for maps in found]

    workers = min(torch.get_num_threads(), len(batches)) if torch.device(device).type == "cpu" else 1

    @torch.no_grad()
    def share(worker: int) -> list[list[torch.Tensor]]:
        return [attack(batch) for batch in batches[worker::workers]]

    shares = on_threads(share, workers)
    done = [shares[index % workers][index // workers] for index in range(len(batches))]
    return {
        name: torch.cat([maps[place] for maps in done]) for place, name in enumerate((T_ERROR, PROXIMAL, DENOISING))
    }


def step_errors(
    denoiser: Denoiser, images: torch.Tensor, sigmas: Sequence[float], positions: Sequence[int]
) -> torch.Tensor:
    """Maps of the t-error, see ``error_maps``; one evaluation for each level of ``sigmas``.

    Args:
        denoiser: what is attacked.
        images: on the unit scale, shape (n, channels, height, width).
        sigmas: rising levels of the walk.
        positions: where on it to take the error, each below ``len(sigmas) - 1``.
    """
    maps, before = {}, None
    for index, (_, noise) in enumerate(walk_up(denoiser, images, sigmas)):
        if index - 1 in positions:
            maps[index - 1] = _pooled(((sigmas[index] - sigmas[index - 1]) * (noise - before)).square())
        before = noise
    return torch.stack([maps[position] for position in positions], dim=1)


def proximal_errors(
    denoiser: Denoiser, images: torch.Tensor, sigmas: Sequence[float], *, first_sigma: float
) -> torch.Tensor:
    """Maps of the proximal error at each of ``sigmas``, see ``error_maps``; one evaluation more than levels.

    Args:
        denoiser: what is attacked.
        images: on the unit scale, shape (n, channels, height, width).
        sigmas: levels.
        first_sigma: level that stands for the clean end of the chain, where the denoiser's own noise is asked for.
    """
    own = predicted_noise(denoiser, images, first_sigma)
    return torch.stack(
        [_pooled((own - predicted_noise(denoiser, images + sigma * own, sigma)).pow(4)) for sigma in sigmas], dim=1
    )


def denoising_errors(
    denoiser: Denoiser, images: torch.Tensor, sigmas: Sequence[float], noise: torch.Tensor
) -> torch.Tensor:
    """Maps of the denoising error at each of ``sigmas``, see ``error_maps``; an evaluation for each level and draw.

    Args:
        denoiser: what is attacked.
        images: on the unit scale, shape (n, channels, height, width).
        sigmas: levels.
        noise: standard Gaussian, shape (draws, n, channels, height, width); the same at every level.
    """
    return torch.stack(
        [
            torch.stack(
                [_pooled((z - predicted_noise(denoiser, images + sigma * z, sigma)).square()) for z in noise]
            ).mean(0)
            for sigma in sigmas
        ],
        dim=1,
    )


def _pooled(errors: torch.Tensor) -> torch.Tensor:
    """Sums over channels and over squares of pixels: (n, side, side), whose total is that of ``errors``."""
    side = min(MAP_SIDE, *errors.shape[-2:])
    cells = errors.shape[-1] * errors.shape[-2] / side**2
    return adaptive_avg_pool2d(errors.sum(1), side) * cells
