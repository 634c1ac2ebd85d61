"""The two scales, argument checks, and what an ImageSet refuses."""

import hashlib
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from privlib.data.images import ImageSet, check_unit_images, to_bytes, to_unit

ALL_BYTES = torch.arange(256, dtype=torch.uint8).reshape(1, 1, 16, 16)


def make(count=6, **changes):
    pixels = torch.arange(count * 12, dtype=torch.uint8).reshape(count, 3, 2, 2)
    labels = torch.arange(count) % 2
    arguments = {"pixels": pixels, "labels": labels, "class_names": ("even", "odd")} | changes
    return ImageSet("made", **arguments)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_every_byte_survives_the_unit_scale(dtype):
    unit = to_unit(ALL_BYTES, dtype)
    assert unit.dtype == dtype and float(unit.min()) == -1.0 and float(unit.max()) == 1.0
    assert torch.equal(to_bytes(unit), ALL_BYTES)
    assert float(to_unit(ALL_BYTES, torch.float64).flatten()[51]) == pytest.approx(2 * 51 / 255 - 1, abs=1e-15)


@given(st.floats(-3, 3))
def test_to_bytes_takes_the_nearest_level(value):
    level = int(to_bytes(torch.tensor([value], dtype=torch.float64)))
    distance = [abs(byte / 127.5 - 1 - value) for byte in range(256)]
    assert distance[level] <= min(distance) + 1e-12


def test_the_scales_are_not_mixed_up():
    with pytest.raises(ValueError, match="uint8"):
        to_unit(torch.zeros(1, 3, 2, 2))
    with pytest.raises(ValueError, match="floating"):
        to_bytes(ALL_BYTES)
    with pytest.raises(ValueError, match="finite"):
        to_bytes(torch.tensor([float("nan")]))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_data_on_the_unit_scale_pass(dtype):
    images = make().unit(dtype)
    assert check_unit_images(images) is images
    ends = torch.tensor([-1.0, 1.0], dtype=dtype).reshape(2, 1, 1, 1)
    assert check_unit_images(ends) is ends


def spoiled(value):
    images = torch.zeros(3, 1, 2, 2)
    images[1, 0, 1, 0] = value
    return images


@pytest.mark.parametrize(
    ("images", "complaint"),
    [
        (spoiled(float("nan")), "anchor must be finite, got NaN"),
        (spoiled(float("inf")), "anchor must lie in [-1, 1], got values from 0 to inf"),
        (spoiled(-1.01), "anchor must lie in [-1, 1], got values from -1.01 to 0"),
        (spoiled(1.01), "anchor must lie in [-1, 1]"),
        (ALL_BYTES, "anchor must be floating point on the unit scale, got torch.uint8"),
        (torch.zeros(3, 2, 2), "anchor must have shape (n, channels, height, width), none of them 0, got (3, 2, 2)"),
        (torch.zeros(0, 3, 2, 2), "none of them 0, got (0, 3, 2, 2)"),
        (np.zeros((1, 3, 2, 2)), "anchor must be a tensor, got ndarray"),
    ],
)
def test_other_data_are_refused(images, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        check_unit_images(images, "anchor")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"pixels": torch.zeros(6, 3, 2, 2)}, "uint8"),
        ({"pixels": torch.zeros(6, 2, 2, 2, dtype=torch.uint8)}, "1 or 3"),
        ({"pixels": torch.zeros(6, 2, 2, dtype=torch.uint8)}, "shape"),
        ({"pixels": torch.zeros(0, 3, 2, 2, dtype=torch.uint8)}, "no image"),
        ({"labels": torch.zeros(6)}, "int64"),
        ({"labels": torch.zeros(5, dtype=torch.int64)}, r"\(6,\)"),
        ({"class_names": ("even",)}, r"0\.\.0"),
        ({"labels": torch.tensor([0, 1, 0, 1, 0, -1])}, r"0\.\.1"),
        ({"captions": ("one",)}, "1 captions for 6 images"),
    ],
)
def test_a_set_that_does_not_fit_together_is_refused(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        make(**changes)


def test_subsets_keep_images_labels_and_captions_together():
    images = make(captions=tuple("abcdef"))
    part = images.subset([4, 1, 1], name="part")
    assert part.name == "part" and part.captions == ("e", "b", "b") and part.labels.tolist() == [0, 1, 1]
    assert torch.equal(part.pixels, images.pixels[[4, 1, 1]]) and part.image_shape == (3, 2, 2)
    assert torch.equal(part.unit(torch.float64), to_unit(images.pixels[[4, 1, 1]], torch.float64))


@pytest.mark.parametrize("indices", [[], torch.tensor([True] * 6), [0.0, 1.0], torch.zeros(2, 2, dtype=torch.int64)])
def test_a_mask_is_not_taken_for_indices(indices):
    with pytest.raises(ValueError, match="indices"):
        make().subset(indices)


def test_draws_are_without_repetition_and_belong_to_their_seed():
    images = make(captions=tuple("abcdef"))
    assert sorted(images.draw(6, seed=3).captions) == list("abcdef")
    assert images.draw(4, seed=3).captions == images.draw(4, seed=3).captions == images.draw(6, seed=3).captions[:4]
    assert len({images.draw(6, seed=seed).captions for seed in range(20)}) > 10
    for count in (0, 7):
        with pytest.raises(ValueError, match=r"1\.\.6"):
            images.draw(count, seed=0)


def test_the_checksum_is_that_of_shape_names_pixels_and_labels():
    images = make()
    head = b"((6, 3, 2, 2), ('even', 'odd'))"
    by_hand = hashlib.sha256(head + bytes(range(72)) + np.array([0, 1] * 3, np.int64).tobytes()).hexdigest()
    assert images.sha256 == by_hand
    assert make(labels=1 - images.labels).sha256 != by_hand and make(class_names=("a", "b")).sha256 != by_hand
    turned = images.pixels.transpose(2, 3).contiguous().transpose(2, 3)
    assert make(pixels=turned).sha256 == by_hand, "the same pixels in another memory layout"
