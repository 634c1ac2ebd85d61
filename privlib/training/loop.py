"""Training of a denoiser: the denoising loss, and what is measured on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from privlib.data.images import ImageSet
from privlib.denoisers.neural import NeuralDenoiser, UNetConfig, build_unet
from privlib.training.batches import draw_batch
from privlib.training.recipes import Recipe
from privlib.training.resumable import Progress, Stage, fit

#: Noise levels at which the held-out loss is written down.
HELD_OUT_SIGMAS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True)
class Trained:
    """What a run leaves: the averaged denoiser, images seen, and the held-out loss at each noise level."""

    denoiser: NeuralDenoiser
    images: int
    held_out: dict[float, float]


def denoising_loss(denoiser: Callable, images: torch.Tensor, sigma: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    r"""Squared error times :math:`(\sigma^2 + \sigma_d^2) / (\sigma \sigma_d)^2`, the loss of Karras et al. (2022).

    Returns:
        scalar, mean over images and pixels.
    """
    data = denoiser.config.sigma_data
    level = sigma.reshape(-1, 1, 1, 1)
    weight = (level**2 + data**2) / (level * data) ** 2
    return (weight * (denoiser(images + level * noise, sigma) - images) ** 2).mean()


@torch.no_grad()
def held_out_loss(denoiser: Callable, data: ImageSet, *, count: int = 512, batch_size: int = 128) -> dict[float, float]:
    """Mean squared error for each pixel at the levels ``HELD_OUT_SIGMAS``, on the same images and noise every time."""
    data = data.draw(min(count, len(data)), seed=0)
    images = data.unit()
    noise = torch.randn(images.shape, generator=torch.Generator().manual_seed(0))
    losses = {}
    for sigma in HELD_OUT_SIGMAS:
        errors = [
            (denoiser(x + sigma * z, sigma) - x).square().sum(dtype=torch.float64)
            for x, z in zip(images.split(batch_size), noise.split(batch_size), strict=True)
        ]
        losses[sigma] = float(sum(errors)) / images.numel()
    return losses


def train(
    recipe: Recipe,
    data: ImageSet,
    held_out: ImageSet,
    folder: Path,
    *,
    config: UNetConfig | None = None,
    initial: NeuralDenoiser | None = None,
    device: str | torch.device = "cpu",
    save_every: int = 10_000,
    progress: Progress = lambda images, loss, held_out: None,
) -> Trained:
    """Train, or go on from the last checkpoint in ``folder`` (see ``fit``); interruptions leave no trace.

    Args:
        recipe: the run.
        data: training images.
        held_out: images for the held-out loss; nothing is chosen by it.
        folder: where ``state.pt`` and ``log.jsonl`` are kept.
        config: the network, fresh weights from ``recipe.seed``; by default a ``UNetConfig`` with the channels of the
            recipe and the root mean square of the data. Ignored where ``initial`` is given.
        initial: denoiser to start from.
        device: where to train.
        save_every: images between checkpoints and held-out losses.
        progress: called after every step with images seen, the loss, and the held-out losses where they were taken.

    Returns:
        the averaged denoiser in evaluation mode, on the CPU.

    Raises:
        ValueError: a checkpoint in ``folder`` from another recipe or other data.
    """
    torch.manual_seed(recipe.seed)
    if initial is not None:
        config = initial.config
    elif config is None:
        rms = data.unit().square().mean(dtype=torch.float64).sqrt()
        channels = recipe.channels or UNetConfig.channels
        config = UNetConfig(data.image_shape, channels=channels, sigma_data=round(float(rms), 4))
    denoiser = NeuralDenoiser(build_unet(config), config)
    if initial is not None:
        denoiser.load_state_dict(initial.state_dict())

    def loss_of(current: NeuralDenoiser, step: int) -> torch.Tensor:
        batch, sigma, noise = (part.to(device) for part in draw_batch(data.pixels, recipe, step))
        return denoising_loss(current, batch, sigma, noise)

    def measure(average: NeuralDenoiser) -> dict[float, float]:
        return held_out_loss(average, held_out)

    stage = Stage(
        recipe.total_images,
        recipe.batch_size,
        recipe.learning_rate,
        recipe.warmup_images,
        recipe.decay_fraction,
        recipe.ema_halflife,
        save_every,
        recipe.seed,
    )
    key = [recipe.to_dict(), config.to_dict(), data.sha256]
    average = fit(denoiser, loss_of, stage, folder, key=key, device=device, measure=measure, progress=progress)
    return Trained(average, math.ceil(stage.total_images / stage.batch_size) * stage.batch_size, measure(average))
