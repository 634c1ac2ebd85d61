"""Textual Inversion of many pictures side by side: one vector each, one frozen model, no exchange between rows.

Row i follows the gradient of its own loss by its own Adam, from the same public start; what it draws depends on its own
pixels (``draws``). So a vector is a function of its picture, the public settings and the model, whatever else is in the
batch, and bounding the vectors bounds what a picture can do to their sum. Batches all have one shape, the last filled
up with copies whose results are dropped: then the arithmetic of a row does not depend on how many there are either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from privlib.inversion.checkpoints import Checkpoint, read_checkpoint, write_checkpoint
from privlib.inversion.draws import Draw, draw, picture_keys
from privlib.inversion.model import FrozenModel, Prompts
from privlib.numerics import check_count, check_positive
from privlib.source import code_checksum

#: Adam's decay rates and its floor of the root mean square (Kingma and Ba 2015).
_DECAYS, _FLOOR = (0.9, 0.999), 1e-8


@dataclass(frozen=True)
class Settings:
    """Public settings of Textual Inversion.

    Attributes:
        templates: prompts with one ``{}`` each, drawn uniformly at each step.
        initial_word: public word whose embedding every vector starts from, one token.
        placeholder: name of the new token; the vocabulary must not have it.
        steps: of Adam, at least 1.
        learning_rate: of Adam, positive.
        batch_size: pictures that are optimized side by side, at least 1; bounded by memory.
        noisiest: share of the time steps that are drawn, the noisiest ones, above 0 and at most 1. Where there is much
            noise the network decides on colours and layout, which make a style, and the loss tells most of them.
        seed: of templates, times and noise, in 0..2^64 - 1.
    """

    templates: tuple[str, ...]
    initial_word: str
    placeholder: str = "<style>"
    steps: int = 200
    learning_rate: float = 0.005
    batch_size: int = 16
    noisiest: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "templates", tuple(self.templates))
        for name, minimum in (("steps", 1), ("batch_size", 1), ("seed", 0)):
            object.__setattr__(self, name, check_count(getattr(self, name), name, minimum))
        object.__setattr__(self, "learning_rate", check_positive("learning_rate", self.learning_rate))
        if not 0.0 < self.noisiest <= 1.0:
            raise ValueError(f"noisiest must lie above 0 and up to 1, got {self.noisiest}")


@dataclass(frozen=True)
class Inverted:
    """The vectors of all pictures. Private: only a noisy aggregate of them may be shown where the pictures may not.

    Attributes:
        vectors: shape (n, dimension), float32 or the model's wider dtype, on the CPU.
        initial: where each started, shape (dimension,).
        losses: of each picture at each step, shape (n, steps).
    """

    vectors: torch.Tensor = field(repr=False)
    initial: torch.Tensor = field(repr=False)
    losses: torch.Tensor = field(repr=False)

    @property
    def norms(self) -> torch.Tensor:
        """L2 norm of each vector, shape (n,)."""
        return self.vectors.to(torch.float64).norm(dim=1)


def row_gradients(
    model: FrozenModel, prompts: Prompts, latents: torch.Tensor, drawn: Draw, vectors: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradient of each row's loss in its own vector, and the losses; shapes (n, dimension) and (n,).

    Args:
        model: frozen.
        prompts: templates.
        latents: shape (n, *latent).
        drawn: template, time and noise of each row.
        vectors: shape (n, dimension).
    """
    leaf = vectors.detach().requires_grad_(True)
    device, dtype = model.device, model.dtype
    chosen = drawn.templates.to(device)
    hidden = model.encode_text(prompts.ids[chosen], prompts.places[chosen], leaf)
    losses = model.losses(latents, drawn.noise.to(device, dtype), drawn.times.to(device), hidden)
    # Rows share no path, so the gradient of the sum holds the gradient of each.
    (gradients,) = torch.autograd.grad(losses.sum(), leaf)
    return gradients, losses.detach()


def batch_gradients(
    model: FrozenModel,
    prompts: Prompts,
    latents: torch.Tensor,
    keys: Sequence[str],
    rows: Sequence[int],
    vectors: torch.Tensor,
    *,
    step: int,
    settings: Settings,
) -> tuple[torch.Tensor, torch.Tensor]:
    """``row_gradients`` of some pictures with their own draws, in a batch that always has ``settings.batch_size`` rows.

    A batch of another shape takes other paths through the arithmetic, so that the rounding of a picture's gradient
    would depend on how many others there are. Rows that are missing are filled up with the first.

    Args:
        model: frozen.
        prompts: templates.
        latents: of all pictures.
        keys: of all pictures, see ``draws.picture_keys``.
        rows: pictures of the batch, 1 to ``batch_size`` of them.
        vectors: of these pictures, shape (len(rows), dimension).
        step: of the optimization.
        settings: public.
    """
    filled = list(range(len(rows))) + [0] * (settings.batch_size - len(rows))
    chosen = [rows[place] for place in filled]
    drawn = draw(
        [keys[row] for row in chosen],
        step,
        seed=settings.seed,
        num_templates=len(prompts),
        num_times=model.num_times,
        first_time=min(model.num_times - 1, round((1.0 - settings.noisiest) * model.num_times)),
        shape=tuple(latents.shape[1:]),
    )
    gradients, losses = row_gradients(model, prompts, latents[chosen], drawn, vectors[filled])
    return gradients[: len(rows)], losses[: len(rows)]


def adam_step(
    vectors: torch.Tensor,
    gradients: torch.Tensor,
    moments: tuple[torch.Tensor, torch.Tensor],
    step: int,
    learning_rate: float,
) -> torch.Tensor:
    """Vectors after step number ``step`` (from 0) of Adam; each entry for itself. ``moments`` are changed in place."""
    mean, square = moments
    mean.lerp_(gradients, 1.0 - _DECAYS[0])
    square.lerp_(gradients.square(), 1.0 - _DECAYS[1])
    unbiased = mean / (1.0 - _DECAYS[0] ** (step + 1))
    scale = (square / (1.0 - _DECAYS[1] ** (step + 1))).sqrt()
    return vectors - learning_rate * unbiased / (scale + _FLOOR)


def key_of(model: FrozenModel, images: torch.Tensor, settings: Settings) -> str:
    """All that the vectors depend on, as text: settings, pictures, weights, and the code that learns them."""
    code = code_checksum("inversion", "data/images.py")
    return json.dumps([asdict(settings), picture_keys(images), model.fingerprint(), code, torch.__version__])


def invert(
    model: FrozenModel,
    images: torch.Tensor,
    settings: Settings,
    *,
    folder: Path | None = None,
    save_every: int = 50,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Inverted:
    """One vector for each picture; time is that of ``steps * ceil(n / batch_size)`` gradients of a batch.

    Args:
        model: frozen.
        images: unit scale, shape (n, 3, side, side), side = ``model.image_side``.
        settings: public.
        folder: where ``inversion.safetensors`` is kept, from which an interrupted run goes on; its result does not
            depend on interruptions. The file is as private as the pictures. None keeps nothing.
        save_every: steps of a batch between two writings.
        progress: called with steps done and steps in all, counted over all batches.

    Raises:
        ValueError: a setting or pictures that do not fit the model, or a checkpoint of another run.
    """
    check_count(save_every, "save_every")
    prompts = model.prompts(settings.templates, settings.placeholder)
    keys = picture_keys(images)
    latents = model.encode_images(images, batch_size=settings.batch_size)
    initial = model.word_vector(settings.initial_word).to(torch.promote_types(model.dtype, torch.float32))
    count, size, steps = len(images), settings.batch_size, settings.steps
    batches = -(-count // size)

    vectors = initial.expand(count, -1).clone()
    losses = torch.zeros(count, steps)
    moments = torch.zeros(2, size, model.dimension, dtype=vectors.dtype, device=vectors.device)
    batch = step = 0
    file, key = None, ""
    if folder is not None:
        file = folder / "inversion.safetensors"
        key = key_of(model, images, settings)
        kept = read_checkpoint(file, key=key)
        if kept is not None:
            vectors, moments = kept.tensors["vectors"].to(vectors), kept.tensors["moments"].to(moments)
            losses, batch, step = kept.tensors["losses"], kept.place["batch"], kept.place["step"]

    def save() -> None:
        if file is not None:
            tensors = {"vectors": vectors, "moments": moments, "losses": losses}
            write_checkpoint(Checkpoint(tensors, {"batch": batch, "step": step}), file, key=key)

    while batch < batches:
        rows = list(range(batch * size, min(count, (batch + 1) * size)))
        filled = rows + [rows[0]] * (size - len(rows))  # for Adam, too, a batch has one shape
        current = vectors[filled]
        while step < steps:
            gradients, loss = batch_gradients(
                model, prompts, latents, keys, filled, current, step=step, settings=settings
            )
            current = adam_step(current, gradients, tuple(moments), step, settings.learning_rate)
            losses[rows, step] = loss[: len(rows)].float().cpu()
            step += 1
            if step < steps and step % save_every == 0:
                vectors[rows] = current[: len(rows)]
                save()
            progress(batch * steps + step, batches * steps)
        vectors[rows] = current[: len(rows)]
        moments.zero_()
        batch, step = batch + 1, 0
        save()
    return Inverted(vectors.cpu(), initial.cpu(), losses)
