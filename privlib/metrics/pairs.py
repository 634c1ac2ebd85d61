"""How alike the two images of a pair are: one number for each pair, so that pairs can be resampled together.

``images`` and ``others`` have shape (pairs, 3, height, width) on the unit scale; row i of one belongs to row i of the
other. What lies outside [-1, 1] is clamped, as it is when an image is saved.
"""

from __future__ import annotations

import torch
from torch.nn.functional import normalize

from privlib.metrics.features import FeatureExtractor, check_images


def cosine_distances(extractor: FeatureExtractor, images: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """``1 - cos`` between the features of the two images, float64, shape (pairs,).

    With another extractor than the paper's it is another distance: name it after the extractor.

    Raises:
        ValueError: shapes that differ, images that the extractor refuses, features that are zero.
    """
    _check_pairs(images, others)
    return cosine_distances_of(extractor(images), extractor(others))


def cosine_distances_of(features: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """``1 - cos`` between the rows of two sets of features, shape (pairs, d): float64, shape (pairs,), in [0, 2].

    Raises:
        ValueError: shapes that differ; a row of zeros, which has no direction.
    """
    if features.shape != others.shape or features.ndim != 2:
        raise ValueError(
            f"features must both have shape (pairs, d), got {tuple(features.shape)} and {tuple(others.shape)}"
        )
    one, two = features.to(torch.float64), others.to(torch.float64)
    if not bool((one.any(dim=1) & two.any(dim=1)).all()):
        raise ValueError("features must not be zero in any row: they have no direction there")
    # Half the squared distance of unit vectors: exact for equal features, where 1 - cos leaves rounding.
    return 0.5 * (normalize(one, dim=1) - normalize(two, dim=1)).square().sum(dim=1)


def psnr(images: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    r"""Peak signal-to-noise ratio in decibels, :math:`10 \log_{10}(1 / \mathrm{MSE})` on the scale [0, 1].

    Returns:
        float64, shape (pairs,); infinite for equal images. That the paper averages these values over the pairs, rather
        than taking the ratio of the mean error, is inferred.

    Source: torchmetrics.
    """
    from torchmetrics.functional.image import peak_signal_noise_ratio  # takes a second to import

    one, two = _unit_interval(images, others)
    return peak_signal_noise_ratio(one, two, data_range=1.0, reduction="none", dim=(1, 2, 3))


def ssim(images: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Structural similarity (Wang et al. 2004) on the scale [0, 1], averaged over pixels and channels.

    The window is a Gaussian of deviation 1.5 over 11 by 11 pixels; images are mirrored at their borders.

    Returns:
        float64, shape (pairs,), 1 for equal images.

    Source: torchmetrics. Other programs leave the borders out, which gives other numbers.
    """
    from torchmetrics.functional.image import structural_similarity_index_measure  # takes a second to import

    one, two = _unit_interval(images, others)
    return structural_similarity_index_measure(one, two, data_range=1.0, reduction="none")


def label_agreement(probabilities: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """1 where the likeliest classes of a pair are the same and 0 where not, float64, shape (pairs,).

    Args:
        probabilities, others: of a classifier on the two images, shape (pairs, num_classes).

    Raises:
        ValueError: shapes that differ, or no class.
    """
    if probabilities.shape != others.shape or probabilities.ndim != 2 or probabilities.shape[1] == 0:
        raise ValueError(
            "probabilities must both have shape (pairs, num_classes), "
            f"got {tuple(probabilities.shape)} and {tuple(others.shape)}"
        )
    return (probabilities.argmax(dim=1) == others.argmax(dim=1)).to(torch.float64)


def _check_pairs(images: torch.Tensor, others: torch.Tensor) -> None:
    check_images(images)
    check_images(others)
    if images.shape != others.shape:
        raise ValueError(f"images must come in pairs of one shape, got {tuple(images.shape)}, {tuple(others.shape)}")


def _unit_interval(images: torch.Tensor, others: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    _check_pairs(images, others)
    one, two = (batch.to(torch.float64).clamp(-1.0, 1.0).add(1.0).div(2.0) for batch in (images, others))
    return one, two
