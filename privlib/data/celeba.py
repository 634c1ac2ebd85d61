"""CelebA (Liu et al. 2015) at 64 by 64 pixels from a reader's disk, cropped as the diffusion literature crops it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from PIL import Image

from privlib.data.decode import check_size, decode, to_rgb
from privlib.data.images import ImageSet, check_split
from privlib.data.locate import DataError, Description, find_folder

COUNTS = {"train": 162_770, "valid": 19_867, "test": 19_962}

#: The attribute that labels tell; about half of the faces have it.
ATTRIBUTE, CLASS_NAMES = "Smiling", ("not smiling", "smiling")

#: left, upper, right, lower: 128 by 128 pixels around column 89 and row 121 of the aligned image.
CROP = (25, 57, 153, 185)

IMAGES, PARTITION, ATTRIBUTES = "img_align_celeba", "list_eval_partition.txt", "list_attr_celeba.txt"

DESCRIPTION = Description(
    title="CelebA",
    names=("celeba",),
    marks=(IMAGES, PARTITION, ATTRIBUTES),
    layouts=f"torchvision's, that is {IMAGES}/*.jpg (aligned, 178x218) beside {PARTITION} and {ATTRIBUTES}.",
    source="Get it with torchvision.datasets.CelebA(root, download=True), which needs gdown, or from "
    "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html, and unpack img_align_celeba.zip.",
)


def crop_face(image: Image.Image) -> Image.Image:
    """The 128 by 128 pixels around the face, reduced to 64 by 64 by Pillow's bilinear filter.

    This is the crop of DDIM (Song, Meng and Ermon 2021, ``datasets/__init__.py`` of its code), which the papers that
    build on its CelebA-64 network share. Score SDE (Song et al. 2021) takes the centre 140 by 140 pixels instead.
    """
    check_size(image, (178, 218))
    return to_rgb(image.crop(CROP)).resize((64, 64), Image.Resampling.BILINEAR)


def read_celeba(split: str, *, folder: str | Path | None = None, counts: Mapping[str, int] = COUNTS) -> ImageSet:
    """One split of CelebA-64, uint8 (n, 3, 64, 64); a label tells whether the face smiles.

    Files are decoded one by one into one array: 2.0 GB for the training images, one to two minutes on one core.

    Args:
        split: ``train``, ``valid`` or ``test``, by the official partition.
        folder: the folder of the set, or one that holds it as ``celeba``; by default the one of PRIVLIB_DATA.
        counts: images that each split must have.

    Raises:
        ValueError: an unknown split.
        DataError: the set is absent or incomplete, a list does not have the form of the original, or an image cannot
            be read or is not an aligned one.
    """
    check_split(split, COUNTS)
    root = find_folder(DESCRIPTION, folder)
    for name in (PARTITION, ATTRIBUTES):
        if not (root / name).is_file():
            raise DataError(f"{root / name} is missing: it belongs beside {IMAGES}/")
    if not (root / IMAGES).is_dir():
        raise DataError(f"{root / IMAGES} is missing: unpack img_align_celeba.zip in {root}")
    names = _partition(root / PARTITION, list(COUNTS).index(split))
    if len(names) != counts[split]:
        raise DataError(f"{root / PARTITION} puts {len(names)} images into {split}, expected {counts[split]}")
    present = {path.name for path in (root / IMAGES).iterdir()}
    missing = [name for name in names if name not in present]
    if missing:
        raise DataError(
            f"{root / IMAGES} lacks {len(missing)} of the {len(names)} images of {split}, such as {missing[0]}; "
            "unpack img_align_celeba.zip again"
        )
    smiles = _attribute(root / ATTRIBUTES)
    unknown = next((name for name in names if name not in smiles), None)
    if unknown:
        raise DataError(f"{root / ATTRIBUTES} has no line for {unknown}; fetch it again")
    pixels = decode([root / IMAGES / name for name in names], prepare=crop_face)
    return ImageSet(f"celeba/{split}", pixels, torch.tensor([smiles[name] for name in names]), CLASS_NAMES)


def _partition(path: Path, part: int) -> list[str]:
    """Names in the given part, from lines such as ``000001.jpg 0``."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if any(len(row) != 2 or row[1] not in ("0", "1", "2") for row in rows):
        raise DataError(f"{path} is not the original list: expected lines such as '000001.jpg 0'")
    return [name for name, code in rows if code == str(part)]


def _attribute(path: Path) -> dict[str, int]:
    """1 or 0 for each file name: the number of lines, the attributes' names, then a name and a 1 or -1 for each."""
    lines = path.read_text(encoding="utf-8").splitlines()
    header = lines[1].split() if len(lines) > 1 else []
    if ATTRIBUTE not in header:
        raise DataError(f"{path} is not the original list: its second line must name the attributes, {ATTRIBUTE} too")
    column = header.index(ATTRIBUTE) + 1
    rows = [line.split() for line in lines[2:] if line.strip()]
    if any(len(row) != len(header) + 1 or row[column] not in ("-1", "1") for row in rows):
        raise DataError(f"{path} is damaged: expected a file name and {len(header)} values of 1 or -1 in every line")
    return {row[0]: int(row[column] == "1") for row in rows}
