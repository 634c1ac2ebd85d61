"""CIFAR-10 in its three formats, written here byte by byte with ten pictures a class at most."""

import hashlib
import pickle

import numpy as np
import pytest
from PIL import Image
from torchvision.datasets import CIFAR10

from privlib.data.cifar10 import BINARY, CLASS_NAMES, COUNTS, PICKLED, read_cifar10
from privlib.data.locate import DataError

SMALL = {"train": 50, "test": 10}


def records(split):
    """Pixels (n, 3, 32, 32) and labels, a tenth of each class in mixed order."""
    random = np.random.default_rng(list(SMALL).index(split))
    labels = random.permutation(np.repeat(np.arange(10), SMALL[split] // 10))
    return random.integers(0, 256, (SMALL[split], 3, 32, 32), np.uint8), labels


def old_pickle(content) -> bytes:
    """Protocol 2 as NumPy of that time wrote it: another module, and numbers for the flags of a dtype."""
    text = pickle.dumps(content, protocol=2)
    for modern, old in ((b"\x89\x88\x87", b"K\x00K\x01\x87"), (b"numpy._core.multiarray", b"numpy.core.multiarray")):
        assert text.count(modern) == 1
        text = text.replace(modern, old)
    return text


@pytest.fixture
def pickled(tmp_path, monkeypatch):
    """A folder as torchvision's download leaves it; the checksums are those of the files written here."""
    folder = tmp_path / "cifar10" / PICKLED
    folder.mkdir(parents=True)

    def write(name, content):
        (folder / name).write_bytes(content)
        return hashlib.md5(content).hexdigest()

    pixels, labels = records("train")
    lists = {"train": [], "test": []}
    parts = [*zip(np.split(pixels, 5), np.split(labels, 5), strict=True), records("test")]
    for i, (part, part_labels) in enumerate(parts, start=1):
        name = f"data_batch_{i}" if i < 6 else "test_batch"
        content = {
            "batch_label": name,
            "labels": part_labels.tolist(),
            "data": part.reshape(len(part), 3072),
            "filenames": [f"{j}.png" for j in range(len(part))],
        }
        lists["train" if i < 6 else "test"].append([name, write(name, old_pickle(content))])
    meta = {"num_cases_per_batch": 10_000, "label_names": list(CLASS_NAMES), "num_vis": 3072}
    md5 = write("batches.meta", pickle.dumps(meta, protocol=2))
    monkeypatch.setattr(CIFAR10, "train_list", lists["train"])
    monkeypatch.setattr(CIFAR10, "test_list", lists["test"])
    monkeypatch.setattr(CIFAR10, "meta", CIFAR10.meta | {"md5": md5})
    return folder


@pytest.fixture
def binary(tmp_path):
    folder = tmp_path / "cifar10" / BINARY
    folder.mkdir(parents=True)
    for split, parts in (("train", 5), ("test", 1)):
        pixels, labels = records(split)
        rows = np.concatenate([labels[:, None].astype(np.uint8), pixels.reshape(len(pixels), 3072)], axis=1)
        for i, part in enumerate(np.split(rows, parts), start=1):
            (folder / (f"data_batch_{i}.bin" if split == "train" else "test_batch.bin")).write_bytes(part.tobytes())
    return folder


@pytest.fixture
def class_folders(tmp_path):
    """PNG, so that pixels can be compared; the order within a class is that of the records."""
    folder = tmp_path / "cifar10"
    for split in SMALL:
        pixels, labels = records(split)
        for i, (picture, label) in enumerate(zip(pixels, labels, strict=True)):
            path = folder / split / CLASS_NAMES[label] / f"{i:04}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture.transpose(1, 2, 0)).save(path)
    return folder


@pytest.mark.parametrize("split", SMALL)
@pytest.mark.parametrize("layout", ["pickled", "binary"])
def test_both_archives_give_the_records_in_their_order(request, layout, split, tmp_path):
    request.getfixturevalue(layout)
    images = read_cifar10(split, folder=tmp_path, counts=SMALL)
    pixels, labels = records(split)
    assert images.name == f"cifar10/{split}" and images.class_names == CLASS_NAMES
    assert np.array_equal(images.pixels.numpy(), pixels) and images.labels.tolist() == labels.tolist()


@pytest.mark.parametrize("split", SMALL)
def test_class_folders_give_them_class_by_class(class_folders, split):
    images = read_cifar10(split, folder=class_folders, counts=SMALL)
    pixels, labels = records(split)
    order = np.argsort(labels, kind="stable")
    assert images.class_names == CLASS_NAMES
    assert np.array_equal(images.pixels.numpy(), pixels[order]) and images.labels.tolist() == labels[order].tolist()


def test_the_classes_are_torchvisions_and_alphabetical(pickled):
    assert list(CLASS_NAMES) == sorted(CLASS_NAMES)
    torchvisions = pickle.loads((pickled / "batches.meta").read_bytes())["label_names"]
    assert CIFAR10(pickled.parent).classes == torchvisions == list(CLASS_NAMES)


def test_nothing_is_unpickled_before_its_checksum_is_right(pickled):
    (pickled / "data_batch_2").write_bytes(b"cbuiltins\nexec\n(S'raise SystemExit'\ntR.")
    with pytest.raises(DataError, match=r"data_batch_2 differs from its checksum.*cifar-10-python\.tar\.gz"):
        read_cifar10("train", folder=pickled.parent)


@pytest.mark.parametrize("name", ["data_batch_5", "test_batch", "batches.meta"])
def test_a_missing_pickle_is_named(pickled, name):
    (pickled / name).unlink()
    with pytest.raises(DataError, match=f"{name} is missing"):
        read_cifar10("train", folder=pickled.parent)


def test_a_short_binary_file_is_named(binary):
    content = (binary / "data_batch_3.bin").read_bytes()
    (binary / "data_batch_3.bin").write_bytes(content[:-1])
    with pytest.raises(
        DataError, match=rf"data_batch_3\.bin has {len(content) - 1} bytes, expected {len(content)} bytes"
    ):
        read_cifar10("train", folder=binary.parent, counts=SMALL)
    (binary / "data_batch_3.bin").unlink()
    with pytest.raises(DataError, match=r"data_batch_3\.bin is missing"):
        read_cifar10("train", folder=binary.parent, counts=SMALL)
    assert len(read_cifar10("test", folder=binary.parent, counts=SMALL)) == 10


def test_labels_of_a_binary_file_must_be_balanced(binary):
    content = bytearray((binary / "test_batch.bin").read_bytes())
    content[0] = (content[0] + 1) % 10
    (binary / "test_batch.bin").write_bytes(content)
    with pytest.raises(DataError, match="labels of test"):
        read_cifar10("test", folder=binary.parent, counts=SMALL)


def test_a_missing_class_folder_and_a_short_one_are_named(class_folders, paint):
    with pytest.raises(DataError, match="airplane holds 5 images, expected 5000"):
        read_cifar10("train", folder=class_folders)
    victim = next((class_folders / "train" / "frog").iterdir())
    victim.rename(class_folders / "frog.png")
    with pytest.raises(DataError, match="frog holds 4 images, expected 5"):
        read_cifar10("train", folder=class_folders, counts=SMALL)
    paint(victim, size=(64, 64))
    with pytest.raises(DataError, match=rf"{victim.name} .*64x64 pixels, expected 32x32"):
        read_cifar10("train", folder=class_folders, counts=SMALL)
    (class_folders / "test" / "ship").rename(class_folders / "test" / "boat")
    with pytest.raises(DataError, match="ship is missing: expected one folder for each of airplane, automobile"):
        read_cifar10("test", folder=class_folders, counts=SMALL)


def test_an_archive_that_was_not_unpacked_is_named(tmp_path):
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / "cifar-10-python.tar.gz").touch()
    with pytest.raises(
        DataError, match=r"not unpacked: .*cifar-10-python\.tar\.gz.*cifar-10-batches-py/.*download=True"
    ):
        read_cifar10("train", folder=tmp_path)


def test_unknown_splits_and_the_official_sizes():
    assert COUNTS == {"train": 50_000, "test": 10_000}
    with pytest.raises(ValueError, match="train, test, got 'valid'"):
        read_cifar10("valid")
