"""Shipped weights: half-precision safetensors beside a model card, loaded only when name, checksum and keys agree."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from privlib.data.locate import ASSETS, DataError
from privlib.denoisers.neural import NeuralDenoiser, UNetConfig, build_unet

FOLDER = ASSETS / "denoisers"


def save_denoiser(denoiser: NeuralDenoiser, name: str, card: Mapping[str, object], *, folder: Path = FOLDER) -> Path:
    """Write ``<name>.safetensors`` (float16) and ``<name>.json``, the card with the network's shape and the checksum.

    Args:
        denoiser: what to ship.
        name: of the files.
        card: what a reader needs to know of the weights: data, recipe, losses, licence; plain values.
        folder: where the files go. Both are written beside their final names and moved when whole.

    Returns:
        the path of the weights.

    Raises:
        ValueError: a weight that half precision cannot hold.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = {key: value.detach().cpu().half().contiguous() for key, value in denoiser.network.state_dict().items()}
    for key, value in weights.items():
        if not bool(torch.isfinite(value).all()):
            raise ValueError(f"weight {key} of {name} is not finite in float16")
    path, part = folder / f"{name}.safetensors", folder / f"{name}.safetensors.part"
    save_file(weights, part)
    sha256 = hashlib.sha256(part.read_bytes()).hexdigest()
    full = {"name": name, **card, "network": denoiser.config.to_dict(), "sha256": sha256}
    card_part = folder / f"{name}.json.part"
    card_part.write_text(json.dumps(full, indent=2) + "\n", encoding="utf-8")
    os.replace(part, path)
    os.replace(card_part, path.with_suffix(".json"))
    return path


def read_card(name: str, *, folder: Path = FOLDER) -> dict[str, object]:
    """The model card of shipped weights.

    Raises:
        DataError: no such weights; the message lists those there are.
    """
    path = folder / f"{name}.json"
    if not path.is_file():
        there = ", ".join(sorted(card.stem for card in folder.glob("*.json"))) or "none"
        raise DataError(f"no denoiser is named {name!r} in {folder} (there: {there}); make one with: make train-public")
    return json.loads(path.read_text(encoding="utf-8"))


def load_denoiser(name: str, *, folder: Path = FOLDER) -> NeuralDenoiser:
    """A shipped denoiser in evaluation mode, float32, on the CPU, without gradients.

    Args:
        name: as in ``make train-public``: ``emoji``, ``tiny_imagenet``, ``cifar10``.
        folder: where the weights lie.

    Raises:
        DataError: weights that are missing, or whose checksum, keys or shapes are not those of the card.
    """
    card = read_card(name, folder=folder)
    path = folder / f"{name}.safetensors"
    if not path.is_file():
        raise DataError(f"{path} is missing, though its card is there; restore it with: git checkout -- privlib/assets")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != card["sha256"]:
        raise DataError(f"{path} has sha256 {found}, its card says {card['sha256']}: damaged or from another training")
    config = UNetConfig(**card["network"])
    denoiser = NeuralDenoiser(build_unet(config), config)
    weights = load_file(path)
    expected = {key: tuple(value.shape) for key, value in denoiser.network.state_dict().items()}
    given = {key: tuple(value.shape) for key, value in weights.items()}
    if expected != given:
        wrong = sorted(set(expected.items()) ^ set(given.items()))
        raise DataError(f"{path} does not fit its card: {len(wrong)} keys or shapes differ, the first {wrong[0]}")
    denoiser.network.load_state_dict({key: value.float() for key, value in weights.items()})
    return denoiser.eval().requires_grad_(False)
