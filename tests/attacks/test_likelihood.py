"""Log-likelihood ratios against densities written out with scipy, for both kinds of step."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

from privlib.attacks.likelihood import fresh_blocks, log_mixture, one_block, step_log_ratios
from privlib.samplers.steps import ANCESTRAL, EULER_MARUYAMA
from tests.samplers.oracles import GaussianData

LEVELS = (2.0, 1.0, 0.5)


def law(step, x: np.ndarray, denoised: np.ndarray, t: float, s: float) -> tuple[np.ndarray, float]:
    """Mean and spread of a step, from the formulas in ``mechanisms``."""
    if step is EULER_MARUYAMA:
        return x + 2 * (t - s) / t * (denoised - x), math.sqrt(2 * t * (t - s))
    return denoised + s**2 / t**2 * (x - denoised), s * math.sqrt(1 - s**2 / t**2)


@pytest.mark.parametrize("step", [EULER_MARUYAMA, ANCESTRAL], ids=lambda step: step.name)
def test_step_ratios_are_those_of_the_densities(step) -> None:
    states = torch.randn(3, 4, 2, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    present, without = GaussianData(0.9, 0.5), GaussianData(0.1, 0.2)
    ratios = step_log_ratios(states, LEVELS, step, lambda i: present, lambda i: without)
    assert ratios.shape == (2, 4)
    for i, (t, s) in enumerate(zip(LEVELS[:-1], LEVELS[1:], strict=True)):
        x, y = states[i].numpy(), states[i + 1].numpy()
        density = [norm.logpdf(y, *law(step, x, d(x, t), t, s)).sum((1, 2)) for d in (present, without)]
        np.testing.assert_allclose(ratios[i].numpy(), density[0] - density[1], rtol=1e-10)


def test_mixtures_by_hand() -> None:
    ratios = torch.tensor([[0.5, -2.0, 900.0], [1.0, 0.25, -950.0]], dtype=torch.float64)
    block = [math.log(0.7 + 0.3 * math.exp(1.5)), math.log(0.7 + 0.3 * math.exp(-1.75)), math.log(0.7)]
    assert one_block(ratios, 0.3).tolist() == pytest.approx(block)
    fresh = [math.log(0.7 + 0.3 * math.exp(a)) + math.log(0.7 + 0.3 * math.exp(b)) for a, b in ((0.5, 1.0), (-2, 0.25))]
    assert fresh_blocks(ratios, 0.3).tolist() == pytest.approx([*fresh, 900.0 + math.log(0.3) + math.log(0.7)])
    assert torch.equal(one_block(ratios, 1.0), fresh_blocks(ratios, 1.0))


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="as many as states and at least 2, got 3 and 2"):
        step_log_ratios(torch.zeros(2, 1, 2), LEVELS, ANCESTRAL, lambda i: None, lambda i: None)
    with pytest.raises(ValueError, match="sampling_probability"):
        log_mixture(torch.zeros(2), 0.0)
