"""The nearest of a set of reference pictures to each picture: whether what was drawn is a copy."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from privlib.metrics.principal import check_features


@dataclass(frozen=True)
class Nearest:
    """For each row the reference that is nearest to it.

    Attributes:
        index: int64, shape (n,).
        distance: Euclidean, float64, shape (n,).
    """

    index: torch.Tensor = field(repr=False)
    distance: torch.Tensor = field(repr=False)


def nearest(features: torch.Tensor, reference: torch.Tensor) -> Nearest:
    """The nearest reference of each row.

    Args:
        features: pictures or their features, shape (n, d).
        reference: shape (m, d).

    Raises:
        ValueError: different numbers of features, or values that are not finite.
    """
    rows, others = check_features("features", features), check_features("reference", reference)
    if rows.shape[1] != others.shape[1]:
        raise ValueError(
            f"features and reference must have the same number of features, got {rows.shape[1]} and {others.shape[1]}"
        )
    return _least(torch.cdist(rows, others))


def nearest_other(features: torch.Tensor) -> Nearest:
    """The nearest *other* row of each row of one set: how far apart pictures of one kind are when none is a copy.

    Raises:
        ValueError: fewer than two rows, or values that are not finite.
    """
    rows = check_features("features", features)
    return _least(torch.cdist(rows, rows).fill_diagonal_(torch.inf))


def _least(distances: torch.Tensor) -> Nearest:
    least = distances.min(dim=1)
    return Nearest(least.indices, least.values)
