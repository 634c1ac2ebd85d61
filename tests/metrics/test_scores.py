"""Paired means against SciPy's t-test, by hand, and their coverage."""

import pytest
import torch
from scipy import stats

from privlib.metrics.scores import PairedScores
from privlib.types import Trend


def scores(count: int = 8) -> PairedScores:
    first, second, third = torch.randn(3, count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return PairedScores({"a": first, "b": first + 0.1 * second - 1.0, "c": first + 0.1 * third - 2.0})


def test_against_scipy() -> None:
    found = scores()
    for confidence in (0.9, 0.99):
        paired = stats.ttest_rel(found.rows["a"], found.rows["b"]).confidence_interval(confidence)
        difference = found.difference("a", "b", confidence=confidence)
        assert (difference.lower, difference.upper) == pytest.approx((paired.low, paired.high))
        single = stats.ttest_1samp(found.rows["a"], 0.0).confidence_interval(confidence)
        assert (found.mean("a", confidence=confidence).lower, found.mean("a", confidence=confidence).upper) == (
            pytest.approx((single.low, single.high))
        )


def test_a_contrast_is_taken_row_by_row() -> None:
    found = PairedScores({"a": torch.tensor([1.0, 2.0, 3.0]), "b": torch.tensor([3.0, 4.0, 5.0])})
    middle = found.contrast({"a": 1.0, "b": -0.5})
    assert middle.value == 0.0 and middle.upper == pytest.approx(4.302653 * 0.5 / 3**0.5, rel=1e-6)
    assert str(found.difference("b", "a")) == "2.000 [2.000, 2.000]"


def test_trends() -> None:
    found = scores()
    assert found.falls(["a", "b", "c"]) is Trend.HOLDS and found.falls(["c", "a"]) is Trend.FAILS
    assert found.falls(["a", "c", "b"]) is Trend.FAILS
    same = PairedScores(found.rows | {"d": found.rows["a"] + 0.01 * found.rows["c"] - 0.01 * found.rows["c"].mean()})
    assert same.falls(["a", "d"]) is Trend.UNRESOLVED


def test_intervals_that_overlap_decide_nothing() -> None:
    found = PairedScores({"a": torch.tensor([0.0, 1.0, 2.0]), "b": torch.tensor([0.1, 1.1, 2.1])})
    far = PairedScores(found.rows | {"c": found.rows["a"] + 9.0})
    assert found.difference("a", "b").upper < 0.0 and found.intervals_below("a", "b") is Trend.UNRESOLVED
    assert far.intervals_below("a", "c") is Trend.HOLDS and far.intervals_below("c", "a") is Trend.FAILS


def test_intervals_of_ten_normal_rows_cover_as_often_as_they_say() -> None:
    draws = torch.randn(2000, 10, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = [PairedScores({"a": rows}).mean("a", confidence=0.98) for rows in draws]
    missed = sum(not each.lower <= 0.0 <= each.upper for each in found)
    assert 20 <= missed <= 62  # 40 expected, three and a half deviations either way


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"a": torch.zeros(4), "b": torch.zeros(5)}, "one shape"),
        ({"a": torch.zeros(2)}, "at least 3, got 2"),
        ({"a": torch.tensor([0.0, 1.0, float("nan")])}, "finite"),
        ({}, "one shape"),
    ],
)
def test_refusals(rows, message) -> None:
    with pytest.raises(ValueError, match=message):
        PairedScores(rows)
