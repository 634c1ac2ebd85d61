"""A folder of class folders of image files, the layout in which most people keep images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from privlib.data.images import ImageSet

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp")


def read_class_folders(folder: Path, *, name: str) -> ImageSet:
    """Every image of ``folder/<class>/``, classes and files in sorted order; all images must have one size."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    pixels, labels = [], []
    for label, path in enumerate(classes):
        for file in sorted(path.iterdir()):
            if file.suffix.lower() in SUFFIXES:
                with Image.open(file) as image:
                    pixels.append(np.asarray(image.convert("RGB")))
                labels.append(label)
    stacked = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2).contiguous()
    return ImageSet(name, stacked, torch.tensor(labels), tuple(path.name for path in classes))
