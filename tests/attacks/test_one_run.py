"""The one-run bound against randomized response, whose accuracy attains it, and against the published algorithm."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import binom

from privlib.attacks.likelihood import step_log_ratios
from privlib.attacks.one_run import axis_scores, confident_guesses, one_run_epsilon, right_guesses_p_value
from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.clipped import ClippedDenoiser
from privlib.samplers.hybrid import full_batch
from privlib.samplers.path import Plan
from privlib.samplers.trajectory import Trajectory


def published(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """The p-value as a plain loop over the statement of the theorem."""
    accuracy = math.exp(epsilon) / (1 + math.exp(epsilon))
    largest, between = 0.0, 0.0
    for i in range(1, v + 1):
        between += binom.pmf(v - i, r, accuracy)
        largest = max(largest, between / i)
    return min(1.0, binom.sf(v - 1, r, accuracy) + 2 * m * delta * largest)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-2])
@pytest.mark.parametrize(("m", "r", "v"), [(100, 100, 80), (1000, 60, 55), (10, 10, 10), (10, 4, 0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
def test_p_value_is_that_of_the_theorem(m, r, v, epsilon, delta) -> None:
    expected = published(m, r, v, epsilon, delta)
    assert right_guesses_p_value(v, r, m, epsilon=epsilon, delta=delta) == pytest.approx(expected, rel=1e-9)


def test_bound_is_where_the_p_value_meets_the_confidence() -> None:
    epsilon = one_run_epsilon(90, 100, 100, delta=1e-5, confidence=0.95)
    assert right_guesses_p_value(90, 100, 100, epsilon=epsilon, delta=1e-5) == pytest.approx(0.05, rel=1e-6)
    assert right_guesses_p_value(90, 100, 100, epsilon=epsilon, delta=1e-5) <= 0.05
    assert 1.4 < epsilon < math.log(9)
    assert one_run_epsilon(50, 100, 100, delta=1e-5, confidence=0.95) == 0.0


def test_randomized_response_is_bounded_as_often_as_it_says() -> None:
    epsilon, generator = 1.0, np.random.default_rng(0)
    right = generator.binomial(200, math.e / (1 + math.e), size=200)
    counts, places = np.unique(right, return_inverse=True)
    bounds = np.array([one_run_epsilon(int(v), 200, 200, delta=0.0, confidence=0.9) for v in counts])[places]
    assert (bounds <= epsilon).mean() >= 0.86  # 0.9 less two standard errors
    assert np.median(bounds) > 0.6


def test_guesses_are_the_most_certain_ones() -> None:
    inside, outside = confident_guesses(torch.tensor([0.1, -5.0, 3.0, 0.0, 2.0, -1.0]), 4)
    assert sorted(inside.tolist()) == [2, 4] and sorted(outside.tolist()) == [1, 5]


def test_axis_scores_are_the_ratios_of_single_canaries_up_to_a_constant() -> None:
    plan, shape = Plan((2.0, 1.0, 0.6), 2), (1, 2, 3)
    canaries = torch.eye(6).reshape(6, *shape)
    anchor = PublicAnchor(torch.zeros(2, *shape))
    private = ClippedDenoiser(canaries[::2], anchor, public_weight=1e-30)
    trajectory = Trajectory()
    run = full_batch(private, plan, count=2, seed=0, observe=trajectory)
    states = torch.cat([trajectory.states, run.images[None]])
    scores = axis_scores(states, plan.sigmas, plan.step, anchor)
    for j in range(6):
        alone = ClippedDenoiser(canaries[j : j + 1], anchor, public_weight=1e-30)
        ratio = step_log_ratios(states, plan.sigmas, plan.step, lambda i, alone=alone: alone, lambda i: anchor).sum()
        constant = 2 * private_mu(plan, private) ** 2 / 2  # two outputs
        assert float(scores[j] - ratio) == pytest.approx(constant, rel=1e-6)
    with pytest.raises(ValueError, match="as many as states"):
        axis_scores(states, plan.sigmas[:2], plan.step, anchor)


def private_mu(plan: Plan, private: ClippedDenoiser) -> float:
    return math.sqrt(sum(mu**2 for mu in plan.gdp_mus(private)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: right_guesses_p_value(5, 4, 9, epsilon=1.0, delta=0.0), "right <= guesses <= canaries, got 5, 4, 9"),
        (lambda: right_guesses_p_value(4, 4, 9, epsilon=1.0, delta=1.0), r"delta must lie in \[0, 1\)"),
        (lambda: one_run_epsilon(3, 4, 9, delta=0.0, confidence=0.95), "at least 6 guesses"),
        (lambda: one_run_epsilon(99, 99, 99, delta=0.2, confidence=0.95), "delta well below 0.00051"),
        (lambda: confident_guesses(torch.zeros(4), 6), "even number of at most 4, got 6"),
    ],
)
def test_bad_input(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
