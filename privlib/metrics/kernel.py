r"""The kernel distance between two sets of features, unbiased at any number of samples, with its standard error.

KID (Binkowski et al. 2018) is this distance on the features of the Inception network of FID. On other features it is a
squared maximum mean discrepancy too, but never KID: numbers from different features cannot be compared.

With the kernel :math:`k(x, y) = (x^\top y / d + 1)^3` on d features, m samples and n reference samples,

.. math:: \hat D = \frac1{m(m-1)} \sum_{i \ne j} k(x_i, x_j) + \frac1{n(n-1)} \sum_{i \ne j} k(y_i, y_j)
    - \frac2{mn} \sum_{i, j} k(x_i, y_j)

has the mean :math:`D = \|E k(x, \cdot) - E k(y, \cdot)\|^2` exactly, where a Fréchet distance of few samples is far too
large. So it may be negative where D is near 0.

**Standard error.** Not the scatter between overlapping subsets, which is that of a subset, but the exact variance of
:math:`\hat D`, by Hoeffding's decomposition. With :math:`\mu(\cdot), \nu(\cdot)` the mean kernel to a sample and to a
reference sample,

.. math:: \mathrm{Var}\, \hat D = \tfrac4m \mathrm{Var}(\mu - \nu)(x) + \tfrac4n \mathrm{Var}(\nu - \mu)(y)
    + \tfrac2{m(m-1)} q_{xx} + \tfrac2{n(n-1)} q_{yy} + \tfrac4{mn} q_{xy},

where q is the mean square of what remains of a kernel when its row and column means are taken off. Each term is
estimated without bias from sums over distinct indices (Sutherland and Deka 2019); a term that comes out negative is set
to 0, so that the error is some tenths too large where D is near 0, and right elsewhere.

**Few reference images.** The reference is a sample as well: the distance is to the population behind it, not to the
very images. Its part of the error, in 1 / n, stays however many samples are drawn. With some 50 images of a style it is
most of the error, so that a distance to them says little by itself. But it is the same reference for all generators and
drops out of a *difference* between two of them to a large part: compare generators by ``kernel_difference``. A
generator that was adapted to these very images is not independent of them, and then its distance to the population is
understated; held-out images of the same kind would tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import torch

from privlib.metrics.principal import check_features
from privlib.numerics import check_probability

#: The variance needs sums over four distinct samples.
MIN_SAMPLES = 4

#: Rows of a kernel matrix that are held at a time.
_BLOCK = 1024


@dataclass(frozen=True)
class KernelEstimate:
    """A kernel distance to a reference, or a difference of two.

    Attributes:
        value: unbiased; a distance may come out negative when the true one is near 0.
        standard_error: of ``value``, for samples and reference drawn anew.
        reference_error: the part of it that stays with infinitely many samples and this many reference samples.
        lower, upper: ``value`` plus and minus a normal quantile of the standard error.
        confidence: of the interval.
        num_samples, num_reference: sizes of the sets.
    """

    value: float
    standard_error: float
    reference_error: float
    lower: float
    upper: float
    confidence: float
    num_samples: int
    num_reference: int


def kernel_distance(features: torch.Tensor, reference: torch.Tensor, *, confidence: float = 0.95) -> KernelEstimate:
    """Squared maximum mean discrepancy with the cubic kernel; the formula is that of the module.

    Args:
        features: of the samples, shape (num_samples, d), rows independent.
        reference: shape (num_reference, d).
        confidence: of the interval, in (0, 1).

    Raises:
        ValueError: fewer than 4 rows, different numbers of features, values that are not finite, a confidence that is
            out of range.

    Cost: (num_samples + num_reference)^2 d multiplications, in blocks.
    """
    samples, population = _checked({"features": features}, reference)
    signed = [(1.0, samples["features"])]
    return _estimate(_within(signed), _cross(signed, population), _within([(1.0, population)]), confidence)


def kernel_difference(
    first: torch.Tensor, second: torch.Tensor, reference: torch.Tensor, *, confidence: float = 0.95
) -> KernelEstimate:
    """Kernel distance of ``first`` minus that of ``second`` to one reference, with the error of the difference itself.

    Rows belong in pairs: row i of both sets may share its noise, or whatever else the generators have in common. Sets
    without anything in common are paired too, in any order. The terms of the reference alone cancel; what is left is
    the distance of one set of pairs with the kernel ``k(x_i, x_j) - k(x'_i, x'_j)``, and has the same variance formula.

    Args:
        first, second: features of two generators, both of shape (num_samples, d).
        reference: shape (num_reference, d).
        confidence: of the interval, in (0, 1).

    Raises:
        ValueError: as ``kernel_distance``, and for sets of different sizes.
    """
    samples, population = _checked({"first": first, "second": second}, reference)
    if len(first) != len(second):
        raise ValueError(f"first and second must hold pairs, got {len(first)} and {len(second)} rows")
    signed = [(1.0, samples["first"]), (-1.0, samples["second"])]
    return _estimate(_within(signed), _cross(signed, population), None, confidence)


def _checked(samples: dict[str, torch.Tensor], reference: torch.Tensor) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    checked = {name: check_features(name, rows) for name, rows in (samples | {"reference": reference}).items()}
    population = checked.pop("reference")
    for name, rows in checked.items():
        if rows.shape[1] != population.shape[1]:
            raise ValueError(
                f"{name} and reference must have the same number of features, "
                f"got {rows.shape[1]} and {population.shape[1]}"
            )
    for name, rows in (checked | {"reference": population}).items():
        if len(rows) < MIN_SAMPLES:
            raise ValueError(f"{name} must hold at least {MIN_SAMPLES} samples, got {len(rows)}")
    return checked, population


def _kernel(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    return (first @ second.T / first.shape[1] + 1.0) ** 3


@dataclass(frozen=True)
class _Within:
    """Sums of a kernel matrix of one set without its diagonal: of each row, and of all squares."""

    rows: torch.Tensor
    squares: torch.Tensor

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def mean(self) -> torch.Tensor:
        return self.rows.sum() / (self.count * (self.count - 1))

    @property
    def moments(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Unbiased E k(1,2)^2, E k(1,2) k(1,3), and E k(1,2) k(3,4) over distinct samples."""
        m, total, rows = self.count, self.rows.sum(), self.rows.square().sum()
        triples = m * (m - 1) * (m - 2)
        disjoint = (total**2 - 4.0 * rows + 2.0 * self.squares) / (triples * (m - 3))
        return self.squares / (m * (m - 1)), (rows - self.squares) / triples, disjoint


@dataclass(frozen=True)
class _Cross:
    """Sums of the kernel matrix between two sets: of each row, of each column, and of all squares."""

    rows: torch.Tensor
    columns: torch.Tensor
    squares: torch.Tensor

    @property
    def mean(self) -> torch.Tensor:
        return self.rows.sum() / (len(self.rows) * len(self.columns))

    @property
    def moments(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Unbiased E k(x,y)^2, E k(x,y) k(x,y'), E k(x,y) k(x',y), and E k(x,y) k(x',y') over distinct samples."""
        m, n, squares = len(self.rows), len(self.columns), self.squares
        rows, columns = self.rows.square().sum(), self.columns.square().sum()
        disjoint = (self.rows.sum() ** 2 - rows - columns + squares) / (m * (m - 1) * n * (n - 1))
        pairs = m * n
        return squares / pairs, (rows - squares) / (pairs * (n - 1)), (columns - squares) / (pairs * (m - 1)), disjoint


#: Sets whose kernels are added with these signs.
_Signed = Sequence[tuple[float, torch.Tensor]]


def _within(signed: _Signed) -> _Within:
    count = len(signed[0][1])
    rows, squares = [], 0.0
    for start in range(0, count, _BLOCK):
        block = sum(sign * _kernel(values[start : start + _BLOCK], values) for sign, values in signed)
        block.diagonal(start).zero_()
        rows.append(block.sum(1))
        squares = squares + block.square().sum()
    return _Within(torch.cat(rows), squares)


def _cross(signed: _Signed, reference: torch.Tensor) -> _Cross:
    count = len(signed[0][1])
    rows, columns, squares = [], 0.0, 0.0
    for start in range(0, count, _BLOCK):
        block = sum(sign * _kernel(values[start : start + _BLOCK], reference) for sign, values in signed)
        rows.append(block.sum(1))
        columns = columns + block.sum(0)
        squares = squares + block.square().sum()
    return _Cross(torch.cat(rows), columns, squares)


def _covariance(within: _Within, cross_rows: torch.Tensor, others: int) -> torch.Tensor:
    """Unbiased Cov(mu(x), nu(x)), from the row sums of the kernel to the own set and to the other one."""
    m, product = within.count, (within.rows * cross_rows).sum()
    total = within.rows.sum() * cross_rows.sum()
    return product / (m * (m - 1) * others) - (total - 2.0 * product) / (m * (m - 1) * (m - 2) * others)


def _variance_parts(samples: _Within, cross: _Cross, reference: _Within | None) -> dict[str, float]:
    """The five terms of the variance, each without bias; without ``reference`` those of its own kernel are 0."""
    m, n = len(cross.rows), len(cross.columns)
    square, own, disjoint = samples.moments
    both, along_rows, along_columns, apart = cross.moments
    parts = {
        "samples": 4.0 / m * (own - disjoint + along_rows - apart - 2.0 * _covariance(samples, cross.rows, n)),
        "reference": 4.0 / n * (along_columns - apart),
        "within samples": 2.0 / (m * (m - 1)) * (square - 2.0 * own + disjoint),
        "within reference": torch.zeros(()),
        "cross": 4.0 / (m * n) * (both - along_rows - along_columns + apart),
    }
    if reference is not None:
        square, own, disjoint = reference.moments
        parts["reference"] += 4.0 / n * (own - disjoint - 2.0 * _covariance(reference, cross.columns, m))
        parts["within reference"] = 2.0 / (n * (n - 1)) * (square - 2.0 * own + disjoint)
    return {name: float(part) for name, part in parts.items()}


def _estimate(samples: _Within, cross: _Cross, reference: _Within | None, confidence: float) -> KernelEstimate:
    if check_probability(confidence, "confidence") == 1.0:
        raise ValueError("confidence must lie in (0, 1), got 1")
    value = float(samples.mean - 2.0 * cross.mean + (0.0 if reference is None else reference.mean))
    parts = {name: max(part, 0.0) for name, part in _variance_parts(samples, cross, reference).items()}
    error = sum(parts.values()) ** 0.5
    reach = NormalDist().inv_cdf(0.5 + 0.5 * confidence) * error
    return KernelEstimate(
        value=value,
        standard_error=error,
        reference_error=(parts["reference"] + parts["within reference"]) ** 0.5,
        lower=value - reach,
        upper=value + reach,
        confidence=confidence,
        num_samples=len(cross.rows),
        num_reference=len(cross.columns),
    )
