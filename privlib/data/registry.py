"""One name for each set and split: what a notebook's parameters, a recipe and a model card say."""

from __future__ import annotations

from pathlib import Path

from privlib.data import celeba, cifar10, emoji, icons, tiny_imagenet
from privlib.data.folders import read_own_folder
from privlib.data.images import ImageSet
from privlib.numerics import check_count

#: Splits and reader of each set that comes with the library.
BUNDLED = {"emoji": (emoji.SPLITS, emoji.load_emoji), "icons": (icons.SPLITS, icons.load_icons)}

#: Splits and reader of each set that does not.
READERS = {
    "cifar10": (cifar10.COUNTS, cifar10.read_cifar10),
    "tiny_imagenet": (tiny_imagenet.SPLITS, tiny_imagenet.read_tiny_imagenet),
    "celeba": (celeba.COUNTS, celeba.read_celeba),
}

SPECS = (
    *(f"{name}/{split}" for name, (splits, _) in (BUNDLED | READERS).items() for split in splits),
    "folder",
)


def load(
    spec: str, *, folder: str | Path | None = None, side: int | None = None, most: int = 0, seed: int = 0
) -> ImageSet:
    """The images that ``spec`` names, or a random choice of them.

    Args:
        spec: one of ``emoji/public``, ``emoji/public_held_out``, ``emoji/private``, ``emoji/private_held_out``,
            ``icons/public``, ``icons/public_held_out``, ``icons/pictograms``, ``icons/artwork``, ``icons/rehearsal``
            (bundled; glyphs of icons in the colours of seed 0); ``cifar10/train``, ``cifar10/test``,
            ``tiny_imagenet/public``, ``tiny_imagenet/held_out``, ``celeba/train``, ``celeba/valid``, ``celeba/test``
            (from the reader's disk);
            ``folder`` (any folder of images or of class folders).
        folder: where the data lie: the folder of the set, or one that holds it as ``cifar10``, ``tiny_imagenet32`` or
            ``celeba``. None or empty: the folder that the environment variable PRIVLIB_DATA names. The bundled sets
            need none and ignore it; ``folder`` needs it.
        most: images that are kept, drawn by ``seed`` (see ``ImageSet.draw``); all of them where there are no more, or
            where it is 0.
        seed: of that draw.
        side: height and width of the images of ``folder``, 32 by default: the centre square of each is brought to
            that size. The other sets have a size of their own.

    Raises:
        ValueError: an unknown spec, ``side`` with a set that has a size, ``folder`` without a folder, or a negative
            ``most``.
        DataError: the data are absent, incomplete or damaged; the message says what is expected where.
    """
    if spec not in SPECS:
        raise ValueError(f"spec must be one of {', '.join(SPECS)}, got {spec!r}")
    check_count(most, "most", minimum=0)
    data = _read(spec, folder, side)
    return data.draw(most, seed=seed) if 0 < most < len(data) else data


def _read(spec: str, folder: str | Path | None, side: int | None) -> ImageSet:
    if spec == "folder":
        if not folder:
            raise ValueError("folder must name a folder of images for spec 'folder', got none")
        return read_own_folder(folder) if side is None else read_own_folder(folder, side=side)
    if side is not None:
        raise ValueError(f"side is for spec 'folder' only: {spec} has a size of its own, got {side!r}")
    name, _, split = spec.partition("/")
    if name in BUNDLED:
        return BUNDLED[name][1](split)
    return READERS[name][1](split, folder=folder)
