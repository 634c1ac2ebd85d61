"""Small denoisers with closed forms. All work row by row, so that a row's bits do not depend on the batch."""

from __future__ import annotations

import torch


class GaussianData:
    """Posterior mean for data N(mean, variance) in every coordinate; also the exact probability-flow ODE."""

    def __init__(self, mean: float = 0.3, variance: float = 0.25) -> None:
        self.mean, self.variance = mean, variance

    def __call__(self, x, sigma):
        return self.mean + self.variance / (self.variance + sigma**2) * (x - self.mean)

    def ode(self, x, t: float, s: float):
        """Where the ODE takes ``x`` from level ``t`` to ``s``."""
        return self.mean + (x - self.mean) * ((self.variance + s**2) / (self.variance + t**2)) ** 0.5


class Sums:
    """Public shrinkage plus the sum of the block's records, each a vector of norm ``reach(sigma)``.

    Adding or removing a record moves the output by exactly ``reach(sigma)``.
    """

    def __init__(self, num_records: int = 6, image_shape: tuple[int, ...] = (2, 2), seed: int = 0, scale: float = 1.0):
        rows = torch.randn(
            num_records, *image_shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
        )
        self.records = rows / rows.flatten(1).norm(dim=1).reshape(-1, *[1] * len(image_shape))
        self.num_records, self.image_shape, self.scale = num_records, image_shape, scale

    def reach(self, sigma: float) -> float:
        return self.scale * sigma / (1.0 + sigma)

    def _row(self, x, sigma, chosen):
        total = 0.5 * x / (1.0 + sigma)
        for j in chosen:
            total = total + self.reach(sigma) * self.records[j].to(x)
        return total

    def __call__(self, x, sigma):
        return torch.stack([self._row(row, sigma, range(self.num_records)) for row in x])

    def on_blocks(self, blocks):
        chosen = [[j for j in row if j >= 0] for row in blocks.index.tolist()]
        return lambda x, sigma: torch.stack([self._row(*row) for row in zip(x, [sigma] * len(x), chosen, strict=True)])


class ProvedSums(Sums):
    """``Sums`` that states its sensitivity."""

    def sensitivity(self, sigma: float) -> float:
        return self.reach(sigma)


class Unit(Sums):
    """Sensitivity 1 at every level, the paper's accounting with beta = 1."""

    def reach(self, sigma: float) -> float:
        return 1.0

    def sensitivity(self, sigma: float) -> float:
        return 1.0
