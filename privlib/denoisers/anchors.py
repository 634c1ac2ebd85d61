"""What bounded denoisers may lean on: public images, their posterior mean and their kernel mass."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from privlib.data.images import ImageSet
from privlib.denoisers.arguments import check_noisy, check_sigma
from privlib.numerics import check_count


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

    Distances are expanded in float64, which keeps the log-weights to 1e-6 even at sigma = 0.002 and 3,072 dimensions.
    Public quantities carry no privacy loss, so their rounding is a matter of accuracy only. Cost O(batch * m * d).

    Args:
        images: public images on the unit scale, shape (m, *event), m >= 1.
        weights: public prior probabilities p_j, shape (m,), not negative, scaled to sum to 1; by default 1 / m each.
        denoiser: public denoiser to use as c; by default the posterior mean of ``images``.
        tile: public images held in float64 at a time.

    Raises:
        ValueError: no image, pixels that are not finite, or weights that are no prior.
    """

    def __init__(
        self,
        images: torch.Tensor | ImageSet,
        *,
        weights: torch.Tensor | None = None,
        denoiser: Callable[[torch.Tensor, torch.Tensor | float], torch.Tensor] | None = None,
        tile: int = 4096,
    ) -> None:
        images = as_images(images)
        self.image_shape = tuple(images.shape[1:])
        self._rows = images.flatten(1)
        prior = torch.ones(len(images), dtype=torch.float64) if weights is None else weights.to(torch.float64)
        if prior.shape != (len(images),) or not bool(((prior >= 0) & torch.isfinite(prior)).all() and prior.sum() > 0):
            raise ValueError(f"weights must be {len(images)} finite numbers >= 0, one for each image, not all 0")
        self._log_prior = torch.log(prior / prior.sum())
        self._denoiser = denoiser
        self._tile = check_count(tile, "tile")

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """The public denoiser ``c(x, sigma)``."""
        return self.mean_and_log_mass(x, sigma)[0] if self._denoiser is None else self._denoiser(x, sigma)

    def mean_and_log_mass(self, x: torch.Tensor, sigma: torch.Tensor | float) -> tuple[torch.Tensor, torch.Tensor]:
        """``c(x, sigma)`` with the shape and dtype of ``x``, and ``log Z`` as float64 of shape (batch,)."""
        check_noisy(x, self.image_shape)
        levels = check_sigma(sigma, x)
        points = x.flatten(1).to(torch.float64)
        top = torch.full((len(x),), -math.inf, dtype=torch.float64, device=x.device)
        total, mean = torch.zeros_like(top), torch.zeros_like(points)
        for rows, log_prior in zip(self._rows.split(self._tile), self._log_prior.split(self._tile), strict=True):
            tile = rows.to(points)
            squared = points.square().sum(1, keepdim=True) + tile.square().sum(1) - 2.0 * points @ tile.T
            logits = squared.clamp_(min=0.0).div_(-2.0 * levels[:, None] ** 2).add_(log_prior.to(points))
            new_top = torch.maximum(top, logits.amax(1)).clamp_(min=-1e300)  # a tile of weight 0 must not give NaN
            shrink = torch.exp(top - new_top)
            weights = logits.sub_(new_top[:, None]).exp_()
            total = total * shrink + weights.sum(1)
            if self._denoiser is None:
                mean = mean * shrink[:, None] + weights @ tile
            top = new_top
        log_mass = top + torch.log(total)
        if self._denoiser is None:
            return (mean / total[:, None]).reshape(x.shape).to(x.dtype), log_mass
        return self._denoiser(x, sigma), log_mass
