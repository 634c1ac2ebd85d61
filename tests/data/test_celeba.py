"""CelebA in torchvision's layout: the partition, the labels and the crop."""

import numpy as np
import pytest
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as transforms

from privlib.data.celeba import ATTRIBUTES, COUNTS, IMAGES, PARTITION, read_celeba
from privlib.data.locate import DataError

SMALL = {"train": 3, "valid": 1, "test": 2}
CODES = {"000001.jpg": 0, "000002.jpg": 0, "000003.jpg": 1, "000004.jpg": 0, "000005.jpg": 2, "000006.jpg": 2}
SMILES = {"000001.jpg": 1, "000002.jpg": -1, "000003.jpg": 1, "000004.jpg": 1, "000005.jpg": -1, "000006.jpg": 1}


@pytest.fixture
def celeba(tmp_path, paint):
    """The published lists pad their columns with spaces, and so do these."""
    root = tmp_path / "celeba"
    for i, name in enumerate(CODES):
        paint(root / IMAGES / name, seed=i, size=(178, 218), quality=90)
    (root / PARTITION).write_text("".join(f"{name} {code}\n" for name, code in CODES.items()))
    lines = [f"{name} {-smile:2d} {smile:2d}  1" for name, smile in SMILES.items()]
    (root / ATTRIBUTES).write_text("\n".join(["6", "Male Smiling Young ", *lines, ""]))
    return root


@pytest.mark.parametrize("split", COUNTS)
def test_the_partition_decides_and_smiles_are_labels(celeba, split):
    images = read_celeba(split, folder=celeba.parent, counts=SMALL)
    names = [name for name, code in CODES.items() if code == list(COUNTS).index(split)]
    assert images.name == f"celeba/{split}" and images.image_shape == (3, 64, 64) and len(images) == len(names)
    assert [images.class_names[label] for label in images.labels] == [
        "smiling" if SMILES[name] == 1 else "not smiling" for name in names
    ]


def test_the_crop_is_torchvisions_crop_and_resize(celeba):
    """DDIM's code says crop(top=121 - 64, left=89 - 64, height=128, width=128), then Resize(64) of the PIL image."""
    images = read_celeba("valid", folder=celeba, counts=SMALL)
    with Image.open(celeba / IMAGES / "000003.jpg") as image:
        face = transforms.crop(image, top=57, left=25, height=128, width=128)
        expected = np.asarray(transforms.resize(face, 64, InterpolationMode.BILINEAR))
    assert np.array_equal(images.pixels[0].permute(1, 2, 0).numpy(), expected)


def test_the_crop_is_centred_on_column_89_and_row_121(celeba):
    """Mark the 2 by 2 pixels around the centre; they light up the four cells around the middle of 64 by 64."""
    marked = np.zeros((218, 178, 3), np.uint8)
    marked[120:122, 88:90] = 255
    Image.fromarray(marked).save(celeba / IMAGES / "000003.jpg", quality=100, subsampling=0)
    cells = read_celeba("valid", folder=celeba, counts=SMALL).pixels[0, 0].float()
    rows, columns = (cells.sum(1), cells.sum(0))
    for line in (rows, columns):
        assert float(line[31]) == pytest.approx(float(line[32]), rel=0.05) and line[[31, 32]].sum() > 0.7 * line.sum()


def test_a_missing_part_is_named(celeba):
    with pytest.raises(DataError, match=r"puts 3 images into train, expected 162770"):
        read_celeba("train", folder=celeba)
    (celeba / IMAGES / "000004.jpg").unlink()
    with pytest.raises(DataError, match=r"lacks 1 of the 3 images of train, such as 000004\.jpg"):
        read_celeba("train", folder=celeba, counts=SMALL)
    assert len(read_celeba("test", folder=celeba, counts=SMALL)) == 2
    (celeba / IMAGES).rename(celeba / "elsewhere")
    with pytest.raises(DataError, match=r"img_align_celeba is missing: unpack img_align_celeba\.zip"):
        read_celeba("train", folder=celeba, counts=SMALL)
    (celeba / ATTRIBUTES).unlink()
    with pytest.raises(DataError, match=r"list_attr_celeba\.txt is missing"):
        read_celeba("train", folder=celeba, counts=SMALL)


def test_pictures_that_are_not_the_aligned_ones_are_refused(celeba, paint):
    paint(celeba / IMAGES / "000003.jpg", size=(64, 64))
    with pytest.raises(DataError, match=r"000003\.jpg .*64x64 pixels, expected 178x218"):
        read_celeba("valid", folder=celeba, counts=SMALL)
    (celeba / IMAGES / "000003.jpg").write_bytes(b"\xff\xd8\xff\xe0 and then the line broke")
    with pytest.raises(DataError, match=r"000003\.jpg cannot be used"):
        read_celeba("valid", folder=celeba, counts=SMALL)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (PARTITION, "image_id,partition\n000001.jpg,0\n", "expected lines such as"),
        (PARTITION, "000001.jpg 3\n", "expected lines such as"),
        (ATTRIBUTES, "", "must name the attributes"),
        (ATTRIBUTES, "6\nMale Young\n", "must name the attributes"),
        (ATTRIBUTES, "6\nMale Smiling\n000003.jpg 1\n", "damaged"),
        (ATTRIBUTES, "6\nMale Smiling\n000003.jpg 1 0\n", "damaged"),
        (ATTRIBUTES, "6\nMale Smiling\n000001.jpg 1 1\n", r"no line for 000003\.jpg"),
    ],
)
def test_lists_of_another_form_are_refused(celeba, name, content, complaint):
    (celeba / name).write_text(content)
    with pytest.raises(DataError, match=rf"{name}.*{complaint}"):
        read_celeba("valid", folder=celeba, counts=SMALL)


def test_absent_data_and_unknown_splits(tmp_path):
    with pytest.raises(DataError, match=r"CelebA was not found.*torchvision's.*gdown"):
        read_celeba("train", folder=tmp_path)
    with pytest.raises(ValueError, match="train, valid, test, got 'all'"):
        read_celeba("all")


def test_the_official_sizes_add_up_to_the_published_total():
    assert sum(COUNTS.values()) == 202_599 and COUNTS["train"] == 162_770
