"""How near pictures are to a style: the cosine between their features and the mean of the style's own."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from privlib.metrics.features import FeatureExtractor


def unit_rows(features: torch.Tensor) -> torch.Tensor:
    """Rows of length 1 in float64, shape (n, d); a row of zeros stays as it is."""
    return torch.nn.functional.normalize(features.double(), dim=1)


@dataclass(frozen=True)
class Style:
    r"""The mean direction :math:`s = \frac1n \sum_i f_i / \lVert f_i \rVert` of a set of pictures.

    Attributes:
        extractor: whose features f are.
        mean: s, float64, shape (d,); not longer than 1, and the shorter the less the pictures have in common.
    """

    extractor: FeatureExtractor = field(repr=False)
    mean: torch.Tensor = field(repr=False)

    @classmethod
    def of(cls, extractor: FeatureExtractor, pictures: torch.Tensor) -> Style:
        """The style of ``pictures``, on the unit scale, shape (n, 3, height, width)."""
        return cls(extractor, unit_rows(extractor(pictures)).mean(0))

    def cosine(self, images: torch.Tensor) -> torch.Tensor:
        r"""Mean cosine of each image with the pictures of the style, :math:`\langle f / \lVert f \rVert, s \rangle`.

        Args:
            images: on the unit scale, shape (m, 3, height, width).

        Returns:
            float64, shape (m,), each within -1 and 1.
        """
        return unit_rows(self.extractor(images)) @ self.mean
