"""A weighted mean of which weights and values arrive in pieces, the weights as logarithms."""

from __future__ import annotations

import math

import torch

#: Log-weights against the largest so far are not taken below this: e^-60 of a total of at least 1 changes nothing, and
#: the subnormal numbers further down make exponentials and products several times slower.
_LEAST = -60.0


class RunningMean:
    r"""The mean :math:`\sum_i e^{l_i} v_i / \sum_i e^{l_i}` over all pieces so far, without overflow.

    Weights are taken relative to the largest so far; when a larger one comes, what was summed is scaled down.

    Args:
        batch: number of means kept side by side, each with its own weights over the same values.
        width: numbers in one value.
        device: where they live.
    """

    def __init__(self, batch: int, width: int, device: torch.device) -> None:
        self._top = torch.full((batch,), -math.inf, dtype=torch.float64, device=device)
        self._total = torch.zeros_like(self._top)
        self._sum = torch.zeros(batch, width, dtype=torch.float64, device=device)

    @property
    def log_total(self) -> torch.Tensor:
        """Logarithm of the sum of all weights so far, float64, shape (batch,)."""
        return self._top + self._total.log()

    def add(self, log_weights: torch.Tensor, values: torch.Tensor) -> None:
        """Take in ``log_weights``, float64 of shape (batch, t), for ``values``, floating point of shape (t, width)."""
        top = torch.maximum(self._top, log_weights.amax(dim=1))
        weights = (log_weights - top[:, None]).to(values.dtype).clamp_(min=_LEAST).exp_()
        self._rescale(top)
        self._total += weights.sum(dim=1, dtype=torch.float64)
        # A sum in float32 would lose weights that are small against all weights so far, however many they are.
        self._sum += weights @ values

    def merge(self, other: RunningMean) -> None:
        """Take in all pieces that ``other`` has taken in, at least one."""
        top = torch.maximum(self._top, other._top)
        self._rescale(top)
        share = (other._top - top).exp()
        self._total += share * other._total
        self._sum += share[:, None] * other._sum

    def _rescale(self, top: torch.Tensor) -> None:
        shrink = (self._top - top).exp()
        self._total *= shrink
        self._sum *= shrink[:, None]
        self._top = top

    def mean(self) -> torch.Tensor:
        """The mean, float64, shape (batch, width)."""
        return self._sum.to(torch.float64) / self._total[:, None]
