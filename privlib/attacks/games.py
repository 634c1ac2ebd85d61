"""Neighbouring worlds under the library's own samplers, and the scores of a distinguisher in each.

A game runs a sampler in one of two worlds, many times, with fresh noise each time, and scores every release. The
sampler is the one that users call, its mechanism the one that it returns: nothing is modelled.

What the distinguisher knows: both data sets, all parameters, and, with random blocks, which of the *other* records are
in each block. Seeds of the two worlds differ; that a seed shows everything is no news (``samplers.noise``).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from privlib.attacks.audit import Audit, audit_scores
from privlib.attacks.likelihood import fresh_blocks, one_block, step_log_ratios
from privlib.denoisers.blocks import Blocks
from privlib.denoisers.released import release_counts
from privlib.mechanisms import Mechanism, components_of
from privlib.numerics import check_count
from privlib.samplers.hybrid import PrivateDenoiser, full_batch, output_wise, per_step
from privlib.samplers.noise import SampleNoise
from privlib.samplers.path import Plan
from privlib.samplers.runs import Run
from privlib.samplers.subsampling import poisson_blocks
from privlib.samplers.trajectory import Trajectory
from privlib.types import Adjacency

Build = Callable[[torch.Tensor], PrivateDenoiser]


@dataclass(frozen=True)
class Neighbours:
    """Two data sets that differ in one record.

    Attributes:
        rest: records that both hold, shape (n, *event).
        canary: the record in question, shape (1, *event).
        replacement: what stands in its place in the other world, shape (1, *event); None if nothing does.
    """

    rest: torch.Tensor = field(repr=False)
    canary: torch.Tensor = field(repr=False)
    replacement: torch.Tensor | None = field(default=None, repr=False)

    def records(self, present: bool) -> torch.Tensor:
        """The data set with the canary, or the other one; the record that differs comes last."""
        last = self.canary if present else self.replacement
        return self.rest if last is None else torch.cat([self.rest, last])


@dataclass(frozen=True)
class Game:
    """One pair of worlds with a distinguisher.

    Attributes:
        name: what is attacked.
        sees: what of a release the distinguisher sees.
        mechanism: what a release is charged as.
        delta: at which the game is audited: where the distinguisher has most to show, see ``suite``.
        play: ``play(present, trials, seed)``, the score of every trial in one world, shape (trials,).
    """

    name: str
    sees: str
    mechanism: Mechanism
    delta: float
    play: Callable[[bool, int, int], torch.Tensor] = field(repr=False)

    @property
    def gdp_mu(self) -> float | None:
        """GDP parameter that a release is charged, or None if the charge is not a Gaussian curve."""
        components = components_of(self.mechanism)
        if any(component.sampling_probability < 1.0 for component in components):
            return None
        shift = 2.0 if self.mechanism.adjacency is Adjacency.REPLACE_ONE else 1.0
        return shift * math.sqrt(math.fsum(component.count * component.gdp_mu**2 for component in components))

    def scores(self, trials: int, *, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of ``trials`` releases in the world without the record, and in the one with it."""
        seed = check_count(seed, "seed", minimum=0)
        return self.play(False, trials, 2 * seed), self.play(True, trials, 2 * seed + 1)

    def audit(self, trials: int, *, seed: int, confidence: float) -> Audit:
        """Play and bound; see ``audit.audit_scores``."""
        return audit_scores(*self.scores(trials, seed=seed), delta=self.delta, confidence=confidence)


def full_batch_game(
    name: str, build: Build, neighbours: Neighbours, plan: Plan, *, delta: float, outputs: int = 1
) -> Game:
    """All records in each step, ``outputs`` images a release; the likelihood ratio of all states."""
    worlds = [build(neighbours.records(present)) for present in (False, True)]

    def play(present: bool, trials: int, seed: int) -> torch.Tensor:
        path, _ = path_of(full_batch, worlds[present], plan, count=trials * outputs, seed=seed)
        ratios = step_log_ratios(path, _levels(plan), plan.step, lambda i: worlds[True], lambda i: worlds[False])
        return ratios.sum(0).reshape(trials, outputs).sum(1)

    claim = full_batch(worlds[True], plan, count=outputs, seed=0).mechanism
    return Game(name, "all states", claim, delta, play)


def output_wise_game(
    name: str,
    build: Build,
    neighbours: Neighbours,
    plan: Plan,
    *,
    delta: float,
    sampling_probability: float,
    outputs: int = 1,
) -> Game:
    """A random block for each output, ``outputs`` images a release; the likelihood ratio of all states."""
    steps, q = [0] * plan.num_private_steps, sampling_probability
    return _block_game(name, output_wise, one_block, steps, build, neighbours, plan, delta, q, outputs)


def per_step_game(
    name: str,
    build: Build,
    neighbours: Neighbours,
    plan: Plan,
    *,
    delta: float,
    sampling_probability: float,
    outputs: int = 1,
) -> Game:
    """A fresh random block at each step, ``outputs`` images a release; the likelihood ratio of all states."""
    steps, q = list(range(plan.num_private_steps)), sampling_probability
    return _block_game(name, per_step, fresh_blocks, steps, build, neighbours, plan, delta, q, outputs)


def _block_game(
    name: str,
    sampler: Callable[..., Run],
    combine: Callable[[torch.Tensor, float], torch.Tensor],
    block_steps: list[int],
    build: Build,
    neighbours: Neighbours,
    plan: Plan,
    delta: float,
    q: float,
    outputs: int,
) -> Game:
    """Random blocks; step i of the path uses the block that was drawn for step ``block_steps[i]``."""
    worlds = [build(neighbours.records(present)) for present in (False, True)]

    run = functools.partial(sampler, sampling_probability=q)

    def against_rest(private: PrivateDenoiser, path: torch.Tensor, rests: dict[int, Blocks]) -> torch.Tensor:
        """Log-ratio of a world to the one in which the record that differs is missing."""
        inside = {step: _with_last(private, rest) for step, rest in rests.items()}
        outside = {step: private.on_blocks(rest) for step, rest in rests.items()}
        present, without = (lambda i: inside[block_steps[i]]), (lambda i: outside[block_steps[i]])
        return combine(step_log_ratios(path, _levels(plan), plan.step, present, without), q)

    def play(present: bool, trials: int, seed: int) -> torch.Tensor:
        count = trials * outputs
        path, _ = path_of(run, worlds[present], plan, count=count, seed=seed)
        noise = SampleNoise(seed, range(count), worlds[present].image_shape)
        rests = {step: poisson_blocks(noise, len(neighbours.rest), q, step=step) for step in set(block_steps)}
        scores = against_rest(worlds[True], path, rests)
        if neighbours.replacement is not None:
            scores = scores - against_rest(worlds[False], path, rests)
        return scores.reshape(trials, outputs).sum(1)

    claim = run(worlds[True], plan, count=outputs, seed=0).mechanism
    return Game(name, "all states", claim, delta, play)


def images_game(
    name: str,
    run: Callable[..., Run],
    build: Build,
    neighbours: Neighbours,
    plan: Plan,
    score: Callable[[torch.Tensor], torch.Tensor],
    *,
    delta: float,
) -> Game:
    """The black box: a distinguisher that sees final images only, one a release.

    Args:
        run: a sampler, called as ``run(private, plan, count=..., seed=...)``.
        score: of images, shape (n, *event), as shape (n,); larger speaks for the canary.
    """
    worlds = [build(neighbours.records(present)) for present in (False, True)]

    def play(present: bool, trials: int, seed: int) -> torch.Tensor:
        return score(run(worlds[present], plan, count=trials, seed=seed).images.cpu())

    return Game(name, "images", run(worlds[True], plan, count=1, seed=0).mechanism, delta, play)


def released_counts_game(name: str, counts: torch.Tensor, group: int, *, noise_multiplier: float, delta: float) -> Game:
    """Counts over public groups, released once; the record is in ``group``. The likelihood ratio of the release."""
    worlds = [counts, counts + torch.nn.functional.one_hot(torch.tensor(group), len(counts))]

    def play(present: bool, trials: int, seed: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        released = [
            release_counts(worlds[present], noise_multiplier=noise_multiplier, generator=generator).values[group]
            for _ in range(trials)
        ]
        return (torch.stack(released) - counts[group] - 0.5) / noise_multiplier**2

    mechanism = release_counts(counts, noise_multiplier=noise_multiplier, generator=torch.Generator()).mechanism
    return Game(name, "released counts", mechanism, delta, play)


def _levels(plan: Plan) -> tuple[float, ...]:
    return plan.sigmas[: plan.num_private_steps + 1]


def path_of(
    sampler: Callable[..., Run], private: PrivateDenoiser, plan: Plan, *, count: int, seed: int
) -> tuple[torch.Tensor, Mechanism | None]:
    """All states of a run whose plan has no tail, shape (steps + 1, count, *event), and what the run is charged as."""
    if plan.tail is not None:
        raise ValueError("plan must have no tail: what follows the private steps is post-processing of their states")
    trajectory = Trajectory()
    run = sampler(private, plan, count=count, seed=seed, observe=trajectory)
    return torch.cat([trajectory.states, run.images.cpu()[None]]), run.mechanism


def _with_last(private: PrivateDenoiser, rest: Blocks) -> Callable:
    """The denoiser whose blocks hold the last record besides ``rest``."""
    last = torch.full((len(rest), 1), private.num_records - 1)
    return private.on_blocks(Blocks(torch.cat([last, rest.index], 1)))
