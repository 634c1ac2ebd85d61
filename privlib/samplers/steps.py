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

Denoiser = Callable[[torch.Tensor, torch.Tensor | float], torch.Tensor]


def euler_maruyama_step(
    x: torch.Tensor, denoised: torch.Tensor, t: float, s: float, *, noise: torch.Tensor
) -> torch.Tensor:
    r"""Euler-Maruyama on the reverse-time variance-exploding SDE, from ``t`` down to ``s``; equation 1 of the paper.

    .. math:: x_s = x_t + \frac{2 (t - s)}{t} (E - x_t) + \sqrt{2 t (t - s)}\, z

    The paper's text does not print the step in full; this form, charged as in ``mechanisms``, gives its numbers.
    On a coarse grid it leaves more noise than ``s``, see ``euler_maruyama_noise``.
    """
    _check_down(t, s)
    return x + (2.0 * (t - s) / t) * (denoised - x) + math.sqrt(2.0 * t * (t - s)) * noise


def euler_maruyama_noise(level: float, t: float, s: float) -> float:
    r"""Noise around the denoised image after ``euler_maruyama_step``, if there was noise of ``level`` before.

    .. math:: \Bigl(1 - \frac{2 (t - s)}{t}\Bigr)^2 \text{level}^2 + 2 t (t - s)

    is its square, for a denoised image that stays where it is. Along a grid of constant ratio r = s/t > 1/2 the noise
    settles at :math:`\sqrt{2 / (3 r - 1)}` times the level of the grid: a fifth too much for r = 0.8. A denoiser that
    is told the level of the grid takes the rest for picture.
    """
    return math.hypot((1.0 - 2.0 * (t - s) / t) * level, math.sqrt(2.0 * t * (t - s)))


def ancestral_step(x: torch.Tensor, denoised: torch.Tensor, t: float, s: float, *, noise: torch.Tensor) -> torch.Tensor:
    r"""A draw of ``x_s`` given ``x_t`` and the clean image, with the denoised image in its place.

    .. math:: x_s = E + \frac{s^2}{t^2} (x_t - E) + s \sqrt{1 - \frac{s^2}{t^2}}\, z

    The variance-exploding form of the posterior in Ho et al. (2020), equation 7.
    """
    _check_down(t, s)
    kept = (s / t) ** 2
    return denoised + kept * (x - denoised) + s * math.sqrt((t - s) * (t + s)) / t * noise


def ancestral_noise(level: float, t: float, s: float) -> float:
    """Noise around the denoised image after ``ancestral_step``: exactly ``s`` if there was noise of ``t`` before."""
    return math.hypot((s / t) ** 2 * level, s * math.sqrt((t - s) * (t + s)) / t)


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
        noise_after: ``noise_after(level, t, s)``, the noise around the denoised image after an update from t to s, if
            there was noise of ``level`` before and the denoised image stays where it is.
    """

    name: str
    update: Callable[..., torch.Tensor]
    gdp_mu: Callable[..., torch.Tensor]
    noise_after: Callable[[float, float, float], float]


EULER_MARUYAMA = PrivateStep("Euler-Maruyama", euler_maruyama_step, reverse_sde_gdp_mu, euler_maruyama_noise)
ANCESTRAL = PrivateStep("ancestral", ancestral_step, ancestral_gdp_mu, ancestral_noise)
