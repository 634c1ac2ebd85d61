"""What may be believed of each thing a paper says: verdicts that follow from the statuses of its claims.

The points are in ``book/what_holds.yml``: what the paper says in the book's words, which claims of the ledger stand for
it, and the verdict that its text was written for. The verdict itself is derived; a point whose text was
written for another one is refused, so that a page can never go on saying what the numbers no longer support.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

from privlib.pipeline.results import Finding
from privlib.report.ledger import KINDS, LedgerError
from privlib.report.status import Status


class Verdict(enum.StrEnum):
    """The value of each member is what readers see."""

    EXACT = "reproduced exactly"
    REAL = "trend reproduced on real data"
    BUNDLED = "trend reproduced on bundled data"
    FAILS = "trend fails on bundled data"
    UNRESOLVED = "not resolved here"
    UNEXPLAINED = "not reproduced, unexplained"
    CONTRADICTED = "contradicted"
    OUT_OF_REACH = "not reproducible here"
    STATED = "stated, not tested"


@dataclass(frozen=True)
class Point:
    """One thing that a paper says.

    Attributes:
        says: in this book's words.
        where: figures and tables.
        claims: patterns of claim ids; each names at least one claim.
        kind: of the claims that are meant, one of ``KINDS``; others that match the patterns are not.
        verdict: what ``believe`` was written for.
        believe: what a reader may take away, in MyST.
        pages: notebooks that show the evidence.
        paper: key of the paper in the bibliography; only its claims are meant, since two papers have a Figure 1.
        uses_data: False where a trend follows from the mechanism alone, so that it is as good as a number.
    """

    says: str
    where: str
    claims: tuple[str, ...]
    kind: str
    verdict: Verdict
    believe: str
    pages: tuple[str, ...]
    paper: str
    uses_data: bool = True


def load_points(path: Path) -> dict[str, list[Point]]:
    """Points by section, in order.

    Raises:
        LedgerError: the file is not as described; the message names the point.
    """
    sections = yaml.safe_load(path.read_text(encoding="utf-8"))
    points = {}
    for section in sections:
        points[section["title"]] = [_point(path, {"paper": section["paper"], **entry}) for entry in section["points"]]
    return points


def _point(path: Path, entry: Mapping[str, object]) -> Point:
    where = f"{path}: {str(entry.get('says'))[:60]!r}"
    try:
        fields = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        point = Point(**{**fields, "verdict": Verdict(str(entry.get("verdict")))})
    except (TypeError, ValueError) as error:
        raise LedgerError(f"{where}: {error}") from None
    if point.kind not in KINDS:
        raise LedgerError(f"{where}: kind must be one of {', '.join(KINDS)}, got {point.kind!r}")
    return point


def findings_of(point: Point, findings: Mapping[str, Finding]) -> list[Finding]:
    """The findings that a point rests on, of those by claim id.

    Raises:
        LedgerError: a pattern without a claim.
    """
    of_kind = {
        name: finding
        for name, finding in findings.items()
        if finding.claim.kind == point.kind and finding.claim.paper == point.paper
    }
    for pattern in point.claims:
        if not any(fnmatchcase(name, pattern) for name in of_kind):
            raise LedgerError(f"no {point.kind} claim matches {pattern!r} in {point.says[:60]!r}")
    return [finding for name, finding in of_kind.items() if any(fnmatchcase(name, pattern) for pattern in point.claims)]


def derive(point: Point, here: Sequence[Status], real: Sequence[Status]) -> Verdict:
    """The verdict that statuses of the live run and of the ``cifar10`` bundles support.

    Real data, where every claim of the point was run on them, outweigh the bundled ones. Numbers: all must match; some
    may differ for a known reason beside others that match. A number that differs for a known reason alone contradicts,
    and so does a trend that goes the other way on real data, or needs none; small data and stand-ins contradict nobody.
    No value: out of reach, or merely stated, as the point says.
    """
    found = set(real if real and point.kind == "trend" else here)
    if Status.UNEXPLAINED in found or Status.DIFFERS in found:
        return Verdict.UNEXPLAINED
    if found == {Status.MATCH} or found == {Status.MATCH, Status.EXPLAINED}:
        return Verdict.EXACT
    if found & {Status.EXPLAINED, Status.TREND_FAILS}:
        small = point.kind == "trend" and point.uses_data and not real
        return Verdict.FAILS if small else Verdict.CONTRADICTED
    if Status.UNRESOLVED in found:
        return Verdict.UNRESOLVED
    if found == {Status.TREND_HOLDS}:
        if not point.uses_data:
            return Verdict.EXACT
        return Verdict.REAL if real else Verdict.BUNDLED
    return Verdict.STATED if point.verdict is Verdict.STATED else Verdict.OUT_OF_REACH


def in_words(statuses: Sequence[Status]) -> str:
    """How often each status occurs, such as ``13 match, 2 differs, explained``."""
    counts = Counter(statuses)
    return ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
