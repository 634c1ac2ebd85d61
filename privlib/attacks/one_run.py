r"""Auditing with one run (Steinke, Nasr and Jagielski 2023): many canaries, each in or out by a coin of its own.

The auditor sees one release and guesses, for r of m canaries, whether they were in. If the mechanism is
(epsilon, delta)-private under adding or removing a record, the number W of right guesses is hardly more than a binomial
one: with ``B ~ Binomial(r, e^eps / (1 + e^eps))``,

.. math:: P(W \ge v) \le P(B \ge v) + 2 m \delta \max_{1 \le i \le v} \frac{P(v > B \ge v - i)}{i}

(their Theorem 5.2). So an epsilon for which the right side is below ``1 - confidence`` is refuted. Nothing is assumed
of the mechanism, but the bound is far from tight for a Gaussian one: it treats all losses as if they were the largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom

from privlib.attacks.bounds import check_confidence
from privlib.numerics import check_count, check_epsilon, check_nonnegative
from privlib.samplers.steps import Denoiser, PrivateStep


def right_guesses_p_value(right: int, guesses: int, canaries: int, *, epsilon: float, delta: float) -> float:
    """Bound of the chance of at least ``right`` right guesses under an (epsilon, delta)-private mechanism.

    Args:
        right: guesses that were right, in 0..guesses.
        guesses: canaries that a guess was made for, in 0..canaries.
        canaries: each in the data with probability 1/2, independently.
        epsilon, delta: in [0, inf) and [0, 1).
    """
    canaries = check_count(canaries, "canaries")
    guesses, right = check_count(guesses, "guesses", minimum=0), check_count(right, "right", minimum=0)
    if not right <= guesses <= canaries:
        raise ValueError(f"need right <= guesses <= canaries, got {right}, {guesses}, {canaries}")
    if not check_nonnegative("delta", delta) < 1.0:
        raise ValueError(f"delta must lie in [0, 1), got {delta!r}")
    law = binom(guesses, expit(check_epsilon(epsilon)))
    tail = float(law.sf(right - 1))
    if right == 0 or delta == 0.0:
        return min(1.0, tail)
    below = np.cumsum(law.pmf(np.arange(right - 1, -1, -1)))  # P(v > B >= v - i) for i = 1, 2, ..., v
    return min(1.0, tail + 2.0 * canaries * delta * float((below / np.arange(1, right + 1)).max()))


def one_run_epsilon(right: int, guesses: int, canaries: int, *, delta: float, confidence: float) -> float:
    """Lower bound of epsilon at ``delta`` from one run; 0 where it shows nothing. Arguments: ``right_guesses_p_value``.

    Raises:
        ValueError: so few guesses that all of them right would show nothing at this confidence.
    """
    refuted = 1.0 - check_confidence(confidence)

    def excess(epsilon: float, count: int = right) -> float:
        return right_guesses_p_value(count, guesses, canaries, epsilon=epsilon, delta=delta) - refuted

    if excess(0.0) >= 0.0:
        if excess(0.0, guesses) >= 0.0:
            raise ValueError(
                f"{guesses} guesses about {canaries} canaries cannot show anything at delta = {delta:g} and confidence "
                f"{confidence:g}; at least {math.ceil(-math.log2(refuted)) + 1} guesses and a delta well below "
                f"{refuted / canaries:.2g} are needed"
            )
        return 0.0
    high = 1.0
    while excess(high) < 0.0:
        high *= 2.0
    root = float(brentq(excess, 0.0, high, xtol=1e-9))
    return max(0.0, root - 1e-8)  # on the refuted side of the root


def axis_scores(states: torch.Tensor, levels: Sequence[float], step: PrivateStep, public: Denoiser) -> torch.Tensor:
    """Score of one canary for each coordinate: how far the steps went its way beyond where ``public`` leads.

    For canaries that each push the denoiser along one axis, alike at every state, this orders them as their likelihood
    ratios do.

    Args:
        states: of all outputs of the one release, shape (steps + 1, count, *event).
        levels: noise levels, steps + 1 of them.
        step: the update that made the states.
        public: the denoiser without any canary.

    Returns:
        Shape (d,), summed over steps and outputs.
    """
    if len(states) != len(levels) or len(levels) < 2:
        raise ValueError(f"levels must be as many as states and at least 2, got {len(levels)} and {len(states)}")
    total = torch.zeros_like(states[0, 0].flatten())
    for x, y, t, s in zip(states[:-1], states[1:], levels[:-1], levels[1:], strict=True):
        silent = torch.zeros_like(x)
        weight = step.update(silent, torch.ones_like(x), t, s, noise=silent)
        spread = step.update(silent, silent, t, s, noise=torch.ones_like(x))
        beyond = y - step.update(x, public(x, t), t, s, noise=silent)
        total += (weight * beyond / spread**2).sum(0).flatten()
    return total


def confident_guesses(scores: torch.Tensor, guesses: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Guess "in" for the highest scores and "out" for the lowest, ``guesses`` in all, half of each.

    Args:
        scores: of the canaries, shape (m,), larger for "in".
        guesses: an even number of at most m.

    Returns:
        Indices of the canaries that are guessed to be in, and of those guessed to be out.
    """
    if check_count(guesses, "guesses", minimum=2) % 2 or guesses > len(scores):
        raise ValueError(f"guesses must be an even number of at most {len(scores)}, got {guesses}")
    order = scores.argsort()
    return order[len(order) - guesses // 2 :], order[: guesses // 2]
