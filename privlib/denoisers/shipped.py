"""Shipped weights: half-precision safetensors beside a model card, read only when checksum and keys agree."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from privlib.data.locate import DataError
from privlib.files import replace_file, replace_text


def to_half(weights: Mapping[str, torch.Tensor], name: str) -> dict[str, torch.Tensor]:
    """The weights in float16, on the CPU; whole numbers stay as they are.

    Raises:
        ValueError: a weight of ``name`` that half precision cannot hold.
    """
    halved = {}
    for key, value in weights.items():
        value = value.detach().cpu()
        halved[key] = (value.half() if value.is_floating_point() else value).contiguous()
        if value.is_floating_point() and not bool(torch.isfinite(halved[key]).all()):
            raise ValueError(f"weight {key} of {name} is not finite in float16")
    return halved


def save_shipped(weights: Mapping[str, torch.Tensor], card: Mapping[str, object], name: str, folder: Path) -> Path:
    """Write ``<name>.safetensors`` and ``<name>.json``, the card with the checksum; returns the path of the weights.

    Raises:
        ValueError: as ``to_half``.
    """
    path, halved = folder / f"{name}.safetensors", to_half(weights, name)
    replace_file(path, lambda part: save_file(halved, part))
    full = {**card, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    replace_text(path.with_suffix(".json"), json.dumps(full, indent=2) + "\n")
    return path


def load_shipped(card: Mapping[str, object], name: str, folder: Path) -> dict[str, torch.Tensor]:
    """The weights of a card, as the file holds them.

    Raises:
        DataError: they are missing, or their checksum is not that of the card.
    """
    path = folder / f"{name}.safetensors"
    if not path.is_file():
        raise DataError(f"{path} is missing, though its card is there; restore it with: git checkout -- privlib/assets")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != card["sha256"]:
        raise DataError(f"{path} has sha256 {found}, its card says {card['sha256']}: damaged or from another training")
    return load_file(path)
