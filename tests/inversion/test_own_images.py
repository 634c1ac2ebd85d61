"""A reader's folder: accepted as it should be, and complaints that name the file or the parameter."""

import numpy as np
import pytest
from PIL import Image

from privlib.data import load
from privlib.data.locate import DataError
from privlib.inversion.own_images import load_private, validate_folder


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("b.png", "a.png", "c.jpg"):
        Image.fromarray(rng.integers(0, 256, (20, 24, 3), dtype=np.uint8)).save(tmp_path / name)
    return tmp_path


def test_a_good_folder_is_read_in_order_of_names(folder):
    images = validate_folder(folder, sample_size=3, side=16)
    assert images.image_shape == (3, 16, 16) and len(images) == 3


def test_what_is_refused(folder):
    with pytest.raises(ValueError, match=r"sample_size \(m\) must lie in 1..3, .* got 4"):
        validate_folder(folder, sample_size=4, side=16)
    with pytest.raises(ValueError, match="side must be"):
        validate_folder(folder, sample_size=1, side=0)
    (folder / "d.png").write_bytes((folder / "a.png").read_bytes())
    with pytest.raises(DataError, match="d.png shows the same picture as a.png"):
        validate_folder(folder, sample_size=1, side=16)
    (folder / "d.png").write_bytes((folder / "a.png").read_bytes()[:60])
    with pytest.raises(DataError, match="d.png cannot be used"):
        validate_folder(folder, sample_size=1, side=16)
    (folder / "d.png").write_text("no picture")
    with pytest.raises(DataError, match="d.png cannot be used"):
        validate_folder(folder, sample_size=1, side=16)
    with pytest.raises(DataError, match="is not a folder"):
        validate_folder(folder / "nothing", sample_size=1, side=16)


def test_class_folders_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(DataError, match="no image|no picture|holds no"):
        validate_folder(tmp_path, sample_size=1, side=16)
    (tmp_path / "cats").mkdir()
    with pytest.raises(DataError, match="directly into one folder"):
        validate_folder(tmp_path, sample_size=1, side=16)


def test_private_sets_have_the_size_of_the_model(folder):
    assert load_private("icons/pictograms", folder="", side=32).sha256 == load("icons/pictograms").sha256
    with pytest.raises(ValueError, match="16 by 16, but icons/pictograms has 32 by 32"):
        load_private("icons/pictograms", folder="", side=16)
    with pytest.raises(ValueError, match="data_folder must name the folder"):
        load_private("folder", folder="", side=16)
    assert load_private("folder", folder=folder, side=16).image_shape == (3, 16, 16)
