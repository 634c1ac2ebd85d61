"""Batches that depend on the seed and the step only, so that a run which was interrupted goes on as if it was not."""

from __future__ import annotations

import torch

from privlib.data.images import to_unit
from privlib.training.recipes import Recipe


def augment(images: torch.Tensor, recipe: Recipe, generator: torch.Generator) -> torch.Tensor:
    """Mirror and move images of shape (batch, channels, height, width) at random, each on its own."""
    batch, _, height, width = images.shape
    if recipe.flip:
        mirrored = torch.rand(batch, generator=generator) < 0.5
        images = torch.where(mirrored.reshape(-1, 1, 1, 1), images.flip(-1), images)
    if recipe.shift:
        moves = torch.randint(-recipe.shift, recipe.shift + 1, (2, batch, 1), generator=generator)
        rows = (torch.arange(height) + moves[0]).clamp(0, height - 1)
        columns = (torch.arange(width) + moves[1]).clamp(0, width - 1)
        images = images[torch.arange(batch)[:, None, None], :, rows[:, :, None], columns[:, None, :]]
        images = images.permute(0, 3, 1, 2)
    return images


def generator_of(recipe: Recipe, stream: int) -> torch.Generator:
    """A generator for one stream of a run. Torch's CPU generator looks at the lowest 32 bits of a seed only."""
    return torch.Generator().manual_seed((recipe.seed * 1_000_003 + stream) % 2**32)


def draw_batch(pixels: torch.Tensor, recipe: Recipe, step: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Images, noise levels and noise of one step, float32, shapes (batch, *image), (batch,), (batch, *image).

    An epoch is a permutation of the data, so that every image is seen equally often.
    """
    count = len(pixels)
    positions = torch.arange(step * recipe.batch_size, (step + 1) * recipe.batch_size)
    order = torch.empty_like(positions)
    for epoch in torch.unique(positions // count).tolist():
        here = positions // count == epoch
        permutation = torch.randperm(count, generator=generator_of(recipe, 2**31 + epoch))
        order[here] = permutation[positions[here] % count]
    generator = generator_of(recipe, step)
    images = augment(to_unit(pixels[order]), recipe, generator)
    log_sigma = recipe.p_mean + recipe.p_std * torch.randn(len(images), generator=generator)
    return images, log_sigma.exp(), torch.randn(images.shape, generator=generator)
