"""Retrieval by hand, and a pipeline folder that is refused when a file of it has changed."""

import hashlib

import pytest
import torch

from privlib.data.locate import DataError
from privlib.denoisers.text_to_image import load_text_to_image, read_text_to_image_card, retrieval_accuracy


def test_retrieval_accuracy_by_hand():
    references = torch.tensor([[0.0], [1.0], [10.0], [11.0], [99.0]])
    generated = torch.tensor([[0.1], [0.2], [10.9], [11.1], [0.0]])
    assert retrieval_accuracy(generated, references, among=2) == 0.5  # rows 0 and 3; the fifth row is left out
    assert retrieval_accuracy(generated, references, among=5) == pytest.approx(2 / 5)
    assert retrieval_accuracy(references, references, among=5) == 1.0


def test_retrieval_by_chance():
    generator = torch.Generator().manual_seed(0)
    generated, references = torch.randn(2, 5000, 8, generator=generator)
    assert retrieval_accuracy(generated, references, among=20) == pytest.approx(0.05, abs=0.012)


def test_retrieval_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="shape of generated"):
        retrieval_accuracy(torch.zeros(4, 2), torch.zeros(5, 2), among=2)
    for among in (1, 5):
        with pytest.raises(ValueError, match=r"among must lie in 2\.\.4"):
            retrieval_accuracy(torch.zeros(4, 2), torch.zeros(4, 2), among=among)


def test_a_missing_or_changed_file_is_named(tmp_path):
    with pytest.raises(DataError, match="make train-text-to-image"):
        load_text_to_image(folder=tmp_path / "none")
    with pytest.raises(DataError, match="make train-text-to-image"):
        read_text_to_image_card(folder=tmp_path)
    digest = hashlib.sha256(b"{}").hexdigest()
    for name, content, message in (("changed", "{ }", "differs from its checksum"), ("missing", None, "is missing")):
        folder = tmp_path / name
        (folder / "unet").mkdir(parents=True)
        (folder / "SHA256SUMS").write_text(f"{digest}  unet/config.json\n")
        if content:
            (folder / "unet" / "config.json").write_text(content)
        with pytest.raises(DataError, match=f"unet/config.json {message}"):
            load_text_to_image(folder=folder)
