r"""The strongest distinguisher of two sampler paths: the likelihood ratio of all states, in closed form.

Given a state, the next one is Gaussian around a mean that the denoiser decides. With means ``m_in`` and ``m_out`` and
spread ``v`` in every direction, the log-likelihood ratio of a step is

.. math:: \ell_i = \frac{(m_{in} - m_{out}) \cdot \bigl(x_{i+1} - \tfrac12 (m_{in} + m_{out})\bigr)}{v^2} .

*All records in each step:* the ratio of the path is the sum. *A Poisson block kept for the whole path:* the record is
in it with probability q, and the block of the others is shown to the distinguisher (which only makes it stronger, and
an attack on an upper bound may be as strong as it likes): ``log(1 - q + q exp(sum of l_i))``. *A fresh block at each
step:* the sum of ``log(1 - q + q exp(l_i))``. By the lemma of Neyman and Pearson no other test of the states, given the
other records' blocks, beats these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from privlib.numerics import check_probability
from privlib.samplers.steps import Denoiser, PrivateStep


def step_log_ratios(
    states: torch.Tensor,
    levels: Sequence[float],
    step: PrivateStep,
    present: Callable[[int], Denoiser],
    without: Callable[[int], Denoiser],
) -> torch.Tensor:
    """Log-likelihood ratio of every step of every path.

    Args:
        states: at each level, shape (steps + 1, n, *event), float64.
        levels: decreasing noise levels, steps + 1 of them.
        step: the update that made the states; its noise must have one spread in all directions.
        present, without: the denoiser of step i if the record is seen and if it is not.

    Returns:
        Shape (steps, n); positive where a step speaks for the record. Cost: two denoiser calls a step.

    Raises:
        ValueError: not one level for each state.
    """
    if len(states) != len(levels) or len(levels) < 2:
        raise ValueError(f"levels must be as many as states and at least 2, got {len(levels)} and {len(states)}")
    rows = []
    for i, (t, s) in enumerate(zip(levels[:-1], levels[1:], strict=True)):
        x, silent = states[i], torch.zeros_like(states[i])
        spread = float(step.update(silent[:1], silent[:1], t, s, noise=torch.ones_like(silent[:1])).flatten()[0])
        inside = step.update(x, present(i)(x, t), t, s, noise=silent)
        outside = step.update(x, without(i)(x, t), t, s, noise=silent)
        moved = (inside - outside) * (states[i + 1] - 0.5 * (inside + outside))
        rows.append(moved.flatten(1).sum(1) / spread**2)
    return torch.stack(rows)


def log_mixture(log_ratio: torch.Tensor, sampling_probability: float) -> torch.Tensor:
    """``log(1 - q + q exp(log_ratio))``: the record takes part with probability q."""
    q = check_probability(sampling_probability)
    if q == 1.0:
        return log_ratio
    return torch.logaddexp(torch.full_like(log_ratio, math.log1p(-q)), log_ratio + math.log(q))


def one_block(log_ratios: torch.Tensor, sampling_probability: float) -> torch.Tensor:
    """Ratio of paths whose steps share one block, shape (n,), from the ratios of the steps, shape (steps, n)."""
    return log_mixture(log_ratios.sum(0), sampling_probability)


def fresh_blocks(log_ratios: torch.Tensor, sampling_probability: float) -> torch.Tensor:
    """Ratio of paths with a fresh block at each step, shape (n,), from the ratios of the steps, shape (steps, n)."""
    return log_mixture(log_ratios, sampling_probability).sum(0)
