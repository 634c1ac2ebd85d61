r"""How far two denoisers agree along a path: the cosine between their directions, and the distance of their outputs.

The direction of a denoiser D at the state x is x - D(x, sigma): a step of the sampler goes against it. Both directions
contain the noise in x. At high noise it dwarfs what the denoisers disagree about, so a cosine near 1 there says little;
the distance of the outputs does not have that flaw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import torch

from privlib.numerics import check_count, check_positive
from privlib.types import Interval


def direction_cosine(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    r"""Cosine between the directions of two denoisers, for each row.

    .. math:: \cos(x - a, x - b) = \frac{\langle x - a, x - b \rangle}{\|x - a\| \|x - b\|}

    Args:
        x: state, shape (batch, *event).
        first, second: outputs a and b of the denoisers there, the same shape.

    Returns:
        float64, shape (batch,).

    Raises:
        ValueError: shapes that differ; an output that equals the state, whose direction is undefined.
    """
    _check_shapes(x, first, second)
    one, two = ((x.to(torch.float64) - output.to(torch.float64)).flatten(1) for output in (first, second))
    norms = torch.linalg.vector_norm(one, dim=1) * torch.linalg.vector_norm(two, dim=1)
    if not bool((norms > 0.0).all()):
        raise ValueError("first and second must differ from x in every row, or there is no direction")
    return ((one * two).sum(dim=1) / norms).clamp(-1.0, 1.0)


def squared_distance(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """``||first - second||^2``, summed over the event and not averaged: float64, shape (batch,), for each row.

    Raises:
        ValueError: shapes that differ.
    """
    _check_shapes(first, second)
    return (first.to(torch.float64) - second.to(torch.float64)).flatten(1).square().sum(dim=1)


def implied_distance(cosine: Interval, sigma: float, dimension: int) -> Interval:
    r"""The distance of two outputs that a cosine between their directions implies.

    If x - D is the noise alone, of norm :math:`\sigma \sqrt d`, and the difference of the outputs is orthogonal to it,

    .. math:: \|a - b\| = \sigma \sqrt d \sqrt{\cos^{-2} - 1} .

    Both hold nearly in high dimension: the noise has that norm, and what a denoiser gets wrong hardly depends on the
    noise it has removed. The cosine comes as the interval that its printed digits stand for.

    Args:
        cosine: interval within (0, 1].
        sigma: noise that is in the state; after Euler-Maruyama steps more than its level (``euler_maruyama_noise``).
        dimension: d, pixels times channels.

    Raises:
        ValueError: an argument outside its range.
    """
    if not 0.0 < cosine.lower <= cosine.upper <= 1.0:
        raise ValueError(f"cosine must lie within (0, 1], got [{cosine.lower}, {cosine.upper}]")
    norm = check_positive("sigma", sigma) * math.sqrt(check_count(dimension, "dimension"))
    return Interval(*(norm * math.sqrt(1.0 / end**2 - 1.0) for end in (cosine.upper, cosine.lower)))


@dataclass
class Directions:
    """An observer that compares the denoiser of a sampler with another one at the states of its path.

    Pass it as ``observe`` to a sampler. Memory: two numbers a sample and step. Cost: ``other`` at every step compared.

    Attributes:
        other: the denoiser that is compared, called at the sampler's own states.
        steps: steps of the grid at which to compare; None for all.
        sigmas: noise levels of the steps compared so far.
    """

    other: Callable[[torch.Tensor, float], torch.Tensor]
    steps: Collection[int] | None = None
    sigmas: list[float] = field(default_factory=list, init=False)
    _cosines: list[torch.Tensor] = field(default_factory=list, init=False, repr=False)
    _distances: list[torch.Tensor] = field(default_factory=list, init=False, repr=False)

    def __call__(self, index: int, sigma: float, x: torch.Tensor, denoised: torch.Tensor) -> None:
        if self.steps is not None and index not in self.steps:
            return
        compared = self.other(x, sigma)
        self.sigmas.append(sigma)
        self._cosines.append(direction_cosine(x, denoised, compared).cpu())
        self._distances.append(squared_distance(denoised, compared).cpu())

    @property
    def cosines(self) -> torch.Tensor:
        """Cosine between the directions, float64, shape (steps, count)."""
        return torch.stack(self._cosines)

    @property
    def squared_distances(self) -> torch.Tensor:
        """Squared distance of the outputs, summed over pixels and channels, float64, shape (steps, count)."""
        return torch.stack(self._distances)


@dataclass(frozen=True)
class SeedAverage:
    """Mean over seeds, and its standard error: the deviation between seeds over the root of their number."""

    mean: torch.Tensor
    standard_error: torch.Tensor


def average_over_seeds(values: torch.Tensor) -> SeedAverage:
    """Average results that were computed with several seeds, each of them a mean over its own samples.

    Args:
        values: shape (seeds, *rest), at least two seeds.

    Raises:
        ValueError: fewer than two seeds, from which no error can be told; values that are not finite.
    """
    check_count(len(values), "number of seeds", minimum=2)
    if not bool(torch.isfinite(values).all()):
        raise ValueError("values must be finite, got NaN or infinity")
    return SeedAverage(values.mean(dim=0), values.std(dim=0) / math.sqrt(len(values)))


def _check_shapes(x: torch.Tensor, *outputs: torch.Tensor) -> None:
    if any(output.shape != x.shape for output in outputs) or x.ndim < 2:
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in (x, *outputs))
        raise ValueError(f"states and outputs must have one shape (batch, *event), got {shapes}")
