"""Samplers with one mistake each, charged as if there were none: what an audit has to catch.

Each mistake is one that real implementations have made or that this project's proofs rule out by a single sentence.
None of these may be used for anything else.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from privlib.attacks.games import Build, Game, Neighbours
from privlib.attacks.likelihood import log_mixture, step_log_ratios
from privlib.denoisers.blocks import Blocks
from privlib.denoisers.clipped import Anchor, ClippedDenoiser
from privlib.mechanisms import block_mechanism
from privlib.samplers.noise import SampleNoise
from privlib.samplers.path import Plan, private_steps
from privlib.samplers.steps import PrivateStep
from privlib.samplers.subsampling import poisson_blocks
from privlib.samplers.trajectory import Trajectory
from privlib.types import Adjacency


def quiet(step: PrivateStep, factor: float) -> PrivateStep:
    """The step with its noise scaled by ``factor`` and its charge unchanged."""

    def update(x: torch.Tensor, denoised: torch.Tensor, t: float, s: float, *, noise: torch.Tensor) -> torch.Tensor:
        return step.update(x, denoised, t, s, noise=factor * noise)

    return replace(step, name=f"{step.name}, noise times {factor:g}", update=update)


class UnclippedDenoiser(ClippedDenoiser):
    """The clip is forgotten: contributions have any norm up to a thousand times what is charged."""

    def __init__(self, data: torch.Tensor, anchor: Anchor, *, public_weight: float, clip: float) -> None:
        super().__init__(data, anchor, public_weight=public_weight, clip=1e3 * clip)
        self._claimed = clip

    def sensitivity(self, sigma: float) -> float:
        return self._claimed


class PrivateNormalizerDenoiser:
    """Weights are normalized over the private records, so that a new record takes weight from all others.

    Each contribution is clipped to ``clip`` and the charge is ``clip``; for tiny data only.
    """

    def __init__(self, data: torch.Tensor, *, clip: float) -> None:
        self._rows, self._clip = data.flatten(1).to(torch.float64), clip
        self.num_records, self.image_shape = len(data), tuple(data.shape[1:])

    def sensitivity(self, sigma: float) -> float:
        return self._clip

    def __call__(self, x: torch.Tensor, sigma: float) -> torch.Tensor:
        points = x.flatten(1)
        weights = (torch.cdist(points, self._rows).square() / (-2.0 * sigma**2)).softmax(1)
        norms = weights * self._rows.norm(dim=1)
        weights = weights * (self._clip / norms.clamp(min=1e-300)).clamp(max=1.0)
        return (weights @ self._rows).reshape(x.shape)


def reused_block_game(
    name: str,
    build: Build,
    neighbours: Neighbours,
    plan: Plan,
    *,
    delta: float,
    sampling_probability: float,
    outputs: int,
) -> Game:
    """One block for all ``outputs`` of a release, charged as if each had a fresh one; ``neighbours.rest`` is empty."""
    private, q = build(neighbours.records(True)), sampling_probability
    levels = plan.sigmas[: plan.num_private_steps + 1]

    def play(present: bool, trials: int, seed: int) -> torch.Tensor:
        samples, last = trials * outputs, private.num_records - 1
        noise = SampleNoise(seed, range(samples), private.image_shape)
        drawn = poisson_blocks(SampleNoise(seed, range(trials), private.image_shape), 1, q).sizes.tolist()
        blocks = Blocks.from_lists([[last] * (size * present) for size in drawn for _ in range(outputs)])
        trajectory = Trajectory()
        final = private_steps(plan, lambda i: private.on_blocks(blocks), noise, trajectory)
        path = torch.cat([trajectory.states, final[None]])
        inside = private.on_blocks(Blocks(torch.full((samples, 1), last)))
        outside = private.on_blocks(Blocks.from_lists([[]] * samples))
        ratios = step_log_ratios(path, levels, plan.step, lambda i: inside, lambda i: outside)
        return log_mixture(ratios.sum(0).reshape(trials, outputs).sum(1), q)

    claim = block_mechanism(plan.gdp_mus(private), q, count=outputs, adjacency=plan.adjacency)
    return Game(name, "all states", claim, delta, play)


def charged_as_add_or_remove(game: Game) -> Game:
    """A game between replaced records whose claim has the sensitivity of adding or removing one."""
    return replace(game, mechanism=replace(game.mechanism, adjacency=Adjacency.ADD_OR_REMOVE_ONE))
