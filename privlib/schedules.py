"""Noise grids of the sampling process, as pure functions; ``sigma`` is always the diffusion noise level."""

from __future__ import annotations

import math

import torch

from privlib.numerics import check_count, check_positive, check_probability


def edm_sigmas(
    num_steps: int,
    *,
    sigma_min: float = 0.002,
    sigma_max: float = 80.0,
    rho: float = 7.0,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    r"""The EDM grid of Karras et al. (2022), equation 5.

    .. math:: \sigma_i = \bigl(\sigma_{\max}^{1/\rho}
              + \tfrac{i}{N-1}(\sigma_{\min}^{1/\rho} - \sigma_{\max}^{1/\rho})\bigr)^{\rho},\quad i = 0..N-1

    Args:
        num_steps: number of levels N, at least 2.
        sigma_min, sigma_max: last and first level, 0 < sigma_min < sigma_max.
        rho: curvature, positive; larger values spend more levels near ``sigma_min``.
        dtype: precision of the arithmetic. Single precision moves the levels by a relative 1e-6, which shows in the
            last digit of the paper's largest epsilons.

    Returns:
        float64 tensor of shape (num_steps,), largest level first, no appended zero. Both ends are exact.

    Raises:
        ValueError: a parameter outside its range.
    """
    num_steps = check_count(num_steps, "num_steps", minimum=2)
    sigma_min = check_positive("sigma_min", sigma_min)
    sigma_max = check_positive("sigma_max", sigma_max)
    rho = check_positive("rho", rho)
    if sigma_min >= sigma_max:
        raise ValueError(f"sigma_min must be below sigma_max = {sigma_max}, got {sigma_min}")
    ramp = torch.linspace(0.0, 1.0, num_steps, dtype=dtype)
    largest, smallest = sigma_max ** (1.0 / rho), sigma_min ** (1.0 / rho)
    sigmas = ((largest + ramp * (smallest - largest)) ** rho).to(torch.float64)
    sigmas[0], sigmas[-1] = sigma_max, sigma_min
    return sigmas


def num_block_steps(fraction: float, num_steps: int) -> int:
    """Number of empirical steps in a block that covers ``fraction`` of a grid of ``num_steps`` levels.

    The paper names blocks by percentage only. ``ceil(fraction * num_steps)`` is inferred: it gives 22, 25, 26, 27, 28
    steps for 55, 62, 65, 67, 70 % of N = 39, and with them every printed epsilon. The hand-off level it implies,
    ``sigmas[k - 1]``, is the printed 1.5, 0.52, 0.28 for 55, 65, 70 %.

    Args:
        fraction: share of the grid in (0, 1].
        num_steps: number of levels of the grid, at least 2.

    Returns:
        k in 1..num_steps - 1: a step needs a level to arrive at.
    """
    fraction = check_probability(fraction, "fraction")
    num_steps = check_count(num_steps, "num_steps", minimum=2)
    # Percentages are decimal fractions: 0.55 * 40 must give 22, not 23, so binary dust is taken off before the ceiling.
    steps = math.ceil(round(fraction * num_steps, 9))
    return min(max(steps, 1), num_steps - 1)


def log_snr(sigmas: torch.Tensor) -> torch.Tensor:
    r"""The paper's axis of Figure 1: :math:`\log \mathrm{SNR}`, with :math:`\mathrm{SNR} = 1 / (4 \sigma^2)`.

    That is the variance of the data over that of the noise if the data have variance 1/4, as EDM assumes.

    Args:
        sigmas: noise levels, positive, any shape.

    Returns:
        natural logarithms, float64, the shape of ``sigmas``; rising as the noise falls.

    Raises:
        ValueError: a level that is not positive and finite.
    """
    levels = sigmas.to(torch.float64)
    if not bool((torch.isfinite(levels) & (levels > 0.0)).all()):
        raise ValueError(f"sigmas must lie in (0, inf), got {sigmas.tolist()}")
    return -math.log(4.0) - 2.0 * levels.log()
