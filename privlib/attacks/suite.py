r"""The samplers that are attacked, on images so small that thousands of releases take a second.

The records
-----------
*Adversarial:* the canary lies far from the public images, in one direction, and the public prior weighs next to
nothing (``public_weight`` of 1e-30). So the weight of the canary is 1 for every state that occurs, the clip is active,
and its contribution has the full norm that is charged, at each step. Then the likelihood ratio of a path is that of the
claimed Gaussian mechanism, and the audit is as tight as the number of trials allows. Only the group tilt falls short of
its clip, where its public posterior has settled. *Natural:* a record like the public images, with a public prior worth
one record.

Random blocks have q = 0.5; the other records' blocks are known to the distinguisher (``games``).

How many trials
---------------
From ``bounds.trials_to_refute``, for the mutant that is hardest to see: noise times 0.8 on the private steps of
``PLAN``, which are charged gdp_mu = 1.562 and have 1.953. At delta = 0.2 the claim is epsilon = 1.765 and the truth
2.743. The test at a log-likelihood ratio of 2.1 needs 3,609 scored trials in each world to show more than the claim
with probability 0.99 at confidence 0.999, and 2,111 at confidence 0.95. ``TRIALS`` and ``QUICK_TRIALS`` are half more
than that, since a third of them chooses the threshold. The other mutants need fewer: 2,844 for the reused block (q =
0.2, 8 outputs, delta = 0.05: claimed 1.02, true 3.69).

Why delta is so large: a claim is a whole curve, and a violation at any delta refutes it. At delta = 1e-5 a bound hangs
on events that happen once in hundreds of thousands of releases. Games in which the canary is heard rarely or weakly are
audited at 0.05: where it is heard less often than delta, nothing can be shown.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import torch

from privlib.attacks import mutants
from privlib.attacks.assumed import AssumedSensitivity
from privlib.attacks.games import (
    Build,
    Game,
    Neighbours,
    full_batch_game,
    images_game,
    output_wise_game,
    path_of,
    per_step_game,
    released_counts_game,
)
from privlib.attacks.one_run import axis_scores, confident_guesses, one_run_epsilon
from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.clipped import ClippedDenoiser
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.denoisers.groups import PublicGroups
from privlib.denoisers.population import PopulationDenoiser
from privlib.denoisers.tilted import GroupDenoiser
from privlib.mechanisms import Mechanism
from privlib.samplers.hybrid import full_batch, output_wise
from privlib.samplers.path import Plan, PublicTail
from privlib.samplers.steps import ANCESTRAL, EULER_MARUYAMA
from privlib.types import Adjacency

#: Releases in each world for audits at confidence 0.999, and for quick ones at 0.95; see the module.
TRIALS, QUICK_TRIALS = 5500, 3200

#: Delta of most audits, and of those whose canary is heard rarely or weakly.
DELTA, SMALL_DELTA = 0.2, 0.05

#: Private steps of most games; fewer where the charge of several outputs or of a replaced record would be out of reach.
PLAN = Plan((2.0, 1.0, 0.6, 0.45), 3)
SHORT = Plan((2.0, 1.0, 0.6), 2)

_SHAPE = (1, 2, 2)
_ONES = torch.ones(1, *_SHAPE)
_NEAR_ZERO = torch.tensor([0.05, -0.05]).reshape(2, 1, 1, 1) * _ONES
_REST = torch.tensor([[0.5, -0.5, 0.25, 0.0], [-0.75, 0.0, 0.0, 0.5]]).reshape(2, *_SHAPE)
_FAR = Neighbours(_REST, _ONES)
_ALONE = Neighbours(_REST[:0], _ONES)
_REPLACED = Neighbours(_REST, _ONES, -_ONES)


def clipped(data: torch.Tensor) -> ClippedDenoiser:
    """Clip 1 and a public prior that weighs nothing."""
    return ClippedDenoiser(data, PublicAnchor(_NEAR_ZERO), public_weight=1e-30, clip=1.0)


def _along_canary(images: torch.Tensor) -> torch.Tensor:
    """How far images lie in the direction of the adversarial canary."""
    return images.flatten(1) @ _ONES.flatten().to(images)


def _natural() -> tuple[Build, Neighbours]:
    images = torch.rand(9, *_SHAPE, generator=torch.Generator().manual_seed(0)) * 2.0 - 1.0
    anchor = PublicAnchor(images[:6])
    return lambda data: ClippedDenoiser(data, anchor, public_weight=1.0), Neighbours(images[6:8], images[8:])


def _population(data: torch.Tensor) -> PopulationDenoiser:
    return PopulationDenoiser(
        data,
        _NEAR_ZERO,
        PublicAnchor(_NEAR_ZERO),
        nominal_records=1,
        clip=1.0,
        bandwidth=float("inf"),
        rank=1,
    )


def _tilted() -> tuple[Build, Neighbours]:
    # One image of 32 is alone in its group: a record there is told 32-fold, and the clip is active while the public
    # posterior is undecided. A public denoiser that keeps the state between the groups sees to that.
    images = torch.cat([0.25 * _ONES, -0.25 * _ONES.expand(31, *_SHAPE)])
    groups = PublicGroups(images.flatten(1), 2)

    def build(data: torch.Tensor) -> GroupDenoiser:
        return GroupDenoiser(
            groups.counts(data.flatten(1)),
            groups,
            images,
            nominal_records=1,
            clip=1.0,
            denoiser=lambda x, sigma: torch.full_like(x, 0.6),
        )

    return build, Neighbours(_REST, 0.25 * _ONES)


def sound_games() -> list[Game]:
    """Every sampler and bounded denoiser of the library: none of these may be caught."""
    natural, natural_pair = _natural()
    tilted, tilted_pair = _tilted()
    tailed = replace(PLAN, tail=PublicTail(PublicAnchor(_NEAR_ZERO), num_renoise_steps=2))
    ancestral = Plan((2.0, 1.0, 0.6), 2, ANCESTRAL)
    replacing = replace(SHORT, adjacency=Adjacency.REPLACE_ONE)
    at, rarely = {"delta": DELTA}, {"delta": SMALL_DELTA}
    half = {"sampling_probability": 0.5}
    return [
        full_batch_game("full batch, clipped", clipped, _FAR, PLAN, **at),
        full_batch_game("full batch, clipped, ancestral steps", clipped, _FAR, ancestral, **at),
        full_batch_game("full batch, clipped, natural record", natural, natural_pair, PLAN, **rarely),
        full_batch_game("full batch, clipped, record replaced", clipped, _REPLACED, replacing, **at),
        full_batch_game("full batch, clipped, 4 outputs", clipped, _FAR, Plan((2.0, 1.0), 1), outputs=4, **at),
        images_game("full batch, clipped", full_batch, clipped, _FAR, PLAN, _along_canary, **at),
        images_game("full batch, clipped, public tail", full_batch, clipped, _FAR, tailed, _along_canary, **at),
        full_batch_game("full batch, population shift", _population, _FAR, PLAN, **at),
        full_batch_game("full batch, group tilt", tilted, tilted_pair, PLAN, **at),
        output_wise_game("block for each output", clipped, _FAR, PLAN, **half, **at),
        output_wise_game("block for each output, natural record", natural, natural_pair, PLAN, **half, **rarely),
        output_wise_game("block for each output, 4 outputs", clipped, _FAR, SHORT, outputs=4, **half, **at),
        output_wise_game("block for each output, record replaced", clipped, _REPLACED, replacing, **half, **at),
        per_step_game("fresh block at each step", clipped, _FAR, PLAN, **half, **at),
        per_step_game("fresh block at each step, 2 outputs", clipped, _FAR, SHORT, outputs=2, **half, **rarely),
        released_counts_game("counts released once", torch.tensor([3, 0, 5]), 1, noise_multiplier=1.0, **at),
    ]


def mutant_games() -> list[Game]:
    """Samplers with one mistake each: every one of these must be caught."""
    quiet = replace(PLAN, step=mutants.quiet(EULER_MARUYAMA, 0.8))
    crowd = Neighbours(_ONES.expand(8, *_SHAPE), 0.0 * _ONES)
    replacing = replace(SHORT, adjacency=Adjacency.REPLACE_ONE)

    def unclipped(data: torch.Tensor) -> mutants.UnclippedDenoiser:
        return mutants.UnclippedDenoiser(data, PublicAnchor(_NEAR_ZERO), public_weight=1e-30, clip=1.0)

    def private_normalizer(data: torch.Tensor) -> mutants.PrivateNormalizerDenoiser:
        return mutants.PrivateNormalizerDenoiser(data, clip=0.25)

    return [
        full_batch_game("noise times 0.8", clipped, _FAR, quiet, delta=DELTA),
        full_batch_game("clip forgotten", unclipped, _FAR, PLAN, delta=DELTA),
        mutants.reused_block_game(
            "one block for 8 outputs, charged as 8 fresh ones",
            clipped,
            _ALONE,
            SHORT,
            sampling_probability=0.2,
            outputs=8,
            delta=SMALL_DELTA,
        ),
        full_batch_game("weights normalized over private records", private_normalizer, crowd, PLAN, delta=SMALL_DELTA),
        mutants.charged_as_add_or_remove(
            full_batch_game("record replaced, charged as added or removed", clipped, _REPLACED, replacing, delta=DELTA)
        ),
    ]


def assumed_games(records: torch.Tensor, plan: Plan, *, sensitivity: float, delta: float) -> list[Game]:
    """The posterior mean over a block, charged a sensitivity that is taken as given, with the record in the block.

    What is attacked is the GDP parameter that the reported accounting gives a block, before any subsampling. The
    canary is the record that lies farthest from all others; one path of B + 1 or so ends at it.

    Args:
        records: the block with the canary, shape (B + 1, *event), B at least 2.
        plan: private steps without a tail.
        sensitivity: what is charged at every level, such as ``1 / beta``.
        delta: of the audit; below 1 / (B + 1), or nothing can be shown.
    """
    rows = records.flatten(1).to(torch.float64)
    nearest = torch.cdist(rows, rows).fill_diagonal_(math.inf).min(1).values
    chosen = torch.arange(len(records)) == nearest.argmax()
    block = Neighbours(records[~chosen], records[chosen])
    run = functools.partial(output_wise, sampling_probability=1.0)

    def build(data: torch.Tensor) -> AssumedSensitivity:
        return AssumedSensitivity(EmpiricalDenoiser(data), sensitivity)

    def nearness(images: torch.Tensor) -> torch.Tensor:
        """How much nearer an image is to the canary than to any other record, in squares."""
        distances = torch.cdist(images.flatten(1), rows.to(images)).square()
        return distances[:, ~chosen].min(1).values - distances[:, chosen][:, 0]

    return [
        output_wise_game("posterior mean over a block", build, block, plan, sampling_probability=1.0, delta=delta),
        images_game("posterior mean over a block", run, build, block, plan, nearness, delta=delta),
    ]


@dataclass(frozen=True)
class OneRunAudit:
    """What one release shows about a sampler whose data set holds each of many canaries or not.

    Attributes:
        mechanism: what the release is charged as.
        canaries, guesses, right: how many canaries, how many were guessed about, and how often rightly.
        epsilon: lower bound, see ``one_run``.
    """

    mechanism: Mechanism
    canaries: int
    guesses: int
    right: int
    epsilon: float


def one_run_audit(shape: tuple[int, ...], *, guesses: int, delta: float, confidence: float, seed: int) -> OneRunAudit:
    """One image from ``PLAN`` with all records in each step, audited by a canary along each coordinate axis.

    Canaries of norm 1 at right angles, each with the full clip of 1, around a public denoiser that gives zero.

    Args:
        shape: of the image; as many canaries as it has values, each in the data by a fair coin.
        guesses: made about the canaries with the highest and the lowest scores, an even number, chosen beforehand.
        delta, confidence: of the bound.
        seed: of the coins and of the release.
    """
    dimension = math.prod(shape)
    canaries = torch.eye(dimension).reshape(dimension, *shape)
    inside = torch.rand(dimension, generator=torch.Generator().manual_seed(seed)) < 0.5
    anchor = PublicAnchor(torch.zeros(2, *shape))
    private = ClippedDenoiser(canaries[inside], anchor, public_weight=1e-30)
    path, mechanism = path_of(full_batch, private, PLAN, count=1, seed=seed)
    scores = axis_scores(path, PLAN.sigmas, PLAN.step, anchor)
    said_in, said_out = confident_guesses(scores, guesses)
    right = int(inside[said_in].sum()) + int((~inside[said_out]).sum())
    epsilon = one_run_epsilon(right, guesses, dimension, delta=delta, confidence=confidence)
    return OneRunAudit(mechanism, dimension, guesses, right, epsilon)
