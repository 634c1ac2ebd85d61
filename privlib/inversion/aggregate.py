"""The noisy mean of bounded vectors: what ``aggregation`` describes, carried out.

Nothing here stops at a value of a private vector, since an error message is a release too: what is not finite counts as
zero, and zero stays zero under both bounds.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from privlib.aggregation import Bound, NoisyAggregate, Sampling
from privlib.inversion.releases import Release, Unprotected, noised
from privlib.types import Adjacency


def bounded(vectors: torch.Tensor, bound: Bound, norm: float) -> torch.Tensor:
    """Vectors of norm ``norm`` (sphere) or at most ``norm`` (ball), float64, shape (n, dimension).

    Args:
        vectors: shape (n, dimension).
        bound: sphere or ball.
        norm: public, positive.
    """
    return torch.from_numpy(_bounded(vectors.detach().to("cpu", torch.float64).numpy(), bound, norm))


def _bounded(rows: np.ndarray, bound: Bound, norm: float) -> np.ndarray:
    # Scaled by the largest entry first, so that no square over- or underflows.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        largest = np.abs(rows).max(1, keepdims=True)
        directions = rows / largest
        lengths = np.sqrt(np.square(directions).sum(1, keepdims=True))
        allowed = norm if bound is Bound.SPHERE else np.minimum(norm, lengths * largest)
        scaled = directions / lengths * allowed
    scaled[~np.isfinite(rows).all(1) | (largest[:, 0] == 0.0)] = 0.0
    # Rounding may leave a vector a few units in the last place too long.
    return scaled / np.maximum(np.sqrt(np.square(scaled).sum(1, keepdims=True)) / norm, 1.0)


def taking_part(mechanism: NoisyAggregate, count: int, rng: np.random.Generator, *, draws: int = 1) -> np.ndarray:
    """Which of ``count`` vectors take part, bool, shape (draws, count); each draw is a sample of its own."""
    if mechanism.sampling is Sampling.POISSON:
        return rng.random((draws, count)) < mechanism.sampling_probability
    if mechanism.sampling is Sampling.ALL:
        return np.ones((draws, count), dtype=bool)
    return rng.permuted(np.tile(np.arange(count) < mechanism.sample_size, (draws, 1)), axis=1)


def noisy_means(
    vectors: torch.Tensor, mechanism: NoisyAggregate, rng: np.random.Generator, *, draws: int
) -> np.ndarray:
    """Independent runs of the mechanism, float64, shape (draws, dimension); for audits. See ``release_aggregate``."""
    rows = _bounded(vectors.detach().to("cpu", torch.float64).numpy(), mechanism.bound, mechanism.norm)
    # The denominator is public; the number that takes part is not.
    means = taking_part(mechanism, len(rows), rng, draws=draws) @ rows / mechanism.sample_size
    return means + mechanism.noise_std * rng.standard_normal(means.shape)


def release_aggregate(
    vectors: torch.Tensor, mechanism: NoisyAggregate, *, rng: np.random.Generator
) -> Release | Unprotected:
    """One release of the noisy mean.

    Args:
        vectors: one for each private picture, each a function of its own picture only; shape (n, dimension). Under
            ``REPLACE_ONE`` n is ``mechanism.num_vectors``; under ``ADD_OR_REMOVE_ONE`` that number is nominal.
        mechanism: what to do. Without noise the result is ``Unprotected``.
        rng: of the sample and the noise. For a release take ``numpy.random.default_rng()``, seeded by the operating
            system; a seed that is known shows everything.

    Returns:
        the vector, float64, with the mechanism. Each call is a release of its own, and what is claimed covers one.

    Raises:
        ValueError: vectors of another shape or number.
    """
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise ValueError(f"vectors must have shape (n, dimension), got {tuple(vectors.shape)}")
    if mechanism.adjacency is Adjacency.REPLACE_ONE and len(vectors) != mechanism.num_vectors:
        raise ValueError(f"vectors must be num_vectors = {mechanism.num_vectors} under REPLACE_ONE, got {len(vectors)}")
    mean = torch.from_numpy(noisy_means(vectors, mechanism, rng, draws=1)[0])
    return Unprotected(mean) if mechanism.noise_multiplier == 0.0 else noised(mean, mechanism)


def centroid_geometry(vectors: torch.Tensor, bound: Bound, norm: float) -> dict[str, float]:
    """Norm of the centroid of the bounded vectors, and their mean cosine with it: private quantities, for study.

    Returns:
        ``centroid_norm`` in the unit of ``norm`` and ``mean_cosine`` in [-1, 1], NaN for a centroid of zero.
    """
    rows = bounded(vectors, bound, norm)
    centre = rows.mean(0)
    length = float(centre.norm())
    if length == 0.0:
        return {"centroid_norm": 0.0, "mean_cosine": math.nan}
    cosines = torch.nn.functional.cosine_similarity(rows, centre[None], dim=1)
    return {"centroid_norm": length, "mean_cosine": float(cosines.mean())}
