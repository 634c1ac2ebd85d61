r"""The Fréchet distance between two sets of features, with its bias and its sampling error.

FID (Heusel et al. 2017) is this distance on the features of one particular Inception network. On other features it is
a Fréchet distance too, but never FID: numbers from different features cannot be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from privlib.metrics.principal import check_features, principal_components
from privlib.numerics import check_count, check_probability


@dataclass(frozen=True)
class GaussianFit:
    """Mean, shape (d,), and covariance, shape (d, d), of a set of features; float64.

    Raises:
        ValueError: shapes that do not fit together, a dtype other than float64, values that are not finite, a
            covariance that is not symmetric.
    """

    mean: torch.Tensor = field(repr=False)
    covariance: torch.Tensor = field(repr=False)

    def __post_init__(self) -> None:
        if self.mean.ndim != 1 or self.covariance.shape != (len(self.mean), len(self.mean)):
            raise ValueError(
                "mean and covariance must have shapes (d,) and (d, d), "
                f"got {tuple(self.mean.shape)} and {tuple(self.covariance.shape)}"
            )
        for name, values in (("mean", self.mean), ("covariance", self.covariance)):
            if values.dtype != torch.float64 or not bool(torch.isfinite(values).all()):
                raise ValueError(f"{name} must be finite float64, got {values.dtype}")
        if not torch.allclose(self.covariance, self.covariance.T, rtol=1e-9, atol=1e-12):
            raise ValueError("covariance must be symmetric")


def fit_gaussian(features: torch.Tensor) -> GaussianFit:
    """Mean and unbiased covariance (divisor n - 1) of ``features``, shape (n, d)."""
    features = check_features("features", features)
    mean = features.mean(0)
    centred = features - mean
    return GaussianFit(mean, centred.T @ centred / (len(features) - 1))


def _root(covariance: torch.Tensor) -> torch.Tensor:
    """Some R with ``R @ R.T`` equal to the covariance."""
    variances, directions = torch.linalg.eigh(covariance)
    if float(variances[0]) < -1e-8 * float(variances[-1].abs()):
        raise ValueError(f"covariance must be positive semidefinite, got the eigenvalue {float(variances[0]):.3g}")
    return directions * variances.clamp_min(0.0).sqrt()


def _distance(mean: torch.Tensor, root: torch.Tensor, other_mean: torch.Tensor, other_root: torch.Tensor) -> float:
    # The trace of (S1^1/2 S2 S1^1/2)^1/2 is the nuclear norm of R1^T R2. Singular values are real and never negative,
    # and their error is relative to the largest one, where eigenvalues of S1 S2 lose half of the digits in the root.
    overlap = torch.linalg.svdvals(root.T @ other_root).sum()
    spread = root.square().sum() + other_root.square().sum() - 2.0 * overlap
    return float((mean - other_mean).square().sum() + spread.clamp_min(0.0))


def frechet_distance(first: GaussianFit, second: GaussianFit) -> float:
    r"""Squared Fréchet (2-Wasserstein) distance between two Gaussians, the convention of FID.

    .. math:: \|m_1 - m_2\|^2 + \mathrm{tr}\, S_1 + \mathrm{tr}\, S_2
        - 2\, \mathrm{tr} \bigl(S_1^{1/2} S_2 S_1^{1/2}\bigr)^{1/2}

    Singular covariances are allowed. Computed from roots of the covariances by singular values, so no imaginary part
    can appear; the error is about d times 1e-16 of the larger trace, and up to 1e-8 of it in directions where one
    covariance is singular and the other is not.

    Raises:
        ValueError: different numbers of features, or a covariance with a negative eigenvalue.

    Cost: two eigendecompositions and one singular value decomposition of d by d matrices.
    Source: Dowson and Landau 1982; Heusel et al. 2017, equation 6.
    """
    if len(first.mean) != len(second.mean):
        raise ValueError(f"both fits must have the same number of features, got {len(first.mean)}, {len(second.mean)}")
    return _distance(first.mean, _root(first.covariance), second.mean, _root(second.covariance))


@dataclass(frozen=True)
class FrechetEstimate:
    """A Fréchet distance to a fixed reference set, and what a finite number of samples does to it.

    Attributes:
        value: squared distance of the ``num_samples`` samples. Too large on average, by about c / num_samples: compare
            it only with values of the same number of samples.
        half_value: the same from half of the samples, averaged over random halves; larger still.
        extrapolated: to infinitely many samples on a line in 1 / num_samples, ``2 * value - half_value``. It may come
            out slightly negative when the true distance is near zero.
        lower, upper: bootstrap interval around ``extrapolated`` for the distance of infinitely many samples.
        standard_error: of ``value`` and of ``extrapolated``, from the bootstrap.
        confidence: of the interval.
        num_samples, num_reference: sizes of the two sets.
        num_features: dimensions in which the distance is taken, after any projection.
        explained: part of the reference's variance that the projection keeps; 1 without a projection.
    """

    value: float
    half_value: float
    extrapolated: float
    lower: float
    upper: float
    standard_error: float
    confidence: float
    num_samples: int
    num_reference: int
    num_features: int
    explained: float


def frechet_estimate(
    features: torch.Tensor,
    reference: torch.Tensor,
    *,
    components: int | None = None,
    num_bootstrap: int = 200,
    num_halvings: int = 8,
    confidence: float = 0.95,
    seed: int = 0,
) -> FrechetEstimate:
    r"""Fréchet distance of samples to a reference set, extrapolated to infinitely many samples, with an interval.

    The expected distance of N samples is :math:`F_\infty + c / N + O(N^{-2})` with c > 0, and c differs from generator
    to generator. Values at N and N / 2 give :math:`F_\infty \approx 2 F_N - F_{N/2}`. A bootstrap sample carries
    the same bias a second time, so the interval is the spread of the bootstrap values about their own mean, reflected
    around the extrapolated value. The reference set counts as the whole population: it is not resampled, and the same
    distance for fresh real images says what a perfect generator would get.

    Projecting both sets on the first principal components of the reference makes estimates from few samples possible.
    A projected distance is at most the full one. The basis comes from the reference alone, so every generator is
    measured by the same rule; say the number of components wherever the number is shown.

    Args:
        features: of the samples, shape (num_samples, d).
        reference: features of the reference set, shape (num_reference, d).
        components: principal components of the reference to project on; all d features when None.
        num_bootstrap: bootstrap samples for the interval, at least 20.
        num_halvings: random splits in two halves; both halves of each are used.
        confidence: of the interval, in (0, 1).
        seed: of the halves and the bootstrap.

    Raises:
        ValueError: arguments out of range, different numbers of features, or too few samples for a covariance of full
            rank: half of the samples must outnumber the dimensions. Ten times as many leave an error of the
            extrapolation of a few per cent of the bias.

    Cost: ``num_bootstrap + 2 * num_halvings`` distances: 2 to 3 s for 64 components and 5,000 samples on one core, but
    several seconds *each* for 1,280 features.
    Source: Chong and Forsyth 2020 (extrapolation); Efron and Tibshirani 1993, chapter 10 (bias of the bootstrap).
    """
    samples = check_features("features", features)
    population = check_features("reference", reference)
    if samples.shape[1] != population.shape[1]:
        raise ValueError(
            f"features and reference must have the same number of features, "
            f"got {samples.shape[1]} and {population.shape[1]}"
        )
    check_count(num_bootstrap, "num_bootstrap", 20)
    check_count(num_halvings, "num_halvings")
    check_probability(confidence, "confidence")
    if confidence == 1.0:
        raise ValueError("confidence must lie in (0, 1), got 1")
    dimensions = samples.shape[1] if components is None else check_count(components, "components")
    half = len(samples) // 2
    if half <= dimensions or len(population) <= dimensions:
        raise ValueError(
            f"{len(samples)} samples and {len(population)} reference samples are too few for covariances of full rank "
            f"in {dimensions} dimensions: give at least {2 * dimensions + 2} and {dimensions + 1}, "
            f"or components of at most {min(half, len(population)) - 1}"
        )
    explained = 1.0
    if components is not None:
        project = principal_components(population, components=components)
        samples, population, explained = project(samples), project(population), project.explained
    target = fit_gaussian(population)
    target_root = _root(target.covariance)

    def distance(rows: torch.Tensor) -> float:
        fit = fit_gaussian(samples[rows])
        return _distance(fit.mean, _root(fit.covariance), target.mean, target_root)

    generator = torch.Generator().manual_seed(seed)
    count = len(samples)
    value = distance(torch.arange(count))
    halves = []
    for _ in range(num_halvings):
        order = torch.randperm(count, generator=generator)
        halves += [distance(order[:half]), distance(order[half : 2 * half])]
    # With an odd count a half is a little less than half: the line through both sizes, not the factor 2.
    half_value = sum(halves) / len(halves)
    extrapolated = value - (half_value - value) * half / (count - half)
    resampled = torch.tensor(
        [distance(torch.randint(count, (count,), generator=generator)) for _ in range(num_bootstrap)],
        dtype=torch.float64,
    )
    deviations = resampled - resampled.mean()
    tail = (1.0 - confidence) / 2.0
    return FrechetEstimate(
        value=value,
        half_value=half_value,
        extrapolated=extrapolated,
        lower=extrapolated - float(deviations.quantile(1.0 - tail)),
        upper=extrapolated - float(deviations.quantile(tail)),
        standard_error=float(resampled.std()),
        confidence=confidence,
        num_samples=count,
        num_reference=len(population),
        num_features=dimensions,
        explained=explained,
    )
