"""One private set under many guarantees, for study: releases of a grid of settings, and runs of DP-SGD beside them.

Everything here releases the same pictures many times; a guarantee is that of one release alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from privlib.accounting.noise_table import noise_table
from privlib.aggregation import NoisyAggregate
from privlib.baselines.dpsgd import train_shared
from privlib.inversion.aggregate import release_aggregate
from privlib.inversion.kept import kept_vector
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings, key_of
from privlib.mechanisms import SubsampledGaussian
from privlib.source import code_checksum


@dataclass(frozen=True)
class Cell:
    """Releases by one mechanism.

    Attributes:
        mechanism: calibrated to ``epsilon``; without noise where that is infinite.
        epsilon: the target, for each of the releases alone.
        words: the released vectors, brought to the bound's norm; float64, shape (releases, dimension).
    """

    mechanism: NoisyAggregate
    epsilon: float
    words: torch.Tensor = field(repr=False)


def release_grid(
    vectors: torch.Tensor,
    mechanism: NoisyAggregate,
    *,
    sample_sizes: Sequence[int],
    epsilons: Sequence[float],
    delta: float,
    seeds: Sequence[int],
) -> list[Cell]:
    """Releases at every sample size and epsilon, for study, of which at most one may be published.

    Releases of one seed and sample size share who takes part and the direction of the noise, so that along a row of the
    grid only its length changes. Two of them together give the mean away.

    Args:
        vectors: of the private pictures, shape (n, dimension).
        mechanism: gives all but sample size and noise; with m = n everybody takes part.
        sample_sizes: in 1..n.
        epsilons: targets, positive; ``inf`` is no noise.
        delta: in (0, 1).
        seeds: of sample and noise, one for each release of a cell.

    Returns:
        cells, sample sizes in the outer order.
    """
    rows = noise_table(
        mechanism,
        sample_sizes=sample_sizes,
        epsilons=epsilons,
        delta=delta,
        dimension=vectors.shape[1],
        centroid_norm=mechanism.norm,
    )
    cells = []
    for row in rows:
        generators = [np.random.default_rng([seed, row.mechanism.sample_size]) for seed in seeds]
        released = [release_aggregate(vectors, row.mechanism, rng=rng).scaled_to(mechanism.norm) for rng in generators]
        cells.append(Cell(row.mechanism, row.epsilon, torch.stack([result.vector for result in released])))
    return cells


def shared_words(
    model: FrozenModel,
    images: torch.Tensor,
    settings: Settings,
    *,
    clip_norm: float,
    mechanism: SubsampledGaussian | None,
    norm: float,
    seeds: Sequence[int],
    folder: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> torch.Tensor:
    """One embedding for all pictures, learned from all of them at every step, once for each seed.

    Args:
        model, images, settings, clip_norm: as for ``baselines.dpsgd.train_shared``; the seed of the settings is not
            used.
        mechanism: of a run, with sampling probability 1; None for one without privacy.
        norm: that each result is brought to, as the released means are.
        seeds: of the draws and of the noise, one for each run.
        folder: keeps the result of each run, named by all that it depends on; None keeps nothing. With known seeds
            these are no releases, and as private as the pictures.
        progress: called with steps done and steps in all, counted over all runs.

    Returns:
        float64, shape (runs, dimension).

    Raises:
        ValueError: as ``train_shared``, or a mechanism that samples.
    """
    if mechanism is not None and mechanism.sampling_probability != 1.0:
        raise ValueError(f"mechanism must have sampling probability 1, got {mechanism.sampling_probability}")
    code = code_checksum("baselines", "adaptation.py")

    def run(number: int, chosen: Settings) -> torch.Tensor:
        trained = train_shared(
            model,
            images,
            chosen,
            sample_size=len(images),
            clip_norm=clip_norm,
            mechanism=mechanism,
            rng=np.random.default_rng(chosen.seed),
            progress=lambda done, total: progress(number * total + done, len(seeds) * total),
        )
        return trained.result.scaled_to(norm).vector

    words = []
    for number, seed in enumerate(seeds):
        chosen = replace(settings, seed=seed)
        key = json.dumps([key_of(model, images, chosen), clip_norm, repr(mechanism), norm, code])
        words.append(kept_vector(folder, key, partial(run, number, chosen)))
    return torch.stack(words)
