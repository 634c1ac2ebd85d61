"""Small sets in the formats that the genuine ones have on disk, with pixels that tell where they came from."""

import numpy as np
import pytest
from PIL import Image

from privlib.data.locate import VARIABLE


@pytest.fixture(autouse=True)
def _no_reader_data(monkeypatch):
    """Tests find what they made themselves, not what the machine's owner has."""
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def paint():
    """Write a random picture, the same for the same seed; returns its pixels (height, width, 3)."""

    def write(path, *, seed=0, size=(32, 32), **options):
        pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path, **options)
        return pixels

    return write
