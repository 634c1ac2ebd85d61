r"""One embedding for all pictures, trained by DP-SGD (Abadi et al. 2016), or by plain SGD where no noise is asked for.

At each step every picture takes part with probability ``q = m / n``, its gradient is clipped to norm C, and

.. math:: \bar g = \frac1m \Bigl(\sum_{i \in S} \mathrm{clip}_C(g_i) + z C\, \xi\Bigr),\qquad \xi \sim N(0, I),

feeds Adam; m is the public expected batch, not the number that was drawn. Adding or removing a picture moves the sum by
at most C, so the run is ``steps`` Poisson-subsampled Gaussians with ``gdp_mu = 1 / z``, composed; all iterates are
covered, Adam is post-processing.

Opacus
------
Opacus finds the gradient of each example by hooks on the layers that hold the trained parameters. Here the only
parameter is one vector that stands in a prompt, and giving each row of the batch a copy of it makes the gradient of the
copy the gradient of the example (``inversion.optimize.row_gradients``): exact, with no hook and no second
implementation of the model. The rest of Opacus, clipping and noise in ``DPOptimizer``, is a few lines, which the tests
hold against it; its accountants are held against ``accounting.certified``, which charges both methods alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from privlib.aggregation import Bound
from privlib.inversion.aggregate import bounded
from privlib.inversion.draws import picture_keys
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings, adam_step, batch_gradients
from privlib.inversion.releases import Release, Unprotected, noised
from privlib.mechanisms import SubsampledGaussian
from privlib.numerics import check_count, check_positive


@dataclass(frozen=True)
class Shared:
    """One embedding for all pictures.

    Attributes:
        result: the last iterate, a release where noise was added at each step.
        iterates: after each step, shape (steps, dimension), float32 or wider; as public as the result.
        losses: mean loss of the pictures that took part, shape (steps,), NaN where none did. Private: for study.
    """

    result: Release | Unprotected
    iterates: torch.Tensor = field(repr=False)
    losses: torch.Tensor = field(repr=False)


def noisy_gradient(
    gradients: torch.Tensor, clip_norm: float, noise_multiplier: float, expected: int, rng: np.random.Generator
) -> torch.Tensor:
    """Sum of clipped gradients with noise, over the public expected number; float64, shape (dimension,).

    Args:
        gradients: of the pictures that take part, shape (b, dimension), b from 0 up.
        clip_norm: C, positive; ``inf`` does not clip and allows no noise.
        noise_multiplier: z, not negative.
        expected: m, at least 1.
        rng: of the noise.
    """
    if math.isinf(clip_norm):
        if noise_multiplier > 0.0:
            raise ValueError("clip_norm must be finite where noise is added: what is not clipped has no sensitivity")
        return gradients.double().cpu().sum(0) / expected
    total = bounded(gradients, Bound.BALL, clip_norm).sum(0)
    if noise_multiplier > 0.0:
        total = total + noise_multiplier * clip_norm * torch.from_numpy(rng.standard_normal(len(total)))
    return total / expected


def start_gradient_norms(
    model: FrozenModel, images: torch.Tensor, settings: Settings, *, draws: int = 4
) -> torch.Tensor:
    """Norms of the gradients at the public start, by which a clip can be chosen on *public* pictures.

    Args:
        model, images, settings: as for ``train_shared``.
        draws: of templates, times and noise for each picture.

    Returns:
        float64, shape (draws, n).
    """
    prompts = model.prompts(settings.templates, settings.placeholder)
    keys, latents = picture_keys(images), model.encode_images(images, batch_size=settings.batch_size)
    start = model.word_vector(settings.initial_word).to(torch.promote_types(model.dtype, torch.float32))
    norms = torch.empty(check_count(draws, "draws"), len(images), dtype=torch.float64)
    for step in range(draws):
        for rows in torch.arange(len(images)).split(settings.batch_size):
            vectors = start.expand(len(rows), -1)
            found, _ = batch_gradients(
                model, prompts, latents, keys, rows.tolist(), vectors, step=step, settings=settings
            )
            norms[step, rows] = found.double().norm(dim=1).cpu()
    return norms


def train_shared(
    model: FrozenModel,
    images: torch.Tensor,
    settings: Settings,
    *,
    sample_size: int,
    clip_norm: float,
    mechanism: SubsampledGaussian | None,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Shared:
    """Train one embedding; time is that of ``steps`` gradients of about ``sample_size`` pictures.

    Args:
        model: frozen.
        images: unit scale, shape (n, 3, side, side).
        settings: as for ``inversion.invert``; ``batch_size`` is how many gradients are computed at once.
        sample_size: public expected number m of pictures in a step.
        clip_norm: C; ``inf`` for no clipping, without privacy only.
        mechanism: what the run is charged as: ``count`` is the number of steps, ``sampling_probability`` decides who
            takes part, ``1 / gdp_mu`` is the noise multiplier (see ``accounting.dpsgd``). None adds no noise, takes
            part in ``sample_size`` of n, and gives an ``Unprotected`` result.
        rng: of batches and noise; for a release ``numpy.random.default_rng()``.

    Raises:
        ValueError: settings that do not fit the model or the mechanism.
    """
    sample_size = check_count(sample_size, "sample_size")
    if not clip_norm == math.inf:
        check_positive("clip_norm", clip_norm)
    if mechanism is not None and mechanism.count != settings.steps:
        raise ValueError(f"steps must be the mechanism's count = {mechanism.count}, got {settings.steps}")
    if mechanism is not None and mechanism.gdp_mu == 0.0:
        raise ValueError("mechanism must have a positive gdp_mu, got 0: that noise would be infinite")
    probability = min(1.0, sample_size / len(images)) if mechanism is None else mechanism.sampling_probability
    multiplier = 0.0 if mechanism is None else 1.0 / mechanism.gdp_mu
    prompts = model.prompts(settings.templates, settings.placeholder)
    keys, latents = picture_keys(images), model.encode_images(images, batch_size=settings.batch_size)
    vector = model.word_vector(settings.initial_word).to(torch.promote_types(model.dtype, torch.float32))[None]
    moments = (torch.zeros_like(vector), torch.zeros_like(vector))
    iterates, losses = [], []
    for step in range(settings.steps):
        taking = np.flatnonzero(rng.random(len(images)) < probability)
        gradients, loss = [vector.new_zeros(0, model.dimension)], []
        for rows in np.split(taking, range(settings.batch_size, len(taking), settings.batch_size)):
            if len(rows) == 0:
                continue
            same = vector.expand(len(rows), -1)
            found, each = batch_gradients(
                model, prompts, latents, keys, rows.tolist(), same, step=step, settings=settings
            )
            gradients.append(found)
            loss.append(each)
        gradient = noisy_gradient(torch.cat(gradients), clip_norm, multiplier, sample_size, rng)
        vector = adam_step(vector, gradient.to(vector)[None], moments, step, settings.learning_rate)
        iterates.append(vector[0].cpu())
        losses.append(float(torch.cat(loss).mean()) if loss else math.nan)
        progress(step + 1, settings.steps)
    final = vector[0].double().cpu()
    result = Unprotected(final) if mechanism is None else noised(final, mechanism)
    return Shared(result, torch.stack(iterates), torch.tensor(losses))
