"""Write the status page: what matches, what does not, and what the run cost, from the results of a build.

python -m privlib.pipeline.status PAGE.md --results FILE... --notebooks FILE...
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from privlib.files import replace_text
from privlib.pipeline.results import Finding, load_findings
from privlib.report.ledger import Claim
from privlib.report.markup import Cell, claim_cell, html_table, status_cell
from privlib.report.status import Status


def status_page(findings: Mapping[str, Sequence[Finding]], costs: Mapping[str, Mapping[str, object]]) -> str:
    """The page in Markdown.

    Args:
        findings: claims with values and statuses, by asset.
        costs: the ``papermill`` metadata of each executed notebook, by asset, with its "page" and "title" added.
    """
    every = [finding for each in findings.values() for finding in each]
    counts = Counter(finding.status for finding in every)
    exact = [finding for finding in every if finding.claim.kind == "exact"]
    matching = sum(finding.status is Status.MATCH for finding in exact)
    return "\n\n".join(
        [
            "# Status of every claim",
            "Written by the build from what the notebooks recorded; no number here is typed by hand. "
            "[How to read a claim table](reading_claims.md) says what each status means.",
            f"**{matching} of {len(exact)}** numbers that must agree to the printed digit do. "
            f"Of all {len(every)} claims in the ledger, {_sentence(counts)}.",
            "## By figure and table",
            _frame(_counts_table(findings, costs)),
            "## What does not match, and what was not run",
            *_open_claims(every),
            "## What the run cost",
            _frame(_costs_table(costs)),
            "",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="privlib.pipeline.status", description="Write the status page.")
    parser.add_argument("page", type=Path, metavar="PAGE")
    parser.add_argument("--results", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--notebooks", type=Path, nargs="+", required=True, metavar="FILE", help="executed notebooks")
    options = parser.parse_args(arguments)
    costs = {}
    for path in options.notebooks:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        page = {"page": f"../notebooks/{path.parent.name}/{path.stem}.html", "title": _title(notebook, path.stem)}
        costs[path.stem] = notebook["metadata"]["papermill"] | page
    text = status_page(load_findings(options.results), costs)
    replace_text(options.page, text)
    return 0


def _sentence(counts: Counter[Status]) -> str:
    parts = [f"{counts[status]} {status}" for status in Status if counts[status]]
    return ", ".join(parts) if parts else "none has been evaluated"


def _frame(table: str) -> str:
    return f'<div class="pv-output">{table}</div>'


def _title(notebook: Mapping, default: str) -> str:
    lines = ("".join(cell["source"]).lstrip() for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    first = next(lines, "").partition("\n")[0]
    return first[1:].strip() if first.startswith("# ") else default


def _page_cell(asset: str, costs: Mapping[str, Mapping[str, object]]) -> Cell:
    title = str(costs[asset]["title"])
    return Cell(title, html=f'<a href="{escape(str(costs[asset]["page"]))}">{escape(title)}</a>')


def _counts_table(findings: Mapping[str, Sequence[Finding]], costs: Mapping[str, Mapping[str, object]]) -> str:
    shown = [status for status in Status if any(f.status is status for each in findings.values() for f in each)]
    rows = []
    for asset, each in findings.items():
        counts = Counter(finding.status for finding in each)
        numbers = [len(each), *(counts[status] for status in shown)]
        rows.append([_page_cell(asset, costs), *(Cell(str(number), numeric=True) for number in numbers)])
    totals = [sum(int(row[column].text) for row in rows) for column in range(1, len(shown) + 2)]
    rows.append([Cell("Total"), *(Cell(str(total), numeric=True) for total in totals)])
    return html_table("Number of claims by status", ["Page", "Claims", *map(str, shown)], rows)


def _open_claims(findings: Sequence[Finding]) -> list[str]:
    settled = (Status.MATCH, Status.TREND_HOLDS, Status.NOT_RUN)
    rows = [
        [
            claim_cell(finding.claim),
            Cell(finding.claim.printed, numeric=True),
            Cell(_shown(finding.value), numeric=True),
            status_cell(finding.status),
        ]
        for finding in findings
        if finding.status not in settled
    ]
    known = [
        f"- `{finding.claim.id}`: {escape(_known(finding.claim))}"
        for finding in findings
        if finding.status not in settled
    ]
    header = ("Claim", "Printed", "Reproduced", "Status")
    table = (
        _frame(html_table("Claims that do not match", header, rows)) if rows else "Every claim that was run matches."
    )
    reasons = Counter(finding.claim.why for finding in findings if finding.status is Status.NOT_RUN)
    return [table, "", *known, "", *(f"- {count} not run: {escape(why)}" for why, count in reasons.items())]


def _known(claim: Claim) -> str:
    return claim.explained or claim.unexplained or "moved: look into it"


def _shown(value: float | bool | str | None) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return "\N{EN DASH}" if value is None else str(value)
    return f"{value:,.6g}"


def _costs_table(costs: Mapping[str, Mapping[str, object]]) -> str:
    rows = []
    for asset, metadata in costs.items():
        peak = metadata.get("peak_memory_bytes")
        memory = "not measured" if peak is None else f"{peak / 2**20:,.0f}"
        rows.append(
            [
                _page_cell(asset, costs),
                Cell(f"{metadata['duration']:.1f}", numeric=True),
                Cell(memory, numeric=True),
                Cell(str(metadata["start_time"])[:16].replace("T", " ")),
            ]
        )
    return html_table("Cost of each notebook", ("Page", "Wall time in s", "Peak memory in MiB", "Run at (UTC)"), rows)


if __name__ == "__main__":
    sys.exit(main())
