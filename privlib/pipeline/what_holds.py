"""Write the page that says, point by point, what the papers claim and what a reader may believe of it.

    python -m privlib.pipeline.what_holds [PAGE.md] --results FILE...

Without PAGE it only checks: exit status 1 where a point of ``book/what_holds.yml`` was written for another verdict than
the statuses support. A claim of a paper that belongs to no point or to two is an error either way.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from privlib.files import replace_text
from privlib.pipeline.results import Finding, load_findings
from privlib.pipeline.verdicts import Point, Verdict, derive, findings_of, in_words, load_points
from privlib.report.bundles import bundle_path, read_bundle
from privlib.report.ledger import LedgerError, repository_root
from privlib.report.markup import Cell, html_table
from privlib.report.status import Status

POINTS = Path("book") / "what_holds.yml"
REAL = "cifar10"

_TONES = {
    Verdict.EXACT: "ok",
    Verdict.REAL: "ok",
    Verdict.BUNDLED: "ok",
    Verdict.FAILS: "note",
    Verdict.CONTRADICTED: "bad",
    Verdict.UNEXPLAINED: "note",
    Verdict.UNRESOLVED: "note",
    Verdict.OUT_OF_REACH: "none",
    Verdict.STATED: "none",
}

_MEANINGS = {
    Verdict.EXACT: "every printed number comes out to its last digit, but for those that differ for a known reason",
    Verdict.REAL: "the direction holds on CIFAR-10 with 50,000 records and networks trained for this book",
    Verdict.BUNDLED: "the direction holds on the small data that come with the book; it was not run on real data",
    Verdict.FAILS: "the direction is another one on the small data and stand-ins of the book; the paper's may have it",
    Verdict.UNRESOLVED: "a difference, or one of several, is smaller than its sampling error",
    Verdict.UNEXPLAINED: "printed numbers do not follow from the reading that gives the others; nobody here knows why",
    Verdict.CONTRADICTED: "what this book measured or counted says otherwise; the page gives the evidence",
    Verdict.OUT_OF_REACH: "needs data sets, networks or hours that this book does not have; the code to do it is there",
    Verdict.STATED: "the paper quotes or says it; nothing here bears on it",
}


def real_statuses(assets: Sequence[str], root: Path) -> dict[str, Status]:
    """Statuses by claim id from the committed bundles of real data; stale ones count, as their pages say so."""
    statuses = {}
    for asset in assets:
        if bundle_path(asset, REAL, root=root).is_file():
            rows = read_bundle(asset, REAL, root=root).tables.get("claims", ())
            statuses |= {str(row["claim"]): Status(row["status"]) for row in rows}
    return statuses


@dataclass(frozen=True)
class Judged:
    """A point with the verdict that follows, and what it follows from in words."""

    point: Point
    verdict: Verdict
    evidence: str


def judge(
    sections: Mapping[str, Sequence[Point]], findings: Mapping[str, Finding], real: Mapping[str, Status]
) -> dict[str, list[Judged]]:
    """Points with their verdicts, by section.

    Args:
        sections: see ``load_points``.
        findings: of this build, by claim id.
        real: statuses on real data by claim id, where there are any; a point needs them for all of its claims.

    Raises:
        LedgerError: claims that are in no point or in two, one a line.
    """
    result, uses = {}, Counter()
    for title, points in sections.items():
        result[title] = []
        for point in points:
            found = findings_of(point, findings)
            uses.update(finding.claim.id for finding in found)
            here = [finding.status for finding in found]
            there = [real[finding.claim.id] for finding in found if finding.claim.id in real]
            evidence = f"this build: {in_words(here)}"
            if there and point.kind == "trend":
                evidence += f"; real CIFAR-10: {in_words(there)}"
            verdict = derive(point, here, there if len(there) == len(found) else [])
            result[title].append(Judged(point, verdict, evidence))
    if wrong := [f"claim {name} is in {uses[name]} points, must be in one" for name in findings if uses[name] != 1]:
        raise LedgerError("\n".join(wrong))
    return result


def outdated(sections: Mapping[str, Sequence[Judged]]) -> list[str]:
    """One line for each point whose text was written for another verdict."""
    return [
        f"{each.point.says!r}: its text is for {each.point.verdict!s}, the statuses say {each.verdict!s}"
        for judged in sections.values()
        for each in judged
        if each.verdict is not each.point.verdict
    ]


def page(sections: Mapping[str, Sequence[Judged]], notebooks: Mapping[str, str]) -> str:
    """The page in MyST; ``notebooks`` has the place of each notebook below the root, without its suffix."""
    counts = Counter(each.verdict for judged in sections.values() for each in judged)
    rows = [
        [Cell(str(verdict), html=_badge(verdict)), Cell(str(counts[verdict]), numeric=True), Cell(_MEANINGS[verdict])]
        for verdict in Verdict
        if counts[verdict]
    ]
    overview = html_table("Points by verdict", ("Verdict", "Points", "Meaning"), rows)
    parts = [
        "# What holds",
        "What the two papers {cite:p}`cheng2026privacy,peetathawatchai2024dpagg` say, point by point, and what a "
        "reader may believe of it after this book. The verdicts are derived by the build from the statuses of the "
        "claims ({doc}`reading_claims`): those of the live run and those of the bundles of real CIFAR-10. `make check` "
        "fails where a text below was written for another verdict.",
        f'<div class="pv-output">{overview}</div>',
    ]
    for title, judged in sections.items():
        parts.append(f"## {title}")
        parts += [_card(each, notebooks) for each in judged]
    return "\n\n".join([*parts, ""])


def _badge(verdict: Verdict) -> str:
    return f'<span class="pv-status pv-{_TONES[verdict]}">{escape(verdict)}</span>'


def _card(each: Judged, notebooks: Mapping[str, str]) -> str:
    point, evidence = each.point, each.evidence[0].upper() + each.evidence[1:]
    pages = ", ".join(f"{{doc}}`../{notebooks[name]}`" for name in point.pages)
    evidence = f'<span class="pv-evidence">{escape(f"{point.where}. {evidence}.")}</span>'
    warning = f"*This text was written for another verdict: {point.verdict}.*"
    return "\n".join(
        [
            f"::::{{card}} {point.says}",
            f'<p class="pv-verdict">{_badge(each.verdict)} {evidence}</p>',
            "",
            *([] if each.verdict is point.verdict else [warning, ""]),
            point.believe.strip(),
            *(["", f"Evidence: {pages}"] if pages else []),
            "::::",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="privlib.pipeline.what_holds", description="Write the page of verdicts.")
    parser.add_argument("page", type=Path, nargs="?", metavar="PAGE", help="left out: only check")
    parser.add_argument("--results", type=Path, nargs="+", required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    root = repository_root()
    by_asset = load_findings(options.results)
    findings = {finding.claim.id: finding for each in by_asset.values() for finding in each}
    try:
        sections = judge(load_points(root / POINTS), findings, real_statuses(list(by_asset), root))
    except LedgerError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    if options.page is None:
        lines = outdated(sections)
        sys.stderr.writelines(f"error: {line}\n" for line in lines)
        return 1 if lines else 0
    paths = [path.relative_to(root).with_suffix("") for path in root.glob("notebooks/*/*.ipynb")]
    replace_text(options.page, page(sections, {path.name: path.as_posix() for path in paths}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
