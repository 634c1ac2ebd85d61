"""A denoiser with a sensitivity that is taken as given: what the reported accounting amounts to, to be attacked."""

from __future__ import annotations

from collections.abc import Callable

import torch

from privlib.denoisers.blocks import Blocks
from privlib.numerics import check_positive
from privlib.samplers.hybrid import PrivateDenoiser


class AssumedSensitivity:
    """``private`` with ``sensitivity`` as a constant method. Nothing is proved: for audits, never for a release.

    Args:
        private: any denoiser of private records.
        sensitivity: what samplers charge it at every level, positive.
    """

    def __init__(self, private: PrivateDenoiser, sensitivity: float) -> None:
        self._private, self._sensitivity = private, check_positive("sensitivity", sensitivity)
        self.num_records, self.image_shape = private.num_records, private.image_shape

    def sensitivity(self, sigma: float) -> float:
        """The number that was assumed."""
        check_positive("sigma", sigma)
        return self._sensitivity

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        return self._private(x, sigma)

    def on_blocks(self, blocks: Blocks) -> Callable[[torch.Tensor, torch.Tensor | float], torch.Tensor]:
        return self._private.on_blocks(blocks)
