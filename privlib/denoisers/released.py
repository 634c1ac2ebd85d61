r"""Private counts over public groups, released once: any number of outputs is then post-processing.

With n_k private records in group k, the public images are made to look like the private ones, at the level of groups,
by weights ``omega_j = (n_k / n) / (m_k / m)`` for image j of group k. ``PublicAnchor(images, weights=...)`` is the
posterior mean under the reweighted images,

.. math:: E_\omega(x, \sigma) = \frac{\sum_j \omega_j k_j y_j}{\sum_j \omega_j k_j},\qquad
    k_j = e^{-\lVert x - y_j\rVert^2 / (2 \sigma^2)}.

A neural public denoiser D that generalizes beyond those images is moved by what the weights change (Bayes' rule: if D
is the posterior mean under a density p, then ``D + sigma^2 grad log r`` is that under ``p r``, where r is a function of
the noisy image),

.. math:: D(x, \sigma) + E_\omega(x, \sigma) - E_1(x, \sigma)
    = D(x, \sigma) + \sigma^2 \nabla_x \log \frac{\sum_j \omega_j k_j}{\sum_j k_j} .

This is the competitor that every mechanism paid at sampling time has to beat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from privlib.data.images import ImageSet
from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.groups import PublicGroups
from privlib.mechanisms import SubsampledGaussian
from privlib.numerics import check_positive


@dataclass(frozen=True)
class ReleasedCounts:
    """Noisy counts, safe to publish, with the mechanism that made them.

    Attributes:
        values: counts plus noise, float64, shape (K,); may be negative.
        mechanism: one Gaussian mechanism, charged once whatever is made from the counts.
    """

    values: torch.Tensor = field(repr=False)
    mechanism: SubsampledGaussian

    def image_weights(self, groups: PublicGroups) -> torch.Tensor:
        """Weight of every public image, summing to 1: its group's released share, spread evenly over the group.

        Negative counts are set to zero, and so is the count of a group without public images.

        Raises:
            ValueError: no released count is positive, so that nothing can be weighted.
        """
        shares = torch.where(groups.sizes > 0, self.values.clamp(min=0.0), 0.0)
        if not float(shares.sum()) > 0.0:
            raise ValueError("the released counts must have a positive entry; there is too much noise to use them")
        weights = (shares / groups.sizes.clamp(min=1))[groups.index]
        return weights / weights.sum()


def release_counts(counts: torch.Tensor, *, noise_multiplier: float, generator: torch.Generator) -> ReleasedCounts:
    """Counts plus independent Gaussian noise of standard deviation ``noise_multiplier``.

    A record changes one count by 1, so adding or removing one moves the vector by exactly 1 in L2 norm: the release is
    a Gaussian mechanism with ``gdp_mu = 1 / noise_multiplier``, count 1. Reweighting, sampling and any number of
    outputs are post-processing. (The noise is drawn in floating point; that it is not exactly normal is not part of
    the claim.)

    Args:
        counts: int64, shape (K,), each record in one group.
        noise_multiplier: standard deviation of the noise over the sensitivity 1, positive.
        generator: source of the noise; keep its seed secret.
    """
    if counts.dtype != torch.int64 or counts.ndim != 1 or bool((counts < 0).any()):
        raise ValueError(f"counts must be non-negative int64 of shape (K,), got {counts.dtype} {tuple(counts.shape)}")
    check_positive("noise_multiplier", noise_multiplier)
    noise = torch.randn(counts.shape, generator=generator, dtype=torch.float64)
    return ReleasedCounts(
        counts.to(torch.float64) + noise_multiplier * noise, SubsampledGaussian(1.0 / noise_multiplier)
    )


class ReweightedDenoiser:
    """A public denoiser moved toward reweighted public images: ``D + E_omega - E_1``, see the module.

    The two posterior means tell groups apart as long as the noise covers several images. Below that level they name one
    image each, the nearest and the nearest with a positive weight, and the difference stops being an estimate of
    anything: hand over to ``denoiser`` alone before.

    Args:
        denoiser: public denoiser D.
        images: public images, shape (m, *event).
        weights: of the images, shape (m,), from ``ReleasedCounts.image_weights``; see ``PublicAnchor``.
    """

    def __init__(
        self,
        denoiser: Callable[[torch.Tensor, torch.Tensor | float], torch.Tensor],
        images: torch.Tensor | ImageSet,
        *,
        weights: torch.Tensor,
    ) -> None:
        self._denoiser = denoiser
        self._reweighted, self._plain = PublicAnchor(images, weights=weights), PublicAnchor(images)
        self.image_shape = self._plain.image_shape

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """Denoise; cost of D and of two posterior means over the images."""
        return self._denoiser(x, sigma) + self._reweighted(x, sigma) - self._plain(x, sigma)
