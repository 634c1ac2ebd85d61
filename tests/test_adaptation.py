"""The grid of releases: each cell is the release that its mechanism describes."""

import math

import numpy as np
import pytest
import torch

from privlib.accounting.aggregation import epsilon_interval
from privlib.adaptation import release_grid
from privlib.aggregation import NoisyAggregate, Sampling
from privlib.inversion.aggregate import release_aggregate


def test_cells_are_the_releases_of_their_mechanisms() -> None:
    vectors = torch.randn(6, 5, generator=torch.Generator().manual_seed(0)) + 1.0
    start = NoisyAggregate(6, 6, 2.0, 1.0, Sampling.POISSON)
    cells = release_grid(vectors, start, sample_sizes=[3, 6], epsilons=[math.inf, 5.0, 0.5], delta=1e-2, seeds=[3, 4])
    assert [(cell.mechanism.sample_size, cell.epsilon) for cell in cells] == [
        (m, epsilon) for m in (3, 6) for epsilon in (math.inf, 5.0, 0.5)
    ]
    for cell in cells:
        assert cell.words.shape == (2, 5)
        assert float(cell.words[1].norm()) == pytest.approx(2.0)
        rng = np.random.default_rng([4, cell.mechanism.sample_size])
        direct = release_aggregate(vectors, cell.mechanism, rng=rng).vector
        assert torch.allclose(cell.words[1], 2.0 * direct / direct.norm())
        if cell.epsilon < math.inf:
            assert epsilon_interval(cell.mechanism, 1e-2).upper <= cell.epsilon
    everyone = [cell for cell in cells if cell.mechanism.sample_size == 6]
    assert everyone[0].mechanism.sampling is Sampling.ALL and everyone[0].mechanism.noise_multiplier == 0.0
    turned = [float(torch.cosine_similarity(cell.words[1], everyone[0].words[1], dim=0)) for cell in everyone]
    assert turned[0] == pytest.approx(1.0) and turned[0] > turned[1] > turned[2]
