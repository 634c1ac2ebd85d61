"""The observer that keeps a path."""

from __future__ import annotations

import torch

from privlib.samplers.hybrid import full_batch
from privlib.samplers.path import Plan, PublicTail
from privlib.samplers.steps import ANCESTRAL
from privlib.samplers.trajectory import Trajectory
from tests.samplers.oracles import GaussianData, ProvedSums

LEVELS = (4.0, 2.0, 1.0, 0.5)


def test_a_path_holds_every_state_and_estimate() -> None:
    private, public, path = ProvedSums(), GaussianData(), Trajectory()
    run = full_batch(private, Plan(LEVELS, 2, ANCESTRAL, tail=PublicTail(public)), count=3, seed=1, observe=path)
    assert path.sigmas == [4.0, 2.0, 1.0, 0.5]
    assert path.states.shape == path.denoised.shape == (4, 3, 2, 2)
    for i, denoiser in enumerate((private, private, public, public)):
        assert torch.equal(path.denoised[i], denoiser(path.states[i], LEVELS[i]))
    assert torch.equal(run.images, path.denoised[-1])


def test_changes_are_root_mean_squares_for_each_sample() -> None:
    path = Trajectory()
    first = torch.zeros(2, 1, 2)
    for denoised in (first, first + torch.tensor([3.0, 4.0]), first):
        path(0, 1.0, first, denoised)
    assert torch.allclose(path.changes(), torch.full((2, 2), 12.5**0.5))
