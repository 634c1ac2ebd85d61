"""Attacks on the noisy mean of bounded vectors, and on means that make one mistake.

Every game has k canaries, the group that is charged, along the first axis, against their absence or their replacement
by the opposite pole. The other vectors lie where they cost most: out of the way, or, in a sample of fixed size, at the
opposite pole, so that whoever takes a canary's place in the sample speaks against it. The density ratio increases along
the first axis, so that this coordinate of the release is as strong a score as the ratio itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from privlib.aggregation import Bound, NoisyAggregate, Sampling
from privlib.inversion.aggregate import bounded, noisy_means, taking_part
from privlib.numerics import check_count
from privlib.types import Adjacency

#: ``run(vectors, mechanism, rng, draws=n)``: releases, shape (n, 2).
Run = Callable[..., np.ndarray]

#: Delta at which the games of this module are audited; every claim below is well above what it hides.
DELTA = 0.1

_CANARY = torch.tensor([[1.0, 0.0]], dtype=torch.float64)


@dataclass(frozen=True)
class AggregateGame:
    """A noisy mean that is attacked.

    Attributes:
        name: in words.
        run: what releases.
        mechanism: what is run.
        charged: what it is charged as; the same unless that is the mistake.
        vectors: in the world without and in the world with the canaries, each of shape (n, 2).
    """

    name: str
    run: Run
    mechanism: NoisyAggregate
    charged: NoisyAggregate
    vectors: tuple[torch.Tensor, torch.Tensor] = field(repr=False)

    def scores(self, trials: int, *, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of ``trials`` releases in each world, float64, shape (trials,); larger ones speak for the canaries."""
        check_count(trials, "trials")
        without, present = (
            torch.from_numpy(self.run(rows, self.mechanism, np.random.default_rng([seed, world]), draws=trials)[:, 0])
            for world, rows in enumerate(self.vectors)
        )
        return without, present


def worlds(mechanism: NoisyAggregate) -> tuple[torch.Tensor, torch.Tensor]:
    """Vectors without and with the canaries, of norm 1."""
    k, n = mechanism.group_size, mechanism.num_vectors
    others = -_CANARY if mechanism.sampling is Sampling.FIXED_SIZE else torch.zeros_like(_CANARY)
    rest, canaries = others.expand(n - k, 2), _CANARY.expand(k, 2)
    replaced = mechanism.adjacency is Adjacency.REPLACE_ONE
    return torch.cat([rest, -canaries]) if replaced else rest, torch.cat([rest, canaries])


def quiet(vectors: torch.Tensor, mechanism: NoisyAggregate, rng: np.random.Generator, *, draws: int) -> np.ndarray:
    """Mistake: noise times 0.8."""
    return noisy_means(vectors, replace(mechanism, noise_multiplier=0.8 * mechanism.noise_multiplier), rng, draws=draws)


def over_actual_size(
    vectors: torch.Tensor, mechanism: NoisyAggregate, rng: np.random.Generator, *, draws: int
) -> np.ndarray:
    """Mistake: the sum is divided by the number that was drawn, which is not public."""
    chosen = taking_part(mechanism, len(vectors), rng, draws=draws)
    rows = bounded(vectors, mechanism.bound, mechanism.norm).numpy()
    means = chosen @ rows / np.maximum(chosen.sum(1), 1)[:, None]
    return means + mechanism.noise_std * rng.standard_normal(means.shape)


def unbounded(vectors: torch.Tensor, mechanism: NoisyAggregate, rng: np.random.Generator, *, draws: int) -> np.ndarray:
    """Mistake: vectors keep the norms they came with."""
    means = taking_part(mechanism, len(vectors), rng, draws=draws) @ vectors.numpy() / mechanism.sample_size
    return means + mechanism.noise_std * rng.standard_normal(means.shape)


def sound_aggregates() -> list[AggregateGame]:
    """The noisy mean as it is: every kind of sampling, both kinds of neighbours, groups."""
    everyone = NoisyAggregate(4, 4, 1.0, 0.7)
    poisson = NoisyAggregate(4, 2, 1.0, 0.6, Sampling.POISSON)
    replaced = {"adjacency": Adjacency.REPLACE_ONE}
    cases = {
        "all vectors": everyone,
        "all vectors in a ball, one replaced": replace(everyone, noise_multiplier=1.4, bound=Bound.BALL, **replaced),
        "Poisson": poisson,
        "Poisson, one replaced": replace(poisson, noise_multiplier=0.8, **replaced),
        "fixed size, one replaced": NoisyAggregate(4, 2, 1.0, 1.2, Sampling.FIXED_SIZE, **replaced),
        "Poisson, a group of 2": NoisyAggregate(6, 3, 1.0, 1.5, Sampling.POISSON, group_size=2),
        "fixed size, a group of 2 replaced": NoisyAggregate(
            6, 3, 1.0, 2.0, Sampling.FIXED_SIZE, group_size=2, **replaced
        ),
    }
    return [AggregateGame(name, noisy_means, case, case, worlds(case)) for name, case in cases.items()]


def mutant_aggregates() -> list[AggregateGame]:
    """One mistake each, charged as if there were none."""
    sound = {game.name: game.mechanism for game in sound_aggregates()}
    everyone, poisson = sound["all vectors"], sound["Poisson"]
    added = {"adjacency": Adjacency.ADD_OR_REMOVE_ONE}
    few, rest = NoisyAggregate(3, 2, 1.0, 1.0, Sampling.POISSON), -_CANARY.expand(2, 2)
    long = tuple(1.5 * rows for rows in worlds(everyone))
    fixed, pair = sound["fixed size, one replaced"], sound["Poisson, a group of 2"]
    games = [AggregateGame(f"noise times 0.8, {name}", quiet, case, case, worlds(case)) for name, case in sound.items()]
    return [
        *(game for game in games if game.mechanism.group_size == 1),
        AggregateGame("bound forgotten", unbounded, everyone, everyone, long),
        AggregateGame("divided by the number drawn", over_actual_size, few, few, (rest, torch.cat([rest, _CANARY]))),
        *(
            AggregateGame(f"{name}, charged as added", noisy_means, case, replace(case, **added), worlds(case))
            for name, case in sound.items()
            if name in ("all vectors in a ball, one replaced", "Poisson, one replaced")
        ),
        AggregateGame(
            "fixed size, charged as Poisson",
            noisy_means,
            fixed,
            replace(poisson, noise_multiplier=fixed.noise_multiplier),
            worlds(fixed),
        ),
        AggregateGame("a group, charged as one picture", noisy_means, pair, replace(pair, group_size=1), worlds(pair)),
    ]
