"""What bounded denoisers may lean on: public images, their posterior mean and their kernel mass."""

from __future__ import annotations

from collections.abc import Callable

import torch

from privlib.data.images import ImageSet
from privlib.denoisers.posterior import Posterior
from privlib.denoisers.records import Records


def as_images(images: torch.Tensor | ImageSet) -> torch.Tensor:
    """Public images on the unit scale; ValueError for an empty set, another dtype, NaN or infinity."""
    images = images.unit() if isinstance(images, ImageSet) else images
    if not images.is_floating_point() or images.ndim < 2 or len(images) == 0:
        raise ValueError(
            f"images must be floating point of shape (m, *event) with m >= 1, "
            f"got {images.dtype} of shape {tuple(images.shape)}"
        )
    if not bool(torch.isfinite(images).all()):
        raise ValueError("images must be finite, got NaN or infinity")
    return images


def principal_directions(rows: torch.Tensor, rank: int, *, iterations: int = 8) -> torch.Tensor:
    """Leading principal directions of the rows by subspace iteration from a fixed start, shape (d, rank)."""
    centred = rows - rows.mean(0)
    start = torch.randn(rows.shape[1], rank, generator=torch.Generator().manual_seed(0), dtype=rows.dtype)
    basis = torch.linalg.qr(start.to(rows.device)).Q
    for _ in range(iterations):
        basis = torch.linalg.qr(centred.T @ (centred @ basis)).Q
    return basis


class PublicAnchor:
    r"""Public images y_1..y_m as a prior: a denoiser ``c(x, sigma)`` and the mean of the Gaussian kernel over them.

    .. math:: \log Z(x, \sigma) = \log \sum_j p_j\, e^{-\lVert x - y_j\rVert^2 / (2\sigma^2)}

    Cost and accuracy are those of ``posterior.Posterior``. Public quantities carry no privacy loss, so their rounding
    is a matter of accuracy only.

    Args:
        images: public images on the unit scale, shape (m, *event), m >= 2.
        weights: public prior probabilities p_j, shape (m,), not negative, at least two positive, scaled to sum to 1; by
            default 1 / m each.
        denoiser: public denoiser to use as c; by default the posterior mean of ``images``.

    Raises:
        ValueError: too few images, pixels that are not finite, or weights that are no prior.
    """

    def __init__(
        self,
        images: torch.Tensor | ImageSet,
        *,
        weights: torch.Tensor | None = None,
        denoiser: Callable[[torch.Tensor, torch.Tensor | float], torch.Tensor] | None = None,
    ) -> None:
        if weights is not None:
            prior = weights.to(torch.float64)
            if prior.shape != (len(images),) or not bool(((prior >= 0) & torch.isfinite(prior)).all()):
                raise ValueError(f"weights must be {len(images)} finite numbers >= 0, one for each image")
            used = prior.nonzero().flatten()
            if len(used) < 2:
                raise ValueError(f"weights must be positive for at least two images, got {len(used)}")
            images = images.subset(used) if isinstance(images, ImageSet) else images[used]
            weights = prior[used] / prior.sum()
        records = Records(images)
        self.image_shape = records.event_shape
        self._posterior = Posterior(records, weights)
        self._denoiser = denoiser

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """The public denoiser ``c(x, sigma)``."""
        return self.mean_and_log_mass(x, sigma)[0] if self._denoiser is None else self._denoiser(x, sigma)

    def mean_and_log_mass(self, x: torch.Tensor, sigma: torch.Tensor | float) -> tuple[torch.Tensor, torch.Tensor]:
        """``c(x, sigma)`` with the shape and dtype of ``x``, and ``log Z`` as float64 of shape (batch,)."""
        mean, log_mass = self._posterior.mean_and_log_mass(x, sigma)
        return (mean if self._denoiser is None else self._denoiser(x, sigma)), log_mass
