"""Class folders, and a reader's own images of any size."""

import numpy as np
import pytest
import torch
from PIL import Image

from privlib.data.folders import read_class_folders, read_own_folder
from privlib.data.locate import DataError


def test_classes_and_files_are_sorted_and_labelled(tmp_path, paint):
    wanted = [
        paint(tmp_path / name, seed=seed) for seed, name in enumerate(("a/1.png", "a/10.png", "a/2.png", "b/0.png"))
    ]
    paint(tmp_path / ".thumbnails" / "x.png")
    paint(tmp_path / "b" / "._0.png")
    (tmp_path / "b" / "notes.txt").touch()
    images = read_class_folders(tmp_path, name="mine")
    assert images.name == "mine" and images.class_names == ("a", "b") and images.labels.tolist() == [0, 0, 0, 1]
    assert np.array_equal(images.pixels.permute(0, 2, 3, 1).numpy(), np.stack(wanted))


def test_the_same_picture_twice_is_two_records(tmp_path, paint):
    for name in ("a", "b"):
        paint(tmp_path / "twins" / f"{name}.png", seed=1)
    assert len(read_class_folders(tmp_path, name="mine")) == 2


def test_no_class_folder_and_empty_ones_are_named(tmp_path, paint):
    with pytest.raises(DataError, match="no class folder"):
        read_class_folders(tmp_path, name="mine")
    paint(tmp_path / "a" / "deeper" / "1.png")
    with pytest.raises(DataError, match=r"a holds no image file directly in it \(\.jpg, "):
        read_class_folders(tmp_path, name="mine")


def test_a_flat_folder_is_one_class(tmp_path, paint):
    wanted = [paint(tmp_path / "cats" / name, seed=seed) for seed, name in enumerate(("A.PNG", "b.png"))]
    images = read_own_folder(str(tmp_path / "cats"))
    assert images.name == "folder/cats" and images.class_names == ("cats",) and images.labels.tolist() == [0, 0]
    assert np.array_equal(images.pixels.permute(0, 2, 3, 1).numpy(), np.stack(wanted)), "32x32 pixels stay as they are"


def test_class_folders_of_a_reader_keep_their_names(tmp_path, paint):
    for seed, name in enumerate(("x/1.jpg", "y/1.webp", "y/2.bmp")):
        paint(tmp_path / name, seed=seed, size=(40 + seed, 50))
    images = read_own_folder(tmp_path, side=16)
    assert images.class_names == ("x", "y") and images.labels.tolist() == [0, 1, 1]
    assert images.image_shape == (3, 16, 16)


@pytest.mark.parametrize("size", [(100, 60), (60, 100), (61, 100)])
def test_the_centre_square_is_kept(tmp_path, size):
    """The middle is red, what the square leaves out is green; a reduced picture is red throughout."""
    short, (width, height) = min(size), size
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 1] = 255
    top, left = (height - short) // 2, (width - short) // 2
    pixels[top : top + short, left : left + short] = [255, 0, 0]
    Image.fromarray(pixels).save(tmp_path / "a.png")
    images = read_own_folder(tmp_path, side=20)
    assert torch.equal(images.pixels[0], torch.tensor([255, 0, 0], dtype=torch.uint8)[:, None, None].expand(3, 20, 20))


def test_reducing_averages(tmp_path):
    """A fine checkerboard has mean 127.5; picking single pixels would give 0 or 255."""
    Image.fromarray((np.indices((256, 256)).sum(0) % 2 * 255).astype(np.uint8)).save(tmp_path / "a.png")
    assert int((read_own_folder(tmp_path, side=8).pixels.int() - 127).abs().max()) <= 2


def test_small_pictures_are_enlarged(tmp_path, paint):
    paint(tmp_path / "a.png", size=(5, 7))
    assert read_own_folder(tmp_path).image_shape == (3, 32, 32)


def test_pictures_stand_upright(tmp_path):
    """Orientation 6: the camera was turned, so the stored left column is the top row."""
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:, 0] = 255
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    picture = read_own_folder(tmp_path, side=8).pixels[0, 0]
    assert (picture[0] == 255).all() and (picture[1:] == 0).all()


def test_what_is_wrong_with_a_folder_is_told(tmp_path, paint):
    with pytest.raises(DataError, match="nowhere is not a folder"):
        read_own_folder(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no class folder"):
        read_own_folder(tmp_path)
    paint(tmp_path / "a.png")
    for side in (0, 2.5, "32"):
        with pytest.raises(ValueError, match="side"):
            read_own_folder(tmp_path, side=side)
    paint(tmp_path / "cats" / "b.png")
    with pytest.raises(DataError, match=r"images beside class folders, such as a\.png and cats/"):
        read_own_folder(tmp_path)
