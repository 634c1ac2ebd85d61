"""HTML pieces that a screen reader can read; every text that goes in is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from privlib.report.ledger import Claim
from privlib.report.status import Status

# The words carry the meaning; the sign helps the eye and is hidden from screen readers.
_SIGNS = {
    Status.MATCH: ("ok", "\N{CHECK MARK}"),
    Status.TREND_HOLDS: ("ok", "\N{CHECK MARK}"),
    Status.EXPLAINED: ("note", "\N{NOT EQUAL TO}"),
    Status.UNEXPLAINED: ("note", "?"),
    Status.UNRESOLVED: ("none", "~"),
    Status.NOT_RUN: ("none", "\N{EN DASH}"),
    Status.DIFFERS: ("bad", "\N{NOT EQUAL TO}"),
    Status.TREND_FAILS: ("bad", "\N{BALLOT X}"),
}


@dataclass(frozen=True)
class Cell:
    """Text of a table cell; ``html`` replaces it where markup is wanted, ``numeric`` aligns it with its column."""

    text: str
    html: str | None = None
    numeric: bool = False


def status_cell(status: Status) -> Cell:
    """A status as words, with a sign and a colour that add nothing a reader could miss."""
    tone, sign = _SIGNS[status]
    badge = f'<span class="pv-status pv-{tone}"><span aria-hidden="true">{sign}</span> {escape(status)}</span>'
    return Cell(text=str(status), html=badge)


def claim_cell(claim: Claim) -> Cell:
    """A claim by its place in the paper, with its name below."""
    return Cell(
        f"{claim.place} ({claim.id})", html=f'{escape(claim.place)} <code class="pv-id">{escape(claim.id)}</code>'
    )


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table with caption, column headers and, in its first column, row headers; it scrolls in its own box."""
    head = "".join(f'<th scope="col"{_align(index, rows)}>{escape(name)}</th>' for index, name in enumerate(header))
    body = "".join(f"<tr>{_row(row)}</tr>" for row in rows)
    return (
        f'<div class="pv-scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table class="pv-table">'
        f'<caption><span class="pv-caption">{escape(caption)}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def text_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """The same table in plain text, for terminals and for readers without HTML."""
    lines = [list(header), *([cell.text for cell in row] for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(header))]
    body = ("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines)
    return "\n".join([caption, *body])


def html_details(summary: str, items: Sequence[str]) -> str:
    """A closed list that readers can open."""
    body = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<details class="pv-details"><summary>{escape(summary)}</summary><ul>{body}</ul></details>'


def _align(index: int, rows: Sequence[Sequence[Cell]]) -> str:
    return ' class="pv-number"' if any(row[index].numeric for row in rows) else ""


def _row(row: Sequence[Cell]) -> str:
    cells = []
    for index, cell in enumerate(row):
        content = escape(cell.text) if cell.html is None else cell.html
        align = ' class="pv-number"' if cell.numeric else ""
        cells.append(f'<th scope="row"{align}>{content}</th>' if index == 0 else f"<td{align}>{content}</td>")
    return "".join(cells)
