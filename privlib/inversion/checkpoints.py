"""The state of an optimization that is under way, whole or not at all, in one safetensors file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from privlib.files import replace_file


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stands.

    Attributes:
        tensors: of the run, by name.
        place: whole numbers that say how far it is, by name.
    """

    tensors: Mapping[str, torch.Tensor] = field(repr=False)
    place: Mapping[str, int]


def write_checkpoint(checkpoint: Checkpoint, path: Path, *, key: str) -> None:
    """Write to ``path``, to be read back under the same ``key`` only."""
    metadata = {"key": key, **{name: str(value) for name, value in checkpoint.place.items()}}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.tensors.items()}
    replace_file(path, lambda part: save_file(tensors, part, metadata=metadata))


def read_checkpoint(path: Path, *, key: str) -> Checkpoint | None:
    """The state in ``path``, on the CPU; None if there is no such file.

    Raises:
        ValueError: a damaged file, or one of another run.
    """
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            facts = dict(file.metadata())
            found = facts.pop("key")
            place = {name: int(value) for name, value in facts.items()}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged or not a checkpoint ({error}); delete it to start again") from error
    if found != key:
        raise ValueError(f"{path} is of other settings, pictures, weights or code; delete it or use another folder")
    return Checkpoint(tensors, place)
