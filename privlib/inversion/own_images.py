"""Private pictures, a reader's own among them, checked before anything is computed from them."""

from __future__ import annotations

from pathlib import Path

from privlib.data import load
from privlib.data.folders import class_folders, image_files, read_own_folder
from privlib.data.images import ImageSet
from privlib.data.locate import DataError
from privlib.inversion.draws import picture_keys
from privlib.numerics import check_count


def load_private(spec: str, *, folder: str | Path, side: int) -> ImageSet:
    """The private pictures that a notebook's parameters name, at the size of the model.

    Args:
        spec: ``folder`` for the reader's own pictures, which ``validate_folder`` checks; or what ``data.load`` takes.
        folder: of the pictures, or where sets that are not bundled lie.
        side: height and width of the model's pictures.

    Raises:
        ValueError: an unknown spec, ``folder`` without a folder, or a set whose pictures have another size.
        DataError: as ``validate_folder`` and ``data.load``.
    """
    if spec == "folder":
        if not folder:
            raise ValueError("data_folder must name the folder of the pictures for private_data 'folder', got none")
        return validate_folder(folder, sample_size=1, side=side)
    images = load(spec, folder=folder)
    if images.image_shape[1:] != (side, side):
        raise ValueError(
            f"private_data must have the size of the model's pictures, {side} by {side}, but {spec} has "
            f"{images.image_shape[1]} by {images.image_shape[2]}; give the pictures as a folder, which is resized"
        )
    return images


def validate_folder(folder: str | Path, *, sample_size: int, side: int) -> ImageSet:
    """The pictures of one flat folder, sorted by name, centre squares at the model's size.

    Args:
        folder: holds image files and no folders.
        sample_size: number m of pictures that are to take part; the folder must hold at least as many.
        side: height and width of the model's pictures.

    Raises:
        ValueError: a parameter outside its range, or more than the folder holds.
        DataError: no such folder, no picture, pictures in class folders, a file that cannot be read, or two files with
            the same picture, which the guarantee would count as two people's where it may be one person's.
    """
    sample_size, side = check_count(sample_size, "sample_size"), check_count(side, "side")
    path = Path(folder).expanduser()
    if path.is_dir() and not image_files(path) and class_folders(path):
        raise DataError(f"{path} holds folders and no picture; put all pictures of the style directly into one folder")
    images = read_own_folder(path, side=side)
    names = [file.name for file in image_files(path.resolve())]
    if sample_size > len(images):
        raise ValueError(f"sample_size (m) must lie in 1..{len(images)}, the pictures in {path}, got {sample_size}")
    first: dict[str, str] = {}
    for name, key in zip(names, picture_keys(images.unit()), strict=True):
        if key in first:
            raise DataError(
                f"{path / name} shows the same picture as {first[key]}; delete one, or count both as one group"
            )
        first[key] = name
    return images
