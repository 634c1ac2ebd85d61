"""The bundled emoji: two vendors as the public side, two others as the private side, the same concepts held out.

Vendors draw the same concepts, and the two private vendors' drawings are close kin. So a "record" here is a picture:
privacy of a picture is not privacy of the concept it shows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from privlib.data.images import ImageSet, check_split
from privlib.data.locate import ASSETS, check_sums

FOLDER = ASSETS / "emoji"

#: Vendors of each side. Both Fluent sets are private together: they are one design in two renderings.
SIDES = {"public": ("google", "twitter"), "private": ("fluent3d", "fluentflat")}

SPLITS = ("public", "public_held_out", "private", "private_held_out")


def read_cells(path: Path, cells: Sequence[int], *, side: int) -> torch.Tensor:
    """The pictures of an atlas at ``cells``, counted row by row, uint8, shape (n, 3, side, side)."""
    with Image.open(path) as image:
        atlas = torch.from_numpy(np.array(image.convert("RGB")))
    return atlas.unfold(0, side, side).unfold(1, side, side).reshape(-1, 3, side, side)[list(cells)]


def load_emoji(split: str) -> ImageSet:
    """The bundled emoji at 32 by 32 pixels, on white.

    Args:
        split: ``public``, ``private``, or either with ``_held_out``: the concepts, about a tenth, that neither
            ``public`` nor ``private`` shows, by any vendor.

    Returns:
        pixels (n, 3, 32, 32); labels are the categories of the Unicode emoji list; a caption for each image, such as
        "google emoji of grinning face". The pictures of one vendor stand together.

    Raises:
        ValueError: an unknown split.
        DataError: an atlas that is not the one whose checksum is committed.
    """
    check_split(split, SPLITS)
    check_sums(FOLDER)
    table = json.loads((FOLDER / "emoji.json").read_text(encoding="utf-8"))
    side, concepts = table["side"], table["concepts"]
    held_out = split.endswith("_held_out")
    pixels, chosen, captions = [], [], []
    for vendor in SIDES[split.removesuffix("_held_out")]:
        indices = table["vendors"][vendor]["concepts"]
        keep = [cell for cell, index in enumerate(indices) if concepts[index]["held_out"] == held_out]
        pixels.append(read_cells(FOLDER / f"{vendor}.webp", keep, side=side))
        chosen += [concepts[indices[cell]] for cell in keep]
        captions += [f"{vendor} emoji of {concepts[indices[cell]]['name']}" for cell in keep]
    labels = torch.tensor([concept["category"] for concept in chosen])
    return ImageSet(f"emoji/{split}", torch.cat(pixels), labels, tuple(table["categories"]), tuple(captions))
