"""The training loop: denoising loss, AdamW, an average of the weights, checkpoints that survive an interruption."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from privlib.data.images import ImageSet
from privlib.denoisers.neural import NeuralDenoiser, UNetConfig, build_unet
from privlib.training.batches import draw_batch
from privlib.training.recipes import Recipe

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


def learning_rate(recipe: Recipe, images: int) -> float:
    """Straight up over the warm-up, constant, straight down to zero over the last ``decay_fraction`` of the run."""
    left = (recipe.total_images - images) / (recipe.decay_fraction * recipe.total_images)
    return recipe.learning_rate * max(0.0, min(1.0, images / recipe.warmup_images, left))


def _replace_file(path: Path, write: Callable[[Path], None]) -> None:
    """Write beside ``path``, then rename: a reader sees the old file or the new one, never half of one."""
    part = path.with_name(path.name + ".part")
    write(part)
    os.replace(part, path)


@contextlib.contextmanager
def _autocast(device: torch.device) -> Iterator[None]:
    with torch.autocast(device.type, torch.bfloat16):
        yield


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
    progress: Callable[[int, float, dict[float, float] | None], None] = lambda images, loss, held_out: None,
) -> Trained:
    """Train, or go on from the last checkpoint in ``folder``; the result does not depend on interruptions.

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
    folder.mkdir(parents=True, exist_ok=True)
    device = torch.device(device)
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
    denoiser.to(device).train()
    average = NeuralDenoiser(build_unet(config), config).to(device).eval().requires_grad_(False)
    average.load_state_dict(denoiser.state_dict())
    optimizer = torch.optim.AdamW(denoiser.parameters(), lr=0.0, betas=(0.9, 0.99), weight_decay=0.01)

    key = json.dumps([recipe.to_dict(), config.to_dict(), data.sha256], sort_keys=True)
    state_file, step = folder / "state.pt", 0
    if state_file.exists():
        state = torch.load(state_file, weights_only=True, map_location=device)
        if state["key"] != key:
            raise ValueError(f"{state_file} belongs to another recipe or other data; train in another folder")
        denoiser.load_state_dict(state["denoiser"])
        average.load_state_dict(state["average"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]

    def save() -> None:
        state = {
            "key": key,
            "denoiser": denoiser.state_dict(),
            "average": average.state_dict(),
            "optimizer": optimizer.state_dict(),
            "step": step,
        }
        _replace_file(state_file, lambda path: torch.save(state, path))

    images, losses = step * recipe.batch_size, None
    while images < recipe.total_images:
        batch, sigma, noise = (part.to(device) for part in draw_batch(data.pixels, recipe, step))
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(recipe, images + recipe.batch_size)
        with _autocast(device):
            loss = denoising_loss(denoiser, batch, sigma, noise)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(denoiser.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, images = step + 1, images + recipe.batch_size
        halflife = min(recipe.ema_halflife, 0.05 * images)
        weight = 1.0 - 0.5 ** (recipe.batch_size / halflife)
        with torch.no_grad():
            for kept, current in zip(average.parameters(), denoiser.parameters(), strict=True):
                kept.lerp_(current, weight)
        losses = None
        if images % save_every < recipe.batch_size or images >= recipe.total_images:
            save()
            losses = held_out_loss(average.to("cpu"), held_out)
            average.to(device)
            with (folder / "log.jsonl").open("a") as log:
                log.write(json.dumps({"images": images, "loss": loss.item(), "held_out": losses}) + "\n")
        progress(images, loss.item(), losses)
    average.to("cpu")
    return Trained(average, images, losses or held_out_loss(average, held_out))
