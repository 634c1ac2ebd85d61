"""The state of an optimization that is under way, whole or not at all, in one safetensors file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file


def replace_file(path: Path, write: Callable[[Path], None]) -> None:
    """Write beside ``path``, then rename: a reader sees the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        write(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


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
        raise ValueError(f"{path} belongs to other settings, pictures or weights; delete it or use another folder")
    return Checkpoint(tensors, place)
