"""Paired bootstrap intervals: rows are resampled whole, so what two columns share cancels in their difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from privlib.numerics import check_count, check_probability

#: Resampling fewer rows than this says nothing: the interval of a mean would be far too narrow.
MIN_ROWS = 10


@dataclass(frozen=True)
class BootstrapEstimate:
    """A statistic and the percentile interval of its sampling error; an estimate, and no proved bound."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.lower:.3f}, {self.upper:.3f}]"


def paired_bootstrap(
    rows: torch.Tensor,
    statistic: Callable[..., np.ndarray],
    *,
    resamples: int = 4000,
    confidence: float = 0.95,
    seed: int = 0,
) -> BootstrapEstimate:
    """A function of column means, with the percentile interval of resampling rows with replacement.

    Examples: ``lambda a: a`` for a mean, ``lambda a, b: a - b`` for a paired difference, ``lambda a, b: a / b`` for a
    ratio of means.

    Args:
        rows: one row for each sample, shape (n,) or (n, columns), n at least 10, finite.
        statistic: takes the mean of each column as arrays of one shape and returns an array of that shape.
        resamples: number of resamples, at least 100.
        confidence: of the interval, in (0, 1].
        seed: of the resampling.

    Raises:
        ValueError: too few rows, values that are not finite (such as the PSNR of equal images), a statistic that is not
            finite, an argument outside its range.

    Cost: resamples x n numbers, 0.1 s for 2,000 rows.
    Source: Efron and Tibshirani 1993, chapter 13. Percentile intervals of 10 rows are some tenth too narrow.
    """
    check_count(resamples, "resamples", minimum=100)
    check_probability(confidence, "confidence")
    values = rows.detach().cpu().to(torch.float64).reshape(len(rows), -1).numpy()
    if len(values) < MIN_ROWS:
        raise ValueError(f"rows must be at least {MIN_ROWS} samples for a bootstrap interval, got {len(values)}")
    if not np.isfinite(values).all():
        raise ValueError("rows must be finite, got NaN or infinity")
    counts = np.random.default_rng(seed).multinomial(len(values), np.full(len(values), 1.0 / len(values)), resamples)
    drawn = statistic(*(counts @ values / len(values)).T)
    value = float(statistic(*values.mean(axis=0)))
    if not (np.isfinite(value) and np.isfinite(drawn).all()):
        raise ValueError("statistic must be finite on every resample; it divides by a mean that can be 0")
    tail = 0.5 * (1.0 - confidence)
    return BootstrapEstimate(value, *(float(end) for end in np.quantile(drawn, [tail, 1.0 - tail])))
