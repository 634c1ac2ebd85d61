"""Verdicts on trends: does a distance fall along a sequence, has it a minimum inside, or is it too close to call?

Each verdict is made of differences with intervals (``paired.PairedDistances.difference``). A difference whose interval
contains zero decides nothing. Where several differences are looked at for one verdict, the confidence is split among
them (Bonferroni), so that looking at many does not turn chance into a finding.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from privlib.metrics.paired import PairedDistances
from privlib.types import Trend


def falls(distances: PairedDistances, names: Sequence[Hashable], *, confidence: float = 0.95) -> Trend:
    """Whether the distance falls along ``names``.

    It holds if the last distance is below the first beyond the sampling error and no neighbour rises beyond it; it
    fails if the last is above the first, or a neighbour rises, beyond the sampling error; else it is not resolved.

    Raises:
        ValueError: fewer than two names.
    """
    if len(names) < 2:
        raise ValueError(f"names must be at least two, got {list(names)}")
    pairs = {(names[0], names[-1]), *zip(names, names[1:], strict=False)}
    split = 1.0 - (1.0 - confidence) / len(pairs)
    changes = {(a, b): distances.difference(b, a, confidence=split) for a, b in pairs}
    if any(change.lower > 0.0 for change in changes.values()):
        return Trend.FAILS
    return Trend.HOLDS if changes[names[0], names[-1]].upper < 0.0 else Trend.UNRESOLVED


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
