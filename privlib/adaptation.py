"""One private set under many guarantees: a grid of sample sizes and epsilons, each cell a release of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from privlib.accounting.noise_table import noise_table
from privlib.aggregation import NoisyAggregate
from privlib.inversion.aggregate import release_aggregate


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
    """Releases at every sample size and epsilon, for study: they are of the same pictures, so their losses add up.

    Releases of one seed and sample size share who takes part and the direction of the noise, so that along a row of the
    grid only its length changes.

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
