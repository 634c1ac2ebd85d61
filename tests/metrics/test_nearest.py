"""Nearest references, against a plain search."""

import pytest
import torch

from privlib.metrics.nearest import nearest, nearest_other


def test_against_a_plain_search() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(7, 3, generator=generator)
    reference = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    found = nearest(rows, reference)
    for row, index, distance in zip(rows, found.index, found.distance, strict=True):
        plain = [float((row.double() - other).norm()) for other in reference]
        assert int(index) == plain.index(min(plain)) and float(distance) == pytest.approx(min(plain), rel=1e-6)
    copies = nearest(reference[[4, 1]], reference)
    assert copies.index.tolist() == [4, 1] and copies.distance.max() < 1e-7


def test_a_row_is_not_its_own_neighbour() -> None:
    found = nearest_other(torch.tensor([[0.0], [1.0], [3.0]]))
    assert found.index.tolist() == [1, 0, 1] and found.distance.tolist() == [1.0, 1.0, 2.0]


def test_refusals() -> None:
    with pytest.raises(ValueError, match="same number of features, got 2 and 3"):
        nearest(torch.zeros(4, 2), torch.zeros(4, 3))
    with pytest.raises(ValueError, match="at least 2 samples"):
        nearest_other(torch.zeros(1, 2))
