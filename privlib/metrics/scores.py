r"""Means of paired scores, and their differences, with intervals that hold for few rows.

Row i of every method shares its prompt, its first noise or the number of its release, so that a difference is taken row
by row. With :math:`d_i = \sum_k w_k x_{ki}` the rows of a contrast, mean :math:`\bar d` and standard deviation s,

.. math:: \bar d \pm t_{n-1,\, (1 + c)/2}\; s / \sqrt n

covers with confidence c exactly where rows are normal, however few. (A percentile bootstrap of ten rows is a fifth
narrower at 98 %, and where the confidence is split among several differences such tails are what counts.)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from scipy.stats import t as student

from privlib.metrics.trends import falling
from privlib.numerics import check_probability
from privlib.types import Trend

#: Two rows leave one degree of freedom, whose interval says nothing.
MIN_ROWS = 3


@dataclass(frozen=True)
class Mean:
    """A mean, or a contrast of means, with the interval of its sampling error; an estimate, and no proved bound."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.lower:.3f}, {self.upper:.3f}]"


@dataclass(frozen=True)
class PairedScores:
    """Scores of several methods, row i of all in a pair.

    Attributes:
        rows: by method, each of shape (n,), n at least 3.

    Raises:
        ValueError: methods with different numbers of rows, too few, or values that are not finite.
    """

    rows: Mapping[Hashable, torch.Tensor] = field(repr=False)

    def __post_init__(self) -> None:
        lengths = {tuple(rows.shape) for rows in self.rows.values()}
        if len(lengths) != 1 or len(next(iter(lengths))) != 1:
            raise ValueError(f"rows must all have one shape (n,), got {sorted(lengths)}")
        if next(iter(lengths))[0] < MIN_ROWS:
            raise ValueError(f"rows must be at least {MIN_ROWS}, got {next(iter(lengths))[0]}")
        if not all(bool(torch.isfinite(rows).all()) for rows in self.rows.values()):
            raise ValueError("rows must be finite, got NaN or infinity")

    def contrast(self, weights: Mapping[Hashable, float], *, confidence: float = 0.95) -> Mean:
        """The weighted sum of the means of methods.

        Args:
            weights: by method.
            confidence: of the interval, in (0, 1).
        """
        check_probability(confidence, "confidence")
        values = sum(weight * self.rows[name].double().cpu() for name, weight in weights.items())
        reach = student.ppf(0.5 * (1.0 + confidence), len(values) - 1) * float(values.std()) / math.sqrt(len(values))
        mean = float(values.mean())
        return Mean(mean, mean - reach, mean + reach)

    def mean(self, name: Hashable, *, confidence: float = 0.95) -> Mean:
        """The mean score of one method."""
        return self.contrast({name: 1.0}, confidence=confidence)

    def difference(self, first: Hashable, second: Hashable, *, confidence: float = 0.95) -> Mean:
        """The mean of ``first`` minus that of ``second``."""
        return self.contrast({first: 1.0, second: -1.0}, confidence=confidence)

    def falls(self, names: Sequence[Hashable], *, confidence: float = 0.95) -> Trend:
        """Whether the mean falls along ``names``, in the sense of ``trends.falling``; they share the confidence.

        Raises:
            ValueError: fewer than two names.
        """
        if len(names) < 2:
            raise ValueError(f"names must be at least two, got {list(names)}")
        pairs = [(names[0], names[-1]), *zip(names, names[1:], strict=False)]
        split = 1.0 - (1.0 - confidence) / len(set(pairs))
        overall, *steps = (self.difference(b, a, confidence=split) for a, b in pairs)
        return falling(steps, overall)

    def intervals_below(self, first: Hashable, second: Hashable, *, confidence: float = 0.95) -> Trend:
        """Whether the interval of ``first`` lies below that of ``second``: stricter than a difference below zero."""
        lower, upper = self.mean(first, confidence=confidence), self.mean(second, confidence=confidence)
        if lower.lower > upper.upper:
            return Trend.FAILS
        return Trend.HOLDS if lower.upper < upper.lower else Trend.UNRESOLVED
