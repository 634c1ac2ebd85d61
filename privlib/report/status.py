"""Status of a claim: does the reproduced value agree with what the paper prints?"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real

import numpy as np

from privlib.report.ledger import Claim
from privlib.types import Trend

#: MIME type under which a notebook publishes {"asset", "tier", "values", "statuses"} for the pipeline.
RESULTS_MIME = "application/vnd.privlib.results+json"

#: Scales a notebook can run at; see ``notebooks/profiles``.
TIERS = ("smoke", "embedded", "cifar10", "paper")

#: What a notebook may record for a claim: a number, a truth value or a verdict for a trend, or nothing.
Value = float | bool | Trend | None


class Status(enum.StrEnum):
    """The value of each member is what readers see."""

    MATCH = "match"
    TREND_HOLDS = "trend holds"
    EXPLAINED = "differs, explained"
    UNEXPLAINED = "unexplained"
    UNRESOLVED = "not resolved at this scale"
    NOT_RUN = "not run at this scale"
    DIFFERS = "differs"
    TREND_FAILS = "trend fails"


#: Statuses that fail the check of a build: a number or a trend has moved.
FAILURES = frozenset({Status.DIFFERS, Status.TREND_FAILS})

_TREND_STATUSES = {
    Trend.HOLDS: Status.TREND_HOLDS,
    Trend.FAILS: Status.TREND_FAILS,
    Trend.UNRESOLVED: Status.UNRESOLVED,
}


def agrees(claim: Claim, value: float) -> bool:
    """Whether ``value`` rounds to the printed digits, either way of rounding a tie.

    ``|value - printed| <= half a unit of the last printed digit``, plus a relative 1e-12 for floating point.
    """
    if not math.isfinite(value):
        return False
    half_unit = Decimal(5).scaleb(-claim.decimals - 1)
    slack = Decimal("1e-12") * abs(claim.number)
    return abs(Decimal(value) - claim.number) <= half_unit + slack


def relative_difference(claim: Claim, value: float) -> float:
    """``|value - printed| / |printed|``; infinite where the printed number is 0 or the value is not finite."""
    if not math.isfinite(value) or claim.number == 0:
        return math.inf
    return float(abs((Decimal(value) - claim.number) / claim.number))


def evaluate(claims: Iterable[Claim], values: Mapping[str, Value], *, tier: str) -> dict[str, Status]:
    """Status of every claim, in order.

    Args:
        claims: the claims of one asset.
        values: reproduced value by claim id; None or absent means not computed. A trend that is measured from samples
            is a ``Trend``: smaller than its sampling error, it is neither met nor refuted.
        tier: scale of the run, one of ``TIERS``.

    A ``scale`` claim stays "not run" whatever its value: no notebook computes at the paper's scale yet, and a value
    from a small run must never mark it as met.

    Raises:
        ValueError: unknown tier; an id the ledger does not know; a value of the wrong type; an exact or trend claim
            without a value (allowed at tier "smoke" only).
    """
    if tier not in TIERS:
        raise ValueError(f"tier must be one of {', '.join(TIERS)}, got {tier!r}")
    claims = list(claims)
    if unknown := sorted(set(values) - {claim.id for claim in claims}):
        known = ", ".join(claim.id for claim in claims) or "none"
        raise ValueError(f"values: ids that the ledger does not know: {', '.join(unknown)}; known: {known}")
    checked = {claim.id: _checked(claim, values.get(claim.id)) for claim in claims}
    missing = [claim.id for claim in claims if claim.kind != "scale" and checked[claim.id] is None]
    if missing and tier != "smoke":
        raise ValueError(f"values: exact and trend claims need a value at tier {tier!r}: {', '.join(missing)}")
    return {claim.id: _status(claim, checked[claim.id]) for claim in claims}


def _checked(claim: Claim, value: Value) -> Value:
    if value is None:
        return None
    is_bool = isinstance(value, (bool, np.bool_))
    if claim.kind == "trend":
        if isinstance(value, Trend):
            return value
        if not is_bool:
            raise ValueError(f"values: {claim.id} is a trend and needs True, False or a Trend, got {value!r}")
        return Trend.HOLDS if value else Trend.FAILS
    if is_bool or not isinstance(value, Real):
        raise ValueError(f"values: {claim.id} needs a number, got {value!r}")
    return float(value)


def _status(claim: Claim, value: Value) -> Status:
    if value is None or claim.kind == "scale":
        return Status.NOT_RUN
    if claim.kind == "trend":
        excused = value is Trend.FAILS and claim.explained is not None
        return Status.EXPLAINED if excused else _TREND_STATUSES[value]
    if agrees(claim, value):
        return Status.MATCH
    if claim.residual is not None and relative_difference(claim, value) > claim.residual:
        return Status.DIFFERS
    if claim.explained is not None:
        return Status.EXPLAINED
    return Status.DIFFERS if claim.unexplained is None else Status.UNEXPLAINED
