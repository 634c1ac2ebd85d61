"""The shipped denoisers: weights and model card by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from privlib.data.locate import ASSETS, DataError
from privlib.denoisers.neural import NeuralDenoiser, UNetConfig, build_unet
from privlib.denoisers.shipped import load_shipped, save_shipped

FOLDER = ASSETS / "denoisers"


def save_denoiser(denoiser: NeuralDenoiser, name: str, card: Mapping[str, object], *, folder: Path = FOLDER) -> Path:
    """Write ``<name>.safetensors`` (float16) and ``<name>.json``, the card with the network's shape and the checksum.

    Args:
        denoiser: what to ship.
        name: of the files.
        card: what a reader needs to know of the weights: data, recipe, losses, licence; plain values.
        folder: where the files go.

    Returns:
        the path of the weights.

    Raises:
        ValueError: a weight that half precision cannot hold.
    """
    full = {"name": name, **card, "network": denoiser.config.to_dict()}
    return save_shipped(denoiser.network.state_dict(), full, name, folder)


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
    config = UNetConfig(**card["network"])
    denoiser = NeuralDenoiser(build_unet(config), config)
    weights = load_shipped(card, name, folder)
    expected = {key: tuple(value.shape) for key, value in denoiser.network.state_dict().items()}
    given = {key: tuple(value.shape) for key, value in weights.items()}
    if expected != given:
        wrong = sorted(set(expected.items()) ^ set(given.items()))
        raise DataError(
            f"{name} in {folder} does not fit its card: {len(wrong)} keys or shapes differ, the first {wrong[0]}"
        )
    denoiser.network.load_state_dict({key: value.float() for key, value in weights.items()})
    return denoiser.eval().requires_grad_(False)
