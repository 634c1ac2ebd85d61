"""Checks that every denoiser makes of ``x`` and ``sigma``."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def check_noisy(x: torch.Tensor, event_shape: Sequence[int]) -> None:
    """Raise ValueError unless ``x`` is floating point, finite and of shape (batch, *event_shape), batch >= 1."""
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        raise ValueError(f"x must be a floating-point tensor, got {x.dtype if isinstance(x, torch.Tensor) else x!r}")
    if len(x.shape) == 0 or len(x) == 0 or tuple(x.shape[1:]) != tuple(event_shape):
        raise ValueError(
            f"x must have shape (batch, {', '.join(map(str, event_shape))}) with batch at least 1, got {tuple(x.shape)}"
        )
    if not bool(torch.isfinite(x).all()):
        raise ValueError("x must be finite, got NaN or infinity")


def check_sigma(sigma: torch.Tensor | float, x: torch.Tensor) -> torch.Tensor:
    """The noise level of each row of ``x``: float64, shape (batch,), on the device of ``x``.

    Raises:
        ValueError: ``sigma`` is not of shape () or (batch,), not finite, or not positive: at 0 there is no noise to
            average over.
    """
    level = torch.as_tensor(sigma, dtype=torch.float64, device=x.device)
    if level.shape not in ((), (len(x),)):
        raise ValueError(f"sigma must have shape () or ({len(x)},) for this x, got {tuple(level.shape)}")
    if not bool((torch.isfinite(level) & (level > 0.0)).all()):
        raise ValueError(f"sigma must lie in (0, inf), got {level.tolist()}")
    return level.expand(len(x))
