"""Releases for study: each is the one that its mechanism describes."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from privlib.accounting.aggregation import epsilon_interval
from privlib.accounting.dpsgd import calibrated_dpsgd
from privlib.adaptation import release_grid, shared_words
from privlib.aggregation import NoisyAggregate, Sampling
from privlib.baselines.dpsgd import train_shared
from privlib.inversion.aggregate import release_aggregate
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings
from privlib.mechanisms import SubsampledGaussian
from tests.inversion import tiny


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


def test_shared_words_are_runs_of_their_own(tmp_path) -> None:
    model, images = FrozenModel.from_pipeline(tiny.pipeline(tmp_path)), tiny.images(3)
    settings = Settings(tiny.TEMPLATES, tiny.WORD, steps=2, learning_rate=0.01, batch_size=3)
    run, seen = calibrated_dpsgd(1.0, 2, 3.0, 1e-2), []
    words = shared_words(
        model,
        images,
        settings,
        clip_norm=0.1,
        mechanism=run,
        norm=2.0,
        seeds=[7, 8],
        progress=lambda *now: seen.append(now),
    )
    assert words.shape == (2, tiny.WIDTH) and seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    alone = train_shared(
        model,
        images,
        replace(settings, seed=8),
        sample_size=3,
        clip_norm=0.1,
        mechanism=run,
        rng=np.random.default_rng(8),
    ).result.vector
    assert torch.allclose(words[1], 2.0 * alone / alone.norm()) and not torch.allclose(words[0], words[1])
    arguments = {"clip_norm": 0.1, "mechanism": run, "norm": 2.0, "folder": tmp_path / "kept"}
    assert torch.equal(shared_words(model, images, settings, seeds=[7, 8], **arguments), words)
    seen.clear()
    again = shared_words(model, images, settings, seeds=[8], progress=lambda *now: seen.append(now), **arguments)
    assert torch.equal(again, words[1:]) and not seen  # read, not run
    other = shared_words(model, images, settings, seeds=[8], **arguments | {"clip_norm": 0.2})
    assert not torch.allclose(other, again)
    with pytest.raises(ValueError, match="sampling probability 1, got 0.5"):
        shared_words(
            model, images, settings, clip_norm=0.1, mechanism=SubsampledGaussian(1.0, 0.5, 2), norm=2.0, seeds=[0]
        )
