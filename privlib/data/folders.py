"""A folder of class folders of image files, the layout in which most people keep images; and any folder of images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch
from PIL import Image, ImageOps

from privlib.data.decode import Prepare, decode, to_rgb
from privlib.data.images import ImageSet
from privlib.data.locate import DataError
from privlib.numerics import check_count

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp")


def image_files(folder: Path) -> list[Path]:
    """Image files directly in ``folder``, sorted by name; hidden ones are left out."""
    found = (path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and not path.name.startswith("."))
    return sorted(found, key=lambda path: path.name)


def class_folders(folder: Path) -> list[Path]:
    """Folders directly in ``folder``, sorted by name; hidden ones are left out."""
    found = (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    return sorted(found, key=lambda path: path.name)


def check_each(files: Mapping[Path, Sequence[Path]], count: int) -> None:
    """Raise DataError unless every folder, a key of ``files``, holds ``count`` images."""
    for folder, inside in files.items():
        if len(inside) != count:
            raise DataError(
                f"{folder} holds {len(inside)} images, expected {count}: the set is incomplete or not the original"
            )


def decode_classes(
    files: Mapping[Path, Sequence[Path]], *, name: str, prepare: Prepare, keep: Iterable[int] | None = None
) -> ImageSet:
    """The images of class folders as a set; class names are the folders' names.

    Args:
        files: image files of each class folder.
        name: of the set.
        prepare: see ``decode``.
        keep: positions, in the order of ``files``, of the images to read; all by default.

    Raises:
        DataError: see ``decode``.
    """
    pairs = [(file, label) for label, inside in enumerate(files.values()) for file in inside]
    if keep is not None:
        pairs = [pairs[i] for i in keep]
    pixels = decode([file for file, _ in pairs], prepare=prepare)
    labels = torch.tensor([label for _, label in pairs])
    return ImageSet(name, pixels, labels, tuple(folder.name for folder in files))


def read_class_folders(folder: Path, *, name: str, prepare: Prepare = to_rgb) -> ImageSet:
    """Every image of ``folder/<class>/``, classes and files sorted by name.

    Args:
        folder: the folder of class folders.
        name: of the set.
        prepare: applied to every picture; all results must have one size.

    Raises:
        DataError: no class folder, a class folder without images, or see ``decode``.
    """
    files = {path: image_files(path) for path in class_folders(folder)}
    if not files:
        raise DataError(f"{folder} holds no class folder, such as {folder / 'cat'}")
    for path, inside in files.items():
        if not inside:
            raise DataError(f"{path} holds no image file directly in it ({', '.join(SUFFIXES)})")
    return decode_classes(files, name=name, prepare=prepare)


def square(image: Image.Image, side: int) -> Image.Image:
    """The centre square, upright as the camera says, resized to ``side`` by Pillow's bilinear filter.

    When it reduces, that filter averages over all pixels, so there is no aliasing. Pictures that have the size already
    are left as they are.
    """
    image = to_rgb(ImageOps.exif_transpose(image))
    short = min(image.size)
    left, upper = (image.width - short) // 2, (image.height - short) // 2
    image = image.crop((left, upper, left + short, upper + short))
    return image if short == side else image.resize((side, side), Image.Resampling.BILINEAR)


def read_own_folder(folder: str | Path, *, side: int = 32) -> ImageSet:
    """A reader's own images, of any sizes: class folders, or one flat folder, which becomes a single class.

    Args:
        folder: holds image files, or class folders that hold them.
        side: height and width to which the centre square of each image is brought.

    Returns:
        RGB images of shape (3, side, side), named ``folder/<name of the folder>``.

    Raises:
        ValueError: ``side`` is not a whole number of at least 1.
        DataError: no such folder, no image in it, images beside class folders, an empty class folder, a damaged file.
    """
    side = check_count(side, "side")
    folder = Path(folder).expanduser().resolve()
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; it should hold image files or class folders of image files")
    name, flat = f"folder/{folder.name}", image_files(folder)
    prepare = lambda image: square(image, side)
    if not flat:
        return read_class_folders(folder, name=name, prepare=prepare)
    if class_folders(folder):
        raise DataError(
            f"{folder} holds images beside class folders, such as {flat[0].name} and {class_folders(folder)[0].name}/; "
            "move every image into a class folder, or all of them into one folder"
        )
    return decode_classes({folder: flat}, name=name, prepare=prepare)
