"""Value types."""

from __future__ import annotations

import dataclasses
import math

import pytest

from privlib.types import AccountingError, Adjacency, Interval


def test_interval() -> None:
    interval = Interval(1.0, 3.0)
    assert interval.width == 2.0 and interval.midpoint == 2.0
    assert 1.0 in interval and 3.0 in interval and 3.1 not in interval and math.nan not in interval
    assert Interval(0.0, math.inf).width == math.inf
    with pytest.raises(dataclasses.FrozenInstanceError):
        interval.lower = 0.0


@pytest.mark.parametrize("ends", [(2.0, 1.0), (math.nan, 1.0), (0.0, math.nan)])
def test_interval_refuses_crossed_ends(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="lower <= upper"):
        Interval(*ends)


def test_names() -> None:
    from dp_accounting.privacy_accountant import NeighboringRelation

    assert {a.name for a in Adjacency} <= {a.name for a in NeighboringRelation}
    assert issubclass(AccountingError, RuntimeError)
