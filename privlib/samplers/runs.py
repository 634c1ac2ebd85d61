"""What a sampler returns: images, and the mechanism that they are charged as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from privlib.mechanisms import Mechanism, components_of


@dataclass(frozen=True, eq=False)
class Run:
    """Images with their charge. Accountants take ``mechanism`` and nothing else.

    Attributes:
        images: float64, shape (count, *event), unit scale.
        mechanism: what the images were released by, or None if the denoiser has no proved sensitivity: then there is no
            guarantee, and accountants refuse it. Computed from the levels, the sensitivities and the sampling
            probability that were used, and from the number of images.
        sigma: noise level that is left in the images: 0 after a public tail, else ``Plan.handoff_noise``.
        settings: how it was made, as plain values for a page.
        seconds: wall time of the sampling.

    Raises:
        ValueError: images that are not finite float64, or a mechanism for another number of them.
    """

    images: torch.Tensor = field(repr=False)
    mechanism: Mechanism | None
    sigma: float
    settings: Mapping[str, str | int | float | None]
    seconds: float

    def __post_init__(self) -> None:
        if self.images.dtype != torch.float64 or self.images.ndim < 2:
            raise ValueError(
                f"images must be float64 of shape (count, *event), got {self.images.dtype} of shape "
                f"{tuple(self.images.shape)}"
            )
        if not bool(torch.isfinite(self.images).all()):
            raise ValueError("images must be finite, got NaN or infinity: a denoiser gave a value that is not finite")
        if self.mechanism is not None:
            counts = {component.count for component in components_of(self.mechanism)}
            if counts != {len(self.images)}:
                raise ValueError(f"mechanism must be for {len(self.images)} outputs, got one for {sorted(counts)}")
