"""Tiny-ImageNet (Le and Yang 2015) at 32 by 32 pixels from a reader's disk: the public side of CIFAR-10."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from privlib.data.decode import check_size, to_rgb
from privlib.data.folders import check_each, class_folders, decode_classes, image_files
from privlib.data.images import ImageSet, check_split
from privlib.data.locate import DataError, Description, find_folder

SPLITS = ("public", "held_out")

NUM_CLASSES = 200
PER_CLASS = 500

#: Of every 25 images in order, the last one is held out; with 500 images a class that is 20 of each class.
STRIDE = 25

#: A WordNet identifier, with or without a name behind it.
WNID = "n" + "[0-9]" * 8 + "*"

DESCRIPTION = Description(
    title="Tiny-ImageNet",
    names=("tiny_imagenet32", "tiny-imagenet-200"),
    marks=(WNID, f"train/{WNID}"),
    layouts="the original train/<wnid>/images/*.JPEG at 64x64, or <wnid>*/ with image files of 32x32 or 64x64.",
    source="Unpack https://cs231n.stanford.edu/tiny-imagenet-200.zip.",
)


def halve(image: Image.Image) -> Image.Image:
    """A picture of 64 by 64 pixels averaged over 2 by 2 pixels, rounded to nearest; one of 32 by 32 as it is."""
    check_size(image, (32, 32), (64, 64))
    return to_rgb(image) if image.width == 32 else to_rgb(image).reduce(2)


def read_tiny_imagenet(
    split: str, *, folder: str | Path | None = None, num_classes: int = NUM_CLASSES, per_class: int = PER_CLASS
) -> ImageSet:
    """The training images of Tiny-ImageNet at 32 by 32 pixels, uint8 (n, 3, 32, 32); class names are folder names.

    With classes and files sorted by name, image ``i`` is held out if and only if ``i % 25 == 24``.

    Args:
        split: ``public`` (96 of 100 images) or ``held_out``.
        folder: the folder of the set, or one that holds it as ``tiny_imagenet32`` or ``tiny-imagenet-200``; by default
            the one of PRIVLIB_DATA.
        num_classes, per_class: what the set must have.

    Raises:
        ValueError: an unknown split.
        DataError: the set is absent or incomplete, a file cannot be read, or has neither 32x32 nor 64x64 pixels.
    """
    check_split(split, SPLITS)
    root = find_folder(DESCRIPTION, folder)
    root = root / "train" if (root / "train").is_dir() else root
    classes = [path for path in class_folders(root) if path.match(WNID)]
    if len(classes) != num_classes:
        raise DataError(f"{root} holds {len(classes)} class folders <wnid>*, expected {num_classes}: it is incomplete")
    files = {path: image_files(path / "images" if (path / "images").is_dir() else path) for path in classes}
    check_each(files, per_class)
    held_out = split == "held_out"
    keep = [i for i in range(num_classes * per_class) if (i % STRIDE == STRIDE - 1) == held_out]
    return decode_classes(files, name=f"tiny_imagenet/{split}", prepare=halve, keep=keep)
