"""From image files to bytes, one file at a time, with the file's name in every complaint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from privlib.data.locate import DataError

#: A step from an opened file to the RGB picture that is kept; it may refuse with a ValueError.
Prepare = Callable[[Image.Image], Image.Image]


def to_rgb(image: Image.Image) -> Image.Image:
    """Eight-bit RGB; what is transparent is shown on white.

    Raises:
        ValueError: pixels of more than eight bits, which a conversion would clip.
    """
    if image.mode[0] in "IF":
        raise ValueError(f"its pixels have more than 8 bits (mode {image.mode}); convert it to 8-bit RGB")
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        white.alpha_composite(image.convert("RGBA"))
        image = white
    return image.convert("RGB")


def check_size(image: Image.Image, *sizes: tuple[int, int]) -> None:
    """Raise ValueError unless (width, height) is one of ``sizes``."""
    if image.size not in sizes:
        accepted = " or ".join(f"{width}x{height}" for width, height in sizes)
        raise ValueError(f"it has {image.width}x{image.height} pixels, expected {accepted}")


def _read(file: Path, prepare: Prepare) -> np.ndarray:
    try:
        with Image.open(file) as image:
            return np.asarray(prepare(image)).transpose(2, 0, 1)
    # Pillow reports a broken PNG as a SyntaxError, and a file that only claims to be huge as DecompressionBombError.
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise DataError(f"{file} cannot be used: {error}. If it was downloaded in part, fetch it again") from error


def decode(files: Sequence[Path], *, prepare: Prepare = to_rgb) -> torch.Tensor:
    """Pixels of image files, in their order.

    Args:
        files: at least one.
        prepare: applied to every picture; all results must have the size of the first one.

    Returns:
        uint8 tensor of shape (n, 3, height, width). Memory: that tensor and one picture.

    Raises:
        DataError: a file that cannot be read or was refused by ``prepare``, or pictures of different sizes.
    """
    first = _read(files[0], prepare)
    pixels = np.empty((len(files), *first.shape), np.uint8)
    pixels[0] = first
    for i, file in enumerate(files[1:], start=1):
        picture = _read(file, prepare)
        if picture.shape != first.shape:
            raise DataError(
                f"{file} has {picture.shape[2]}x{picture.shape[1]} pixels, "
                f"but {files[0]} has {first.shape[2]}x{first.shape[1]}; all images of a set must have one size"
            )
        pixels[i] = picture
    return torch.from_numpy(pixels)
