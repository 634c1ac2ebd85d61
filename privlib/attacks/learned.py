"""An attack that learns where errors of members differ: a logistic model on the logarithm of error maps.

The learned variant of Duan et al. (2023) trains a residual network on error images of 20 % of the data. With hundreds
of images instead of ten thousand, a linear model with a fixed penalty is what can be trained; it is another, weaker
attack, and so has another name.
"""

from __future__ import annotations

import torch

from privlib.numerics import check_positive


class LearnedAttack:
    r"""Penalized logistic regression: minimizes :math:`\sum \log(1 + e^{-y s}) + \tfrac\lambda2 \lVert w\rVert^2`.

    Features are the logarithms of all values of a map and of their sum, scaled to mean 0 and deviation 1 over the
    images that are learned from. Both classes have the same weight. The minimum is unique; Newton's method finds it.

    Args:
        members, others: error maps of images that are never scored, shapes (m, *map) and (n, *map).
        penalty: :math:`\lambda`, positive.

    Raises:
        ValueError: maps of different shapes, fewer than two of a kind, or a penalty out of range.
    """

    def __init__(self, members: torch.Tensor, others: torch.Tensor, *, penalty: float = 10.0) -> None:
        if members.shape[1:] != others.shape[1:] or min(len(members), len(others)) < 2:
            raise ValueError(
                "members and others must be at least 2 maps of one shape each, got shapes "
                f"{tuple(members.shape)} and {tuple(others.shape)}"
            )
        penalty = check_positive("penalty", penalty)
        raw = torch.cat([_features(members), _features(others)])
        self._mean, self._scale = raw.mean(0), raw.std(0).clamp_min(1e-12)
        inputs = self._inputs(raw)
        truth = torch.cat([torch.ones(len(members)), torch.zeros(len(others))]).to(raw)
        weight = torch.cat([torch.full((len(part),), 0.5 * len(raw) / len(part)) for part in (members, others)]).to(raw)
        self._coefficients = _logistic(inputs, truth, weight, penalty)

    def __call__(self, maps: torch.Tensor) -> torch.Tensor:
        """Scores, larger for members, shape (n,)."""
        return self._inputs(_features(maps)) @ self._coefficients

    def _inputs(self, raw: torch.Tensor) -> torch.Tensor:
        scaled = (raw - self._mean) / self._scale
        return torch.cat([scaled, torch.ones(len(scaled), 1).to(scaled)], dim=1)


def _features(maps: torch.Tensor) -> torch.Tensor:
    flat = maps.to(torch.float64).flatten(1)
    # A floor far below any error of a network: an exact zero must not become minus infinity.
    return torch.cat([flat, flat.sum(1, keepdim=True)], dim=1).clamp_min(1e-30).log()


def _logistic(inputs: torch.Tensor, truth: torch.Tensor, weight: torch.Tensor, penalty: float) -> torch.Tensor:
    """Coefficients by Newton's method with halved steps; the last one, the constant, is not penalized."""
    ridge = torch.full((inputs.shape[1],), penalty).to(inputs)
    ridge[-1] = 1e-9
    signs = 2.0 * truth - 1.0

    def loss(at: torch.Tensor) -> torch.Tensor:
        margins = signs * (inputs @ at)
        return (weight * torch.nn.functional.softplus(-margins)).sum() + 0.5 * (ridge * at * at).sum()

    at = torch.zeros(inputs.shape[1]).to(inputs)
    for _ in range(100):
        chance = torch.sigmoid(inputs @ at)
        gradient = inputs.T @ (weight * (chance - truth)) + ridge * at
        curvature = (inputs.T * (weight * chance * (1.0 - chance))) @ inputs + torch.diag(ridge)
        step = torch.linalg.solve(curvature, gradient)
        before, length = loss(at), 1.0
        while loss(at - length * step) > before and length > 1e-6:
            length *= 0.5
        at = at - length * step
        if float(gradient @ step) < 1e-12:
            break
    return at
