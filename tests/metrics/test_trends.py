"""Verdicts from differences with intervals; those on distances are in test_paired."""

import pytest

from privlib.metrics.bootstrap import BootstrapEstimate
from privlib.metrics.trends import all_negative, falling
from privlib.types import Trend

DOWN, UP, UNCLEAR = (BootstrapEstimate(0.5 * (a + b), a, b) for a, b in ((-3.0, -1.0), (1.0, 3.0), (-1.0, 2.0)))


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([DOWN, DOWN], Trend.HOLDS),
        ([DOWN, UNCLEAR], Trend.UNRESOLVED),
        ([DOWN, UP], Trend.FAILS),
        ([UNCLEAR, UP], Trend.FAILS),
    ],
)
def test_all_negative(differences, verdict):
    assert all_negative(differences) is verdict


@pytest.mark.parametrize(
    ("steps", "overall", "verdict"),
    [
        ([DOWN, DOWN], DOWN, Trend.HOLDS),
        ([DOWN, UNCLEAR], DOWN, Trend.HOLDS),
        ([DOWN, UP], DOWN, Trend.FAILS),
        ([UNCLEAR, UNCLEAR], UNCLEAR, Trend.UNRESOLVED),
        ([UNCLEAR, UNCLEAR], UP, Trend.FAILS),
    ],
)
def test_falling(steps, overall, verdict):
    assert falling(steps, overall) is verdict
