"""Where a noisy mean can work: the noise beside the centroid, over sample sizes and targets, before any picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from privlib.accounting.aggregation import calibrated, expected_noise_norm
from privlib.aggregation import NoisyAggregate, Sampling
from privlib.numerics import check_positive


@dataclass(frozen=True)
class NoiseRow:
    """One sample size and one target.

    Attributes:
        mechanism: calibrated to the target.
        epsilon: the target.
        noise_norm: mean L2 norm of the noise in the released mean.
        ratio: that norm over the centroid's; above 1 the release is more noise than signal.
    """

    mechanism: NoisyAggregate
    epsilon: float
    noise_norm: float
    ratio: float


def noise_table(
    mechanism: NoisyAggregate,
    *,
    sample_sizes: Sequence[int],
    epsilons: Sequence[float],
    delta: float,
    dimension: int,
    centroid_norm: float,
) -> list[NoiseRow]:
    """Noise norm against centroid norm, for each sample size and epsilon; milliseconds to a second an entry.

    Args:
        mechanism: gives all but the sample size and the noise; with m = n everybody takes part.
        sample_sizes: in 1..n.
        epsilons: targets, positive; ``inf`` is no noise.
        delta: in (0, 1).
        dimension: of the vectors.
        centroid_norm: L2 norm of the mean of the bounded vectors, positive: at most the public norm R, and smaller the
            more the vectors differ. It is a private quantity; show it of data that may be shown, or guess it.
    """
    centroid_norm = check_positive("centroid_norm", centroid_norm)
    rows = []
    for m in sample_sizes:
        sampling = Sampling.ALL if m == mechanism.num_vectors else mechanism.sampling
        sized = replace(mechanism, sample_size=m, sampling=sampling)
        for epsilon in epsilons:
            met = calibrated(sized, epsilon, delta)
            norm = expected_noise_norm(met, dimension)
            rows.append(NoiseRow(met, float(epsilon), norm, norm / centroid_norm))
    return rows
