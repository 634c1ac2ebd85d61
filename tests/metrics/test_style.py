"""The cosine with a style: by hand, and of a style with itself."""

import pytest
import torch

from privlib.metrics.style import Style, unit_rows


class Corner:
    """The first two channels of the first pixel."""

    name, stand_in_for = "corner", ""

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        return images[:, :2, 0, 0]


def pictures(*features: tuple[float, float]) -> torch.Tensor:
    return torch.tensor(features)[:, :, None, None].expand(-1, -1, 4, 4)


def test_by_hand() -> None:
    style = Style.of(Corner(), pictures((2.0, 0.0), (0.0, 0.5)))
    assert style.mean.tolist() == [0.5, 0.5] and style.mean.dtype == torch.float64
    cosine = style.cosine(pictures((1.0, 1.0), (3.0, 0.0), (-1.0, 0.0)))
    assert cosine.tolist() == pytest.approx([2**-0.5, 0.5, -0.5])


def test_pictures_that_are_all_alike_have_cosine_one() -> None:
    same = pictures((0.3, 0.4), (0.6, 0.8), (3.0, 4.0))
    assert Style.of(Corner(), same).cosine(same).tolist() == pytest.approx([1.0] * 3)
    assert Style.of(Corner(), same).cosine(same[:1]).tolist() == pytest.approx([1.0])


def test_a_row_of_zeros_stays() -> None:
    assert unit_rows(torch.tensor([[0.0, 0.0], [3.0, 4.0]])).tolist() == [[0.0, 0.0], pytest.approx([0.6, 0.8])]
