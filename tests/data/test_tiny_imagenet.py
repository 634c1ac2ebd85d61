"""Tiny-ImageNet at 32 pixels: both layouts, the averaging, and the split."""

import numpy as np
import pytest
import torch
from PIL import Image

from privlib.data.folders import read_class_folders
from privlib.data.locate import DataError
from privlib.data.tiny_imagenet import NUM_CLASSES, PER_CLASS, read_tiny_imagenet

NAMES = ("n01443537_goldfish", "n01629819_European_fire_salamander")
SMALL = {"num_classes": 2, "per_class": 30}


@pytest.fixture
def small(tmp_path, paint):
    """The layout with names and 32 by 32 pixels."""
    for label, name in enumerate(NAMES):
        for i in range(30):
            paint(tmp_path / "tiny_imagenet32" / name / f"{i:04}.png", seed=100 * label + i)
    return tmp_path / "tiny_imagenet32"


@pytest.fixture
def genuine(tmp_path, paint):
    """The original layout: 64 by 64 JPEG files, numbers without leading zeros, other folders beside ``train``."""
    root = tmp_path / "tiny-imagenet-200"
    for label, name in enumerate(NAMES):
        wnid = name.partition("_")[0]
        for i in range(30):
            path = root / "train" / wnid / "images" / f"{wnid}_{i}.JPEG"
            paint(path, seed=100 * label + i, size=(64, 64), format="JPEG", quality=95)
        (root / "train" / wnid / f"{wnid}_boxes.txt").touch()
    (root / "val" / "images").mkdir(parents=True)
    (root / "words.txt").touch()
    return root


def test_the_split_is_every_25th_image_in_order(small):
    everything = read_class_folders(small, name="all")
    held_out = torch.arange(60) % 25 == 24
    for split, mask in (("public", ~held_out), ("held_out", held_out)):
        images = read_tiny_imagenet(split, folder=small, **SMALL)
        assert images.name == f"tiny_imagenet/{split}" and images.class_names == NAMES
        assert images.sha256 == everything.subset(torch.nonzero(mask).flatten()).sha256
    assert read_tiny_imagenet("held_out", folder=small.parent, **SMALL).labels.tolist() == [0, 1]


def test_the_held_out_share_of_the_real_set_is_20_of_each_class():
    labels = torch.arange(NUM_CLASSES * PER_CLASS) // PER_CLASS
    held_out = torch.arange(len(labels)) % 25 == 24
    assert torch.bincount(labels[held_out]).tolist() == [20] * 200


def test_the_original_layout_is_averaged_over_two_by_two_pixels(genuine):
    images = read_tiny_imagenet("public", folder=genuine, **SMALL)
    assert images.class_names == ("n01443537", "n01629819") and images.image_shape == (3, 32, 32)
    names = sorted(f"n01443537_{i}.JPEG" for i in range(30))
    assert names[1] == "n01443537_1.JPEG" and names[2] == "n01443537_10.JPEG", "sorted as text"
    for position in (0, 2, 20):
        file = genuine / "train" / "n01443537" / "images" / names[position]
        full = np.asarray(Image.open(file)).astype(float)
        means = full.reshape(32, 2, 32, 2, 3).mean((1, 3)).transpose(2, 0, 1)
        assert np.abs(images.pixels[position].numpy() - means).max() <= 0.5


def test_missing_classes_and_images_are_named(small, paint):
    with pytest.raises(DataError, match="2 class folders.*expected 200"):
        read_tiny_imagenet("public", folder=small)
    (small / NAMES[1] / "0003.png").unlink()
    with pytest.raises(DataError, match="salamander holds 29 images, expected 30"):
        read_tiny_imagenet("public", folder=small, **SMALL)
    paint(small / NAMES[1] / "0003.png", size=(48, 48))
    with pytest.raises(DataError, match=r"0003\.png .*48x48 pixels, expected 32x32 or 64x64"):
        read_tiny_imagenet("public", folder=small, **SMALL)


def test_absent_and_packed(tmp_path):
    (tmp_path / "tiny-imagenet-200.zip").touch()
    with pytest.raises(DataError, match=r"not unpacked: .*tiny-imagenet-200\.zip.*train/<wnid>/images"):
        read_tiny_imagenet("public", folder=tmp_path)
    with pytest.raises(ValueError, match="public, held_out, got 'train'"):
        read_tiny_imagenet("train", folder=tmp_path)
