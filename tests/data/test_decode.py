"""Image files to bytes: colours, transparency, and files that are not what they seem."""

import numpy as np
import pytest
import torch
from PIL import Image

from privlib.data.decode import decode
from privlib.data.locate import DataError


def test_pixels_come_back_in_order_and_as_channels_height_width(tmp_path, paint):
    pixels = [paint(tmp_path / f"{i}.png", seed=i, size=(5, 3)) for i in (2, 0, 1)]
    decoded = decode([tmp_path / f"{i}.png" for i in (2, 0, 1)])
    assert decoded.dtype == torch.uint8 and decoded.shape == (3, 3, 3, 5) and decoded.is_contiguous()
    assert np.array_equal(decoded.permute(0, 2, 3, 1).numpy(), np.stack(pixels))


@pytest.mark.parametrize(
    ("image", "colour"),
    [
        (Image.new("L", (2, 2), 77), (77, 77, 77)),
        (Image.new("1", (2, 2), 1), (255, 255, 255)),
        (Image.new("RGBA", (2, 2), (10, 20, 30, 0)), (255, 255, 255)),
        (Image.new("RGBA", (2, 2), (0, 0, 0, 51)), (204, 204, 204)),
        (Image.new("LA", (2, 2), (0, 0)), (255, 255, 255)),
        (Image.new("RGB", (2, 2), (9, 8, 7)).convert("P"), None),
    ],
)
def test_other_modes_become_rgb_on_white(tmp_path, image, colour):
    image.save(tmp_path / "a.png")
    colour = colour or image.convert("RGB").getpixel((0, 0))
    assert decode([tmp_path / "a.png"])[0, :, 1, 1].tolist() == list(colour)


def test_a_palette_with_a_transparent_entry(tmp_path):
    image = Image.new("P", (2, 2), 0)
    image.putpalette([1, 2, 3, 200, 100, 50])
    image.putpixel((1, 0), 1)
    image.save(tmp_path / "a.png", transparency=bytes([0, 255]))
    assert decode([tmp_path / "a.png"])[0, :, 0].T.tolist() == [[255, 255, 255], [200, 100, 50]]


def test_sixteen_bits_are_not_clipped_to_eight(tmp_path):
    Image.fromarray(np.full((2, 2), 40_000, np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(DataError, match=r"deep\.png .*more than 8 bits"):
        decode([tmp_path / "deep.png"])


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "bmp"])
@pytest.mark.parametrize("harm", ["cut", "empty", "text", "absent"])
def test_damaged_files_are_named(tmp_path, paint, suffix, harm):
    good, bad = tmp_path / f"good.{suffix}", tmp_path / f"bad.{suffix}"
    paint(good)
    content = good.read_bytes()
    if harm != "absent":
        bad.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "text": b"<html>not found</html>"}[harm])
    with pytest.raises(DataError, match=rf"bad\.{suffix} cannot be used"):
        decode([good, bad])


def test_one_size_for_all(tmp_path, paint):
    paint(tmp_path / "a.png", size=(4, 4))
    paint(tmp_path / "b.png", size=(4, 5))
    with pytest.raises(DataError, match=r"b\.png has 4x5 pixels, but .*a\.png has 4x4"):
        decode([tmp_path / "a.png", tmp_path / "b.png"])
