"""Contrastive training of a model of images and captions, with checkpoints that survive an interruption."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch.nn.functional import affine_grid, cross_entropy, grid_sample, normalize

from privlib.data.images import ImageSet
from privlib.data.recolour import draw_colours, recolour
from privlib.files import replace_file
from privlib.training.resumable import Progress, read_state, write_log


@dataclass(frozen=True)
class ContrastiveRecipe:
    """One run; a run is a function of its recipe and its data.

    Attributes:
        total_images: images seen, with repetition.
        batch_size: pairs in a step; every caption of the batch is a candidate for every image.
        learning_rate: of AdamW, reached after ``warmup_images``, then along a half cosine to zero.
        weight_decay: of AdamW, on matrices only.
        bare: fraction of captions that are cut down to the name, so that style and colours do not give all away.
        zoom, turn, shift: largest change of scale (a fraction), angle (degrees) and place (a fraction of the side).
        seed: of the weights, the order of the images, their changes, colours and captions.
    """

    total_images: int = 100_000
    batch_size: int = 128
    learning_rate: float = 1e-3
    warmup_images: int = 8_000
    weight_decay: float = 0.2
    bare: float = 0.4
    zoom: float = 0.15
    turn: float = 8.0
    shift: float = 0.08
    seed: int = 0

    def to_dict(self) -> dict[str, object]:
        """Plain values, as a model card stores them."""
        return asdict(self)


def contrastive_loss(images: torch.Tensor, texts: torch.Tensor, scale: torch.Tensor, same: torch.Tensor):
    r"""Symmetric cross-entropy of the scaled cosines between images and texts of a batch.

    .. math:: -\frac12 \sum_{ij} \Bigl(\frac{S_{ij}}{\sum_k S_{ik}} \log \mathrm{softmax}_j(\tau \cos(f_i, t_j))
        + \frac{S_{ij}}{\sum_k S_{kj}} \log \mathrm{softmax}_i(\tau \cos(f_i, t_j))\Bigr) / n

    With S the identity this is the loss of Radford et al. (2021). Two images can have the same caption; then either
    text is right for both.

    Args:
        images, texts: embeddings, shape (n, d).
        scale: the factor tau, a scalar.
        same: the matrix S, shape (n, n): whether two captions read the same.
    """
    logits = scale * normalize(images, dim=1) @ normalize(texts, dim=1).T
    targets = same.to(logits.dtype)
    targets = targets / targets.sum(1, keepdim=True)
    return 0.5 * (cross_entropy(logits, targets) + cross_entropy(logits.T, targets))


def move_about(
    pixels: torch.Tensor, recipe: ContrastiveRecipe, *, side: int, generator: torch.Generator
) -> torch.Tensor:
    """Images (n, channels, height, width), turned, scaled and moved at random and brought to ``side``, bilinear."""
    count = len(pixels)
    zoom, turn, *shift = (2 * torch.rand(4, count, generator=generator) - 1).unbind()
    angle, factor = turn * math.radians(recipe.turn), 1 + zoom * recipe.zoom
    rows = [
        torch.stack([factor * angle.cos(), -factor * angle.sin(), 2 * recipe.shift * shift[0]], dim=1),
        torch.stack([factor * angle.sin(), factor * angle.cos(), 2 * recipe.shift * shift[1]], dim=1),
    ]
    grid = affine_grid(torch.stack(rows, dim=1), [count, pixels.shape[1], side, side], align_corners=False)
    return grid_sample(pixels, grid, mode="bilinear", padding_mode="border", align_corners=False)


def bare_name(caption: str) -> str:
    """The name in a caption: "sword" of "game icon of sword, white on dark blue"."""
    return caption.partition(" of ")[2].partition(", ")[0]


def draw_pairs(
    pictures: ImageSet, glyphs: ImageSet, recipe: ContrastiveRecipe, step: int, *, side: int
) -> tuple[torch.Tensor, list[str]]:
    """The images of one step on the scale [0, 1], shape (batch, 3, side, side), and their captions.

    Glyphs get other colours each time. An epoch is a permutation, so that every image is seen equally often; what
    comes out depends on the seed and the step only.
    """

    def generator(stream: int) -> torch.Generator:
        return torch.Generator().manual_seed((recipe.seed * 1_000_003 + stream) % 2**32)

    count = len(pictures) + len(glyphs)
    positions = torch.arange(step * recipe.batch_size, (step + 1) * recipe.batch_size)
    orders = {
        epoch: torch.randperm(count, generator=generator(2**31 + epoch))
        for epoch in torch.unique(positions // count).tolist()
    }
    chosen = torch.tensor([int(orders[p // count][p % count]) for p in positions.tolist()])
    chance = generator(step)
    first = chosen[chosen < len(pictures)]
    second = chosen[chosen >= len(pictures)] - len(pictures)
    names, inks, grounds = draw_colours(len(second), generator=chance)
    coloured = recolour(glyphs.pixels[second], inks=inks, grounds=grounds)
    pixels = torch.cat([pictures.pixels[first], coloured]).to(torch.float32) / 255.0
    captions = [pictures.captions[i] for i in first.tolist()]
    captions += [f"{glyphs.captions[i]}, {name}" for i, name in zip(second.tolist(), names, strict=True)]
    bare = (torch.rand(len(captions), generator=chance) < recipe.bare).tolist()
    captions = [bare_name(caption) if cut else caption for caption, cut in zip(captions, bare, strict=True)]
    return move_about(pixels, recipe, side=side, generator=chance), captions


def same_text(texts: Sequence[str]) -> torch.Tensor:
    """Which texts read the same, bool, shape (n, n)."""
    ids = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    index = torch.tensor([ids[text] for text in texts])
    return index[:, None] == index


def learning_rate(recipe: ContrastiveRecipe, images: int) -> float:
    """Up along a straight line, then down along half a cosine, to zero at ``total_images``."""
    warm = min(images / recipe.warmup_images, 1.0)
    rest = max(images - recipe.warmup_images, 0) / max(recipe.total_images - recipe.warmup_images, 1)
    return recipe.learning_rate * warm * 0.5 * (1 + math.cos(math.pi * min(rest, 1.0)))


def train_contrastive(
    model: torch.nn.Module,
    tokenizer: Callable[[list[str]], torch.Tensor],
    pictures: ImageSet,
    glyphs: ImageSet,
    recipe: ContrastiveRecipe,
    folder: Path,
    *,
    normalisation: tuple[Sequence[float], Sequence[float]],
    side: int,
    save_every: int = 20_000,
    evaluate: Callable[[], dict[str, float]] = dict,
    progress: Progress = lambda images, loss, measured: None,
) -> int:
    """Train ``model`` in place, or go on from the checkpoint in ``folder``; an interruption leaves no trace.

    Args:
        model: an ``open_clip.CLIP`` whose fresh weights depend on ``recipe.seed``; left in evaluation mode.
        tokenizer: list of texts to tokens, int64, shape (n, context).
        pictures: images in colour with captions.
        glyphs: masks with captions, shown in colours that the captions then name.
        recipe: the run.
        folder: where ``state.pt`` and ``log.jsonl`` are kept.
        normalisation: mean and deviation of each channel on the scale [0, 1], as the model declares them.
        side: of the model's input.
        save_every: images between checkpoints.
        evaluate: called at each checkpoint, with the model in evaluation mode; what it returns is logged. Nothing is
            chosen by it.
        progress: called after every step with images seen, the loss, and what ``evaluate`` gave where it was called.

    Returns:
        images seen.

    Raises:
        ValueError: a checkpoint in ``folder`` from another recipe or other data.

    Cost: about 3 ms an image on one core for the shipped model.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mean, std = (torch.tensor(values).reshape(1, 3, 1, 1) for values in normalisation)
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-6)
    key = json.dumps([recipe.to_dict(), pictures.sha256, glyphs.sha256], sort_keys=True)
    state_file, step = folder / "state.pt", 0
    if state := read_state(state_file, key):
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    model.train()
    images = step * recipe.batch_size
    while images < recipe.total_images:
        pixels, captions = draw_pairs(pictures, glyphs, recipe, step, side=side)
        pixels = ((pixels - mean) / std).contiguous(memory_format=torch.channels_last)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(recipe, images + recipe.batch_size)
        scale = model.logit_scale.exp()
        embedded = model.encode_image(pixels), model.encode_text(tokenizer(captions))
        loss = contrastive_loss(*embedded, scale, same_text(captions))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            # As in Radford et al. (2021): the factor stays at most 100.
            model.logit_scale.clamp_(max=math.log(100.0))
        step, images = step + 1, images + recipe.batch_size
        held_out = None
        if images % save_every < recipe.batch_size or images >= recipe.total_images:
            state = {"key": key, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            replace_file(state_file, functools.partial(torch.save, state))
            model.eval()
            held_out = evaluate()
            model.train()
            write_log(folder, images, loss.item(), held_out)
        progress(images, loss.item(), held_out)
    model.eval()
    return images
