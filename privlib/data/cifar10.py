"""CIFAR-10 (Krizhevsky 2009) from a reader's disk: torchvision's format, the binary version, or class folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from privlib.data.decode import check_size, to_rgb
from privlib.data.folders import check_each, decode_classes, image_files
from privlib.data.images import ImageSet, check_split
from privlib.data.locate import DataError, Description, find_folder

#: In the order of the original labels, which is alphabetical.
CLASS_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

COUNTS = {"train": 50_000, "test": 10_000}

PICKLED, BINARY = "cifar-10-batches-py", "cifar-10-batches-bin"
BINARY_FILES = {"train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test": ("test_batch.bin",)}

#: One label byte, then the red, green and blue planes.
RECORD = 1 + 3 * 32 * 32

DESCRIPTION = Description(
    title="CIFAR-10",
    names=("cifar10",),
    marks=(PICKLED, BINARY, *(f"{split}/{name}" for split in COUNTS for name in CLASS_NAMES)),
    layouts=f"{PICKLED}/ (torchvision's), {BINARY}/, or train/<class>/ and test/<class>/ with 32x32 image files.",
    source="Get it with torchvision.datasets.CIFAR10(root, download=True), or unpack an archive from "
    "https://www.cs.toronto.edu/~kriz/cifar.html.",
)


def read_cifar10(split: str, *, folder: str | Path | None = None, counts: Mapping[str, int] = COUNTS) -> ImageSet:
    """One split of CIFAR-10, uint8 (n, 3, 32, 32).

    Class folders that hold JPEG files are a lossy copy: distances between images differ a little from the original,
    and so does the checksum.

    Args:
        split: ``train`` or ``test``.
        folder: the folder of the set, or one that holds it as ``cifar10``; by default the one of PRIVLIB_DATA.
        counts: images that each split must have, a tenth of them in every class.

    Raises:
        ValueError: an unknown split.
        DataError: the set is absent, incomplete, or not what its checksums say (torchvision's format has some).
    """
    check_split(split, COUNTS)
    root = find_folder(DESCRIPTION, folder)
    name = f"cifar10/{split}"
    if (root / PICKLED).is_dir():
        pixels, labels = _read_pickled(root, split)
    elif (root / BINARY).is_dir():
        pixels, labels = _read_binary(root / BINARY, split, counts[split])
    else:
        return _read_folders(root / split, name, counts[split])
    return ImageSet(name, pixels, labels, CLASS_NAMES)


def _read_pickled(root: Path, split: str) -> tuple[torch.Tensor, torch.Tensor]:
    from torchvision.datasets import CIFAR10
    from torchvision.datasets.utils import check_integrity

    # Unpickling runs what a file says; the checksums, looked at first, make sure that it is the published file.
    for file, md5 in [*CIFAR10.train_list, *CIFAR10.test_list, (CIFAR10.meta["filename"], CIFAR10.meta["md5"])]:
        path = root / PICKLED / file
        if not check_integrity(path, md5):
            state = "differs from its checksum" if path.exists() else "is missing"
            raise DataError(f"{path} {state}; unpack {CIFAR10.filename} again, or remove {PICKLED} and download it")
    data = CIFAR10(root, train=split == "train", download=False)
    return torch.from_numpy(data.data).permute(0, 3, 1, 2).contiguous(), torch.tensor(data.targets)


def _read_binary(folder: Path, split: str, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    files = [folder / name for name in BINARY_FILES[split]]
    size = count // len(files) * RECORD
    for file in files:
        if not file.is_file() or file.stat().st_size != size:
            state = f"has {file.stat().st_size} bytes" if file.is_file() else "is missing"
            raise DataError(f"{file} {state}, expected {size} bytes; unpack cifar-10-binary.tar.gz again")
    records = np.concatenate([np.fromfile(file, np.uint8) for file in files]).reshape(count, RECORD)
    labels = torch.from_numpy(records[:, 0].astype(np.int64))
    if torch.bincount(labels).tolist() != [count // 10] * 10:
        raise DataError(f"{folder}: the labels of {split} are not {count // 10} of each of 10 classes; unpack it again")
    return torch.from_numpy(records[:, 1:].reshape(count, 3, 32, 32).copy()), labels


def _read_folders(folder: Path, name: str, count: int) -> ImageSet:
    for class_name in CLASS_NAMES:
        if not (folder / class_name).is_dir():
            raise DataError(
                f"{folder / class_name} is missing: expected one folder for each of {', '.join(CLASS_NAMES)}"
            )
    files = {folder / class_name: image_files(folder / class_name) for class_name in CLASS_NAMES}
    check_each(files, count // len(CLASS_NAMES))

    def prepare(image: Image.Image) -> Image.Image:
        check_size(image, (32, 32))
        return to_rgb(image)

    return decode_classes(files, name=name, prepare=prepare)
