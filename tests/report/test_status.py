"""When does a value agree with printed digits?"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privlib.report.ledger import Claim
from privlib.report.status import FAILURES, Status, agrees, evaluate
from privlib.types import Trend


def claim(printed="0.2988", kind="exact", **keys):
    return Claim(id="t.1.x", asset="t", paper="p", place="here", printed=printed, kind=kind, why="w", **keys)


@pytest.mark.parametrize(
    ("printed", "value", "same"),
    [
        ("0.2988", 0.29881, True),
        ("0.2988", 0.29875, True),  # a tie rounds either way
        ("0.2988", 0.29885, True),
        ("0.2988", 0.298851, False),
        ("0.69", 0.6946, True),
        ("0.69", 0.6951, False),
        ("23", 22.5, True),
        ("23", 23.51, False),
        ("25,905.494", 25905.4944, True),
        ("25,905.494", 25917.0, False),
        ("0.000", 0.0, True),
        ("-1.5", -1.46, True),
        ("0.5", math.inf, False),
        ("0.5", math.nan, False),
    ],
)
def test_agreement_is_rounding_to_the_printed_digit(printed, value, same):
    assert agrees(claim(printed), value) is same


@given(value=st.floats(min_value=-1e6, max_value=1e6), decimals=st.integers(0, 6))
def test_a_value_agrees_with_its_own_rounding(value, decimals):
    assert agrees(claim(f"{value:,.{decimals}f}"), value)


@given(value=st.floats(min_value=-1e3, max_value=1e3), decimals=st.integers(0, 6), sign=st.sampled_from([-1, 1]))
def test_a_value_one_unit_away_does_not(value, decimals, sign):
    assert not agrees(claim(f"{value:.{decimals}f}"), value + sign * 1.02 * 10.0**-decimals)


def test_every_kind_has_its_statuses():
    assert evaluate([claim()], {"t.1.x": 0.2988}, tier="embedded") == {"t.1.x": Status.MATCH}
    assert evaluate([claim()], {"t.1.x": np.float64(0.4)}, tier="smoke") == {"t.1.x": Status.DIFFERS}
    assert evaluate([claim()], {}, tier="smoke") == {"t.1.x": Status.NOT_RUN}
    trend = claim("mu grows", kind="trend")
    assert evaluate([trend], {"t.1.x": np.bool_(True)}, tier="embedded") == {"t.1.x": Status.TREND_HOLDS}
    assert evaluate([trend], {"t.1.x": False}, tier="embedded") == {"t.1.x": Status.TREND_FAILS}
    verdicts = {Trend.HOLDS: "trend holds", Trend.FAILS: "trend fails", Trend.UNRESOLVED: "not resolved at this scale"}
    for verdict, status in verdicts.items():
        assert evaluate([trend], {"t.1.x": verdict}, tier="embedded") == {"t.1.x": status}
    known = claim("mu grows", kind="trend", explained="why")
    assert evaluate([known], {"t.1.x": False}, tier="embedded") == {"t.1.x": Status.EXPLAINED}
    assert evaluate([known], {"t.1.x": True}, tier="embedded") == {"t.1.x": Status.TREND_HOLDS}
    assert evaluate([known], {"t.1.x": Trend.UNRESOLVED}, tier="embedded") == {"t.1.x": Status.UNRESOLVED}
    with pytest.raises(ValueError, match="needs a number"):
        evaluate([claim()], {"t.1.x": Trend.HOLDS}, tier="embedded")
    assert {Status.DIFFERS, Status.TREND_FAILS} == FAILURES


@pytest.mark.parametrize("tier", ["smoke", "embedded", "cifar10", "paper"])
def test_no_run_marks_a_scale_claim_as_met(tier):
    scale = claim("37.39 ± 0.05", kind="scale")
    assert evaluate([scale], {"t.1.x": 37.39}, tier=tier) == {"t.1.x": Status.NOT_RUN}


def test_a_residual_bounds_what_is_excused():
    excused = claim(unexplained="tried", residual=1e-2)
    assert evaluate([excused], {"t.1.x": 0.2999}, tier="embedded") == {"t.1.x": Status.UNEXPLAINED}
    assert evaluate([excused], {"t.1.x": 0.2988}, tier="embedded") == {"t.1.x": Status.MATCH}
    assert evaluate([excused], {"t.1.x": 0.31}, tier="embedded") == {"t.1.x": Status.DIFFERS}
    assert evaluate([claim(explained="why")], {"t.1.x": 9.0}, tier="embedded") == {"t.1.x": Status.EXPLAINED}
    zero = claim("0.000", unexplained="tried", residual=1.0)
    assert evaluate([zero], {"t.1.x": 0.1}, tier="embedded") == {"t.1.x": Status.DIFFERS}


@pytest.mark.parametrize(
    ("kind", "values", "tier", "message"),
    [
        ("exact", {}, "embedded", "need a value at tier 'embedded': t.1.x"),
        ("exact", {"t.1.x": None}, "paper", "need a value"),
        ("trend", {}, "embedded", "need a value"),
        ("exact", {"t.1.y": 1.0}, "smoke", "does not know: t.1.y; known: t.1.x"),
        ("exact", {"t.1.x": True}, "smoke", "needs a number, got True"),
        ("exact", {"t.1.x": "0.3"}, "smoke", "needs a number"),
        ("trend", {"t.1.x": 1.0}, "smoke", "needs True, False or a Trend"),
        ("exact", {"t.1.x": 0.3}, "tiny", "tier must be one of"),
    ],
)
def test_what_cannot_be_judged_is_refused(kind, values, tier, message):
    with pytest.raises(ValueError, match=message):
        evaluate([claim(kind=kind)], values, tier=tier)
