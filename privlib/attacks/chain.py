r"""A diffusion chain upward without noise: from an image to the state that the denoiser itself takes it to.

Attacks on diffusion models are written for chains of T steps whose state keeps its variance (Ho et al. 2020),
:math:`y_t = \sqrt{\bar\alpha_t}\,x_0 + \sqrt{1 - \bar\alpha_t}\,n`, and a network that predicts n. A denoiser
:math:`D(x, \sigma)` of the states :math:`x = x_0 + \sigma n` says the same in other units:

.. math:: x_t = y_t / \sqrt{\bar\alpha_t},\qquad \sigma_t = \sqrt{1 / \bar\alpha_t - 1},\qquad
          \epsilon(x, \sigma) = \frac{x - D(x, \sigma)}{\sigma} .

The deterministic step of Song et al. (2021, DDIM) from t to s, in either direction, keeps the predicted image and the
predicted noise,
:math:`y_s = \sqrt{\bar\alpha_s}\,\hat x_0 + \sqrt{1 - \bar\alpha_s}\,\epsilon`. Divided by
:math:`\sqrt{\bar\alpha_s}`, with :math:`\hat x_0 = D = x_t - \sigma_t \epsilon`:

.. math:: x_s = x_t + (\sigma_s - \sigma_t)\,\epsilon(x_t, \sigma_t),

an Euler step of the probability-flow equation. The image itself stands for the state at the first level, as in the
attack of Duan et al. (2023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch

from privlib.numerics import check_count, check_probability

Denoiser = Callable[[torch.Tensor, float], torch.Tensor]


def ddpm_sigmas(num_steps: int = 1000, *, first_beta: float = 1e-4, last_beta: float = 0.02) -> torch.Tensor:
    r"""Levels :math:`\sqrt{1/\bar\alpha_t - 1}` of the chain with linear variances (Ho et al. 2020).

    Args:
        num_steps: T, at least 2.
        first_beta, last_beta: variances of the first and last step, each in (0, 1).

    Returns:
        float64 tensor of shape (num_steps,), smallest level first, unlike the grids of samplers.
    """
    first_beta = check_probability(first_beta, "first_beta")
    last_beta = check_probability(last_beta, "last_beta")
    betas = torch.linspace(first_beta, last_beta, check_count(num_steps, "num_steps", minimum=2), dtype=torch.float64)
    log_kept = torch.log1p(-betas).cumsum(0)
    return torch.expm1(-log_kept).sqrt()


def chain_steps(stops: Sequence[float], *, num_steps: int = 1000, interval: int) -> tuple[list[int], list[int]]:
    """Steps that a walk visits, and for each stop the position from which one more step is made and taken back.

    Args:
        stops: shares of the chain, in (0, 1]; each must lie on the walk.
        num_steps: T.
        interval: steps of the chain in one step of the walk, a divisor of T.

    Returns:
        (steps, positions): steps 0, interval, 2 interval, ... up to one beyond the largest stop but below T, where
        the last is T - 1; ``steps[positions[i]]`` is where stop i stands. From the end of the chain no further step
        leads up, so a stop of 1 stands one step of the walk before it.

    Raises:
        ValueError: an interval that does not divide T, a stop off the walk or out of range.
    """
    interval = check_count(interval, "interval")
    if num_steps % interval or interval >= num_steps:
        raise ValueError(f"interval must divide the {num_steps} steps of the chain into at least 2, got {interval}")
    walk = [min(step, num_steps - 1) for step in range(0, num_steps + 1, interval)]
    positions = []
    for stop in stops:
        place = stop * num_steps / interval
        if not 0.0 < stop <= 1.0 or abs(place - round(place)) > 1e-9:
            raise ValueError(f"stops must be multiples of {interval / num_steps:g} in (0, 1], got {stop!r}")
        positions.append(min(round(place), len(walk) - 2))
    return walk[: max(positions, default=0) + 2], positions


def predicted_noise(denoiser: Denoiser, x: torch.Tensor, sigma: float) -> torch.Tensor:
    """The noise that the denoiser takes a state of level ``sigma`` to hold, of the shape of ``x``."""
    return (x - denoiser(x, sigma)) / sigma


def walk_up(
    denoiser: Denoiser, images: torch.Tensor, sigmas: Sequence[float]
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """State and predicted noise at every level of a deterministic walk up; one evaluation a level.

    Args:
        denoiser: ``denoiser(x, sigma)``.
        images: clean images, shape (n, *event).
        sigmas: rising levels.
    """
    x = images
    for index, sigma in enumerate(sigmas):
        noise = predicted_noise(denoiser, x, sigma)
        yield x, noise
        if index + 1 < len(sigmas):
            x = x + (sigmas[index + 1] - sigma) * noise
