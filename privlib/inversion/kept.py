"""Vectors that are learned once and found again: by a run that was interrupted, and by another notebook.

A folder of its own for every combination of settings, pictures, weights and code, so that vectors are never taken for
those of something else, and two processes that ask for the same ones at a time: one learns them, the other waits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import torch
from filelock import FileLock

from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Inverted, Settings, invert, key_of


def invert_once(
    model: FrozenModel,
    images: torch.Tensor,
    settings: Settings,
    *,
    folder: Path | None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Inverted:
    """``optimize.invert`` with a checkpoint in a folder that is named by all that the vectors depend on.

    Args:
        model, images, settings, progress: as for ``invert``.
        folder: holds the folders of all runs; what lies in it is as private as the pictures. None keeps nothing.

    Raises:
        ValueError: as ``invert``.
    """
    if folder is None:
        return invert(model, images, settings, progress=progress)
    name = hashlib.sha256(key_of(model, images, settings).encode()).hexdigest()[:16]
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    with FileLock(place / ".lock"):
        return invert(model, images, settings, folder=place, progress=progress)
