r"""Single updates of a sample's state, as pure functions: noise comes in, nothing is drawn here.

``x`` and ``denoised`` have shape (batch, *event), float64; ``t`` is the noise level of ``x``, ``s`` the level to go to;
``noise`` is standard normal of the shape of ``x``. A ``PrivateStep`` ties an update to the GDP parameter that it is
charged, so that no sampler can run one and charge another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from privlib.mechanisms import ancestral_gdp_mu, reverse_sde_gdp_mu
from privlib.numerics import check_sigmas

Denoiser = Callable[[torch.Tensor, torch.Tensor | float], torch.Tensor]


def euler_maruyama_step(
    x: torch.Tensor, denoised: torch.Tensor, t: float, s: float, *, noise: torch.Tensor
) -> torch.Tensor:
    r"""Euler-Maruyama on the reverse-time variance-exploding SDE, from ``t`` down to ``s``; equation 1 of the paper.

    .. math:: x_s = x_t + \frac{2 (t - s)}{t} (E - x_t) + \sqrt{2 t (t - s)}\, z

    The paper's text does not print the step in full; this form, charged as in ``mechanisms``, gives its numbers.
    """
    _check_down(t, s)
    return x + (2.0 * (t - s) / t) * (denoised - x) + math.sqrt(2.0 * t * (t - s)) * noise


def euler_maruyama_noise(sigmas: object) -> torch.Tensor:
    r"""Noise that Euler-Maruyama steps leave in the state: more than its level says, the more the coarser the grid.

    Around a denoised image E that stays the same, the variance of each coordinate of x - E follows

    .. math:: v_{i+1} = \Bigl(1 - \frac{2 (t_i - t_{i+1})}{t_i}\Bigr)^2 v_i + 2 t_i (t_i - t_{i+1}),
              \qquad v_0 = t_0^2,

    where :math:`t^2` is meant. The excess is of first order: if t falls by the same share :math:`\delta` in each step,
    :math:`v / t^2` tends to :math:`1 / (1 - 1.5\, \delta)`.

    Args:
        sigmas: decreasing noise levels.

    Returns:
        :math:`\sqrt{v_i}`, float64, one for each level.

    Raises:
        ValueError: a bad grid.
    """
    levels = check_sigmas(sigmas).tolist()
    variances = [levels[0] ** 2]
    for t, s in zip(levels, levels[1:], strict=False):
        variances.append((1.0 - 2.0 * (t - s) / t) ** 2 * variances[-1] + 2.0 * t * (t - s))
    return torch.tensor(variances, dtype=torch.float64).sqrt()


def ancestral_step(x: torch.Tensor, denoised: torch.Tensor, t: float, s: float, *, noise: torch.Tensor) -> torch.Tensor:
    r"""A draw of ``x_s`` given ``x_t`` and the clean image, with the denoised image in its place.

    .. math:: x_s = E + \frac{s^2}{t^2} (x_t - E) + s \sqrt{1 - \frac{s^2}{t^2}}\, z

    The variance-exploding form of the posterior in Ho et al. (2020), equation 7.
    """
    _check_down(t, s)
    kept = (s / t) ** 2
    return denoised + kept * (x - denoised) + s * math.sqrt((t - s) * (t + s)) / t * noise


def renoise(x: torch.Tensor, s: float, t: float, *, noise: torch.Tensor) -> torch.Tensor:
    r"""From level ``s`` back up to ``t``: :math:`x_t = x_s + \sqrt{t^2 - s^2}\, z`."""
    _check_down(t, s)
    return x + math.sqrt((t - s) * (t + s)) * noise


def heun_step(denoiser: Denoiser, x: torch.Tensor, denoised: torch.Tensor, t: float, s: float) -> torch.Tensor:
    r"""Heun's step on the probability-flow ODE :math:`dx/d\sigma = (x - D(x, \sigma)) / \sigma`.

    Algorithm 1 of Karras et al. (2022): an Euler step, then the slope at its end is averaged in. To ``s = 0`` the Euler
    step alone, which is ``denoised``. Error of a path O(step^2).

    Args:
        denoiser: for the second evaluation.
        x: state at ``t``.
        denoised: ``denoiser(x, t)``.
        t, s: levels, 0 <= s < t.
    """
    _check_down(t, s, to_zero=True)
    if s == 0.0:
        return denoised.clone()
    slope = (x - denoised) / t
    ahead = x + (s - t) * slope
    return x + (s - t) * 0.5 * (slope + (ahead - denoiser(ahead, s)) / s)


def _check_down(t: float, s: float, *, to_zero: bool = False) -> None:
    if not 0.0 <= s < t < math.inf or (s == 0.0 and not to_zero):
        raise ValueError(f"t and s must be noise levels, 0 {'<=' if to_zero else '<'} s < t, got t = {t}, s = {s}")


@dataclass(frozen=True)
class PrivateStep:
    """An update with its charge.

    Attributes:
        name: what to call it on a page.
        update: ``update(x, denoised, t, s, *, noise)``.
        gdp_mu: ``gdp_mu(sigmas, *, sensitivity)``, one value for each step of the grid (see ``mechanisms``).
    """

    name: str
    update: Callable[..., torch.Tensor]
    gdp_mu: Callable[..., torch.Tensor]


EULER_MARUYAMA = PrivateStep("Euler-Maruyama", euler_maruyama_step, reverse_sde_gdp_mu)
ANCESTRAL = PrivateStep("ancestral", ancestral_step, ancestral_gdp_mu)
