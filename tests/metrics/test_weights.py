"""Published weight files, with a file URL in place of the network."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch

from privlib.data.locate import DataError
from privlib.metrics.weights import WeightFile


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WeightFile:
    """A file that "the authors publish", and an empty cache."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    source = tmp_path / "published" / "tiny.pth"
    source.parent.mkdir()
    torch.save({"weight": torch.arange(3.0)}, source)
    return WeightFile("the tiny weights", source.as_uri(), hashlib.sha256(source.read_bytes()).hexdigest(), 1)


def test_fetched_once_and_read(released: WeightFile, tmp_path: Path) -> None:
    tensors, is_released = released.read()
    assert is_released and torch.equal(tensors["weight"], torch.arange(3.0))
    assert released.cached == tmp_path / "home" / "hub" / "checkpoints" / "tiny.pth"
    (tmp_path / "published" / "tiny.pth").unlink()
    assert released.read()[1]


def test_a_prefix_of_the_checksum_is_enough(released: WeightFile) -> None:
    short = WeightFile(released.title, released.url, released.sha256[:8], 1)
    assert short.read()[1]


def test_absent_and_not_to_be_had(released: WeightFile, tmp_path: Path) -> None:
    (tmp_path / "published" / "tiny.pth").unlink()
    with pytest.raises(DataError, match=r"the tiny weights do not come with.*Fetch file:.*put it at .*checkpoints"):
        released.read()
    assert not list(released.cached.parent.iterdir())


def test_a_download_that_differs_is_not_kept(released: WeightFile, tmp_path: Path) -> None:
    torch.save({"weight": torch.ones(3)}, tmp_path / "published" / "tiny.pth")
    with pytest.raises(DataError, match="invalid hash value"):
        released.fetch()
    assert not list(released.cached.parent.iterdir())


def test_a_cached_file_that_differs_is_refused(released: WeightFile) -> None:
    released.fetch()
    torch.save({"weight": torch.ones(3)}, released.cached)
    with pytest.raises(DataError, match=r"tiny.pth is not the tiny weights.*remove it"):
        released.read()


def test_another_file_of_the_format_is_read_and_not_taken_for_the_released_one(
    released: WeightFile, tmp_path: Path
) -> None:
    torch.save({"weight": torch.ones(2)}, tmp_path / "own.pth")
    tensors, is_released = released.read(tmp_path / "own.pth")
    assert not is_released and torch.equal(tensors["weight"], torch.ones(2))


class Harmful:
    """Unpickling it would run a function."""

    def __reduce__(self) -> tuple:
        return (pytest.fail, ("the file ran code",))


@pytest.mark.parametrize("content", [{"weight": Harmful()}, [torch.ones(1)], {"epoch": 3}, b"text"])
def test_files_that_hold_anything_but_tensors_are_refused(
    released: WeightFile, tmp_path: Path, content: object
) -> None:
    path = tmp_path / "other.pth"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content, path)
    with pytest.raises(DataError, match=r"other.pth (cannot be read|must hold a dictionary of tensors)"):
        released.read(path)


def test_a_path_that_is_absent(released: WeightFile, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent.pth is missing; the tiny weights are file:"):
        released.read(tmp_path / "absent.pth")
