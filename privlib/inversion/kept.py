"""Vectors that are learned once and found again: by a run that was interrupted, and by another notebook.

A folder of its own for every combination of settings, pictures, weights and code, so that vectors are never taken for
those of something else, and two processes that ask for the same ones at a time: one learns them, the other waits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from filelock import FileLock

from privlib.inversion.checkpoints import Checkpoint, read_checkpoint, write_checkpoint
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
    with _place(folder, key_of(model, images, settings)) as place:
        return invert(model, images, settings, folder=place, progress=progress)


def kept_vector(folder: Path | None, key: str, make: Callable[[], torch.Tensor]) -> torch.Tensor:
    """What ``make`` returns, from the file that an earlier call with the same ``key`` has left, or made and left now.

    Args:
        folder: as for ``invert_once``.
        key: text that says all that the vector depends on.
        make: called at most once.

    Raises:
        ValueError: a damaged file.
    """
    if folder is None:
        return make()
    with _place(folder, key) as place:
        path = place / "vector.safetensors"
        kept = read_checkpoint(path, key=key)
        if kept is None:
            kept = Checkpoint({"vector": make()}, {})
            write_checkpoint(kept, path, key=key)
        return kept.tensors["vector"]


@contextmanager
def _place(folder: Path, key: str) -> Iterator[Path]:
    """The folder of ``key``, which no other process uses meanwhile."""
    place = folder / hashlib.sha256(key.encode()).hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    with FileLock(place / ".lock"):
        yield place
