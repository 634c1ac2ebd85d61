"""Verdicts on trends: does a number fall along a sequence, has it a minimum inside, or is it too close to call?

Each verdict is made of differences with intervals (``paired.PairedDistances.difference``, or
``bootstrap.paired_bootstrap`` of a difference). A difference whose interval
contains zero decides nothing. Where several differences are looked at for one verdict, the confidence is split among
them (Bonferroni), so that looking at many does not turn chance into a finding.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from privlib.metrics.paired import PairedDistances
from privlib.types import Trend


class WithInterval(Protocol):
    """A difference with the interval of its sampling error."""

    lower: float
    upper: float


def all_negative(differences: Sequence[WithInterval]) -> Trend:
    """Whether every difference is below zero: holds if all intervals are, fails if one is above, else not resolved."""
    if any(difference.lower > 0.0 for difference in differences):
        return Trend.FAILS
    return Trend.HOLDS if all(difference.upper < 0.0 for difference in differences) else Trend.UNRESOLVED


def falling(steps: Sequence[WithInterval], overall: WithInterval) -> Trend:
    """Whether a number falls from first to last, given its changes from each to the next and from end to end.

    It holds if it falls from end to end beyond the sampling error and rises in no step beyond it; it fails if it rises
    anywhere beyond it; else it is not resolved.
    """
    if any(change.lower > 0.0 for change in (*steps, overall)):
        return Trend.FAILS
    return Trend.HOLDS if overall.upper < 0.0 else Trend.UNRESOLVED


def falls(distances: PairedDistances, names: Sequence[Hashable], *, confidence: float = 0.95) -> Trend:
    """Whether the distance falls along ``names``, in the sense of ``falling``.

    Raises:
        ValueError: fewer than two names.
    """
    if len(names) < 2:
        raise ValueError(f"names must be at least two, got {list(names)}")
    pairs = {(names[0], names[-1]), *zip(names, names[1:], strict=False)}
    split = 1.0 - (1.0 - confidence) / len(pairs)
    changes = {(a, b): distances.difference(b, a, confidence=split) for a, b in pairs}
    return falling(list(changes.values()), changes[names[0], names[-1]])


def has_inner_minimum(distances: PairedDistances, names: Sequence[Hashable], *, confidence: float = 0.95) -> Trend:
    """Whether the distance is least strictly inside ``names``.

    It holds if one inner distance is below both ends beyond the sampling error; it fails if one end is below every
    inner distance beyond it; else it is not resolved.

    Raises:
        ValueError: fewer than three names.
    """
    if len(names) < 3:
        raise ValueError(f"names must be at least three, got {list(names)}")
    inner, ends = names[1:-1], (names[0], names[-1])
    split = 1.0 - (1.0 - confidence) / (2 * len(inner))
    rises = {(a, b): distances.difference(b, a, confidence=split) for a in inner for b in ends}
    if any(all(rises[a, b].lower > 0.0 for b in ends) for a in inner):
        return Trend.HOLDS
    lower_end = any(all(rises[a, b].upper < 0.0 for a in inner) for b in ends)
    return Trend.FAILS if lower_end else Trend.UNRESOLVED
