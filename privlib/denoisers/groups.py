"""Public groups of images: the coarse public code in which private records may be counted."""

from __future__ import annotations

import torch

from privlib.denoisers.exact import square_bits, squared_distances_to_all
from privlib.numerics import check_count


class PublicGroups:
    """Groups of public images: k-means in a public feature space, and the group of any other image.

    ``assign`` treats every row by itself, bit for bit: features are clamped and rounded to a public grid on which
    squared distances are exact sums, so the group of one record cannot hang on the rounding of another. Features must
    come from a function that was made without the private records; compute them so that an image's features do not
    depend on its batch.

    Args:
        features: public features, one row for each public image, shape (m, r).
        num_groups: number K of groups, from 1 to m.
        seed: of the first centers, a random choice of images.
        iterations: of Lloyd's algorithm.

    Attributes:
        index: group of every public image, int64, shape (m,).
        sizes: number of public images in each group, int64, shape (K,).
    """

    def __init__(self, features: torch.Tensor, num_groups: int, *, seed: int = 0, iterations: int = 25) -> None:
        if features.ndim != 2 or len(features) == 0 or not bool(torch.isfinite(features).all()):
            raise ValueError(f"features must be finite, of shape (m, r) with m >= 1, got {tuple(features.shape)}")
        if check_count(num_groups, "num_groups") > len(features):
            raise ValueError(f"num_groups must lie in 1..{len(features)}, got {num_groups}")
        rows = features.to(torch.float64)
        self._middle = rows.mean(0)
        self._radius = float((rows - self._middle).abs().max()) or 1.0
        # Four sums of squares of whole numbers of this many bits stay below 2^53.
        self._levels = 2.0 ** (square_bits(rows.shape[1]) - 1)
        rows = self._on_grid(rows)
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
        self._centers = rows[order[:num_groups]].clone()
        for _ in range(iterations):
            index = squared_distances_to_all(rows, self._centers).argmin(1)
            sizes = torch.bincount(index, minlength=num_groups)
            sums = torch.zeros_like(self._centers).index_add_(0, index, rows)
            self._centers = torch.where(sizes[:, None] > 0, (sums / sizes[:, None]).round_(), self._centers)
        self.index = squared_distances_to_all(rows, self._centers).argmin(1)
        self.sizes = torch.bincount(self.index, minlength=num_groups)

    def _on_grid(self, features: torch.Tensor) -> torch.Tensor:
        inside = ((features.to(torch.float64) - self._middle) / self._radius).clamp_(-1.0, 1.0)
        return inside.mul_(self._levels).round_()

    def assign(self, features: torch.Tensor) -> torch.Tensor:
        """Group of every row, int64, shape (n,); the first of several nearest centers."""
        if features.ndim != 2 or features.shape[1] != self._centers.shape[1]:
            raise ValueError(
                f"features must have shape (n, {self._centers.shape[1]}) like the public ones, "
                f"got {tuple(features.shape)}"
            )
        if not bool(torch.isfinite(features).all()):
            raise ValueError("features must be finite, got NaN or infinity")
        return squared_distances_to_all(self._on_grid(features), self._centers).argmin(1)

    def counts(self, features: torch.Tensor) -> torch.Tensor:
        """Number of rows in each group, int64, shape (K,): private when the features are."""
        return torch.bincount(self.assign(features), minlength=len(self.sizes))
