"""An observer that keeps the whole path of a run, for figures."""

from __future__ import annotations

import torch


class Trajectory:
    """Pass it as ``observe`` to a sampler; afterwards it holds every state and every denoised estimate.

    Memory: twice the images of the run for each step. Of a private run only the states are covered by its charge.
    """

    def __init__(self) -> None:
        self.sigmas: list[float] = []
        self._states: list[torch.Tensor] = []
        self._denoised: list[torch.Tensor] = []

    def __call__(self, index: int, sigma: float, x: torch.Tensor, denoised: torch.Tensor) -> None:
        self.sigmas.append(sigma)
        self._states.append(x.cpu())
        self._denoised.append(denoised.cpu())

    @property
    def states(self) -> torch.Tensor:
        """States before each step, shape (steps, count, *event)."""
        return torch.stack(self._states)

    @property
    def denoised(self) -> torch.Tensor:
        """The denoiser's outputs, shape (steps, count, *event)."""
        return torch.stack(self._denoised)

    def changes(self) -> torch.Tensor:
        """Root mean square change of the denoised estimate from each step to the next, shape (steps - 1, count)."""
        denoised = self.denoised
        return (denoised[1:] - denoised[:-1]).flatten(2).square().mean(dim=2).sqrt()
