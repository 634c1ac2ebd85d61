"""What a notebook shows beside its figures: the claims table, other tables, and privacy statements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from numbers import Integral, Real
from typing import TYPE_CHECKING

from IPython.display import display

from privlib.report.ledger import Claim, load_claims
from privlib.report.markup import Cell, claim_cell, html_details, html_table, status_cell, text_table
from privlib.report.status import RESULTS_MIME, Status, Value, evaluate
from privlib.types import Adjacency, Interval, Trend

if TYPE_CHECKING:  # pandas is slow to import, and whoever passes a frame has it already
    import pandas as pd

#: What kind of number a privacy statement reports.
STATEMENT_KINDS = ("certified upper bound", "certified interval", "lower bound", "estimate")

_ADJACENCY = {Adjacency.ADD_OR_REMOVE_ONE: "add or remove one record", Adjacency.REPLACE_ONE: "replace one record"}


def claims(asset: str, values: Mapping[str, Value], *, tier: str) -> None:
    """Show the claims of ``asset`` beside the reproduced values, and publish both for the pipeline.

    The output carries an accessible HTML table and, under ``RESULTS_MIME``, the mapping
    {"asset", "tier", "values", "statuses"} (values that JSON cannot hold, such as infinity, as text).

    Args:
        asset: name of the notebook and of its ledger file ``book/claims/<asset>.yml``.
        values: reproduced value by claim id: a number; True, False or a Trend for a trend; None for not computed.
        tier: scale of the run: "smoke", "embedded", "cifar10" or "paper".

    Raises:
        LedgerError: the ledger file is missing or wrong.
        ValueError: see ``privlib.report.status.evaluate``.
    """
    ledger = load_claims(asset)
    statuses = evaluate(ledger, values, tier=tier)
    bundle = {
        "asset": asset,
        "tier": tier,
        "values": {claim.id: _plain(values.get(claim.id)) for claim in ledger},
        "statuses": {key: str(status) for key, status in statuses.items()},
    }
    caption = f"Claims of {asset}: printed beside reproduced (run at the {tier} scale)"
    header = ("Claim", "Printed", "Reproduced", "Difference", "Status")
    rows = [_claim_row(claim, values.get(claim.id), statuses[claim.id]) for claim in ledger]
    if rows:
        html, text = html_table(caption, header, rows) + _notes(ledger, statuses), text_table(caption, header, rows)
    else:
        text = "This page repeats no number that a paper prints."
        html = f"<p>{text}</p>"
    display({"text/html": _framed(html), "text/plain": text, RESULTS_MIME: bundle}, raw=True)


def table(frame: pd.DataFrame, caption: str, *, digits: int = 4) -> None:
    """Show a data frame as an accessible table: ``caption``, column headers, and its first column as row headers.

    A named or non-default index becomes the first columns. Floats are shown with ``digits`` significant digits.
    """
    if frame.index.name or list(frame.index) != list(range(len(frame))):
        frame = frame.reset_index()
    header = [str(name) for name in frame.columns]
    rows = [[_frame_cell(value, digits) for value in row] for row in frame.itertuples(index=False, name=None)]
    display(
        {"text/html": _framed(html_table(caption, header, rows)), "text/plain": text_table(caption, header, rows)},
        raw=True,
    )


def privacy_statement(
    *,
    epsilon: float | Interval | None = None,
    gdp_mu: float | None = None,
    delta: float | None = None,
    adjacency: Adjacency,
    sampling: str,
    count: int,
    accountant: str,
    kind: str,
) -> None:
    """Show one privacy statement that leaves nothing out.

    Args:
        epsilon: privacy loss bound, or the interval that contains it; needs ``delta``.
        gdp_mu: Gaussian-DP parameter, in place of ``epsilon``.
        delta: failure probability that goes with ``epsilon``.
        adjacency: which data sets are neighbours.
        sampling: sampling scheme in words, such as "Poisson blocks, q = 25/50,000".
        count: number of outputs released.
        accountant: what computed the number.
        kind: one of ``STATEMENT_KINDS``.

    Raises:
        ValueError: neither or both of epsilon and gdp_mu; epsilon without delta; unknown kind.
    """
    if (epsilon is None) == (gdp_mu is None):
        raise ValueError("privacy_statement: give one of epsilon and gdp_mu")
    if epsilon is not None and delta is None:
        raise ValueError("privacy_statement: epsilon needs delta")
    if kind not in STATEMENT_KINDS:
        raise ValueError(f"privacy_statement: kind must be one of {', '.join(STATEMENT_KINDS)}, got {kind!r}")
    if isinstance(epsilon, Interval):
        quantity = f"epsilon in [{epsilon.lower:.6g}, {epsilon.upper:.6g}]"
    else:
        quantity = f"GDP mu = {gdp_mu:.6g}" if epsilon is None else f"epsilon = {epsilon:.6g}"
    parts = [
        f"{quantity} ({kind})",
        *([] if delta is None else [f"delta = {delta:g}"]),
        f"adjacency: {_ADJACENCY[adjacency]}",
        f"sampling: {sampling}",
        f"outputs: {count:,}",
        f"accountant: {accountant}",
    ]
    text = "Privacy: " + "; ".join(parts) + "."
    body = "; ".join(escape(part) for part in parts)
    html = f'<p class="pv-privacy" role="note"><strong>Privacy:</strong> {body}.</p>'
    display({"text/html": _framed(html), "text/plain": text}, raw=True)


def _framed(html: str) -> str:
    return f'<div class="pv-output">{html}</div>'


def _plain(value: Value) -> float | bool | str | None:
    if value is None:
        return None
    if isinstance(value, Trend):
        return value.value
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    return bool(value)


def _claim_row(claim: Claim, value: Value, status: Status) -> list[Cell]:
    reproduced, difference = "\N{EN DASH}", "\N{EN DASH}"
    if claim.kind == "trend" and value is not None:
        reproduced = (value if isinstance(value, Trend) else Trend.HOLDS if value else Trend.FAILS).value
    elif value is not None:
        number = float(value)
        # Three digits more than printed show how near to a rounding edge the value is.
        decimals = claim.decimals + 3 if claim.kind == "exact" else 4
        reproduced = f"{number:,.{decimals}f}"
        if claim.kind == "exact" and math.isfinite(number):
            difference = f"{number - float(claim.number):+.1e}".replace("-", "\N{MINUS SIGN}")
    return [
        claim_cell(claim),
        Cell(claim.printed, numeric=claim.kind != "trend"),
        Cell(reproduced, numeric=claim.kind != "trend"),
        Cell(difference, numeric=claim.kind != "trend"),
        status_cell(status),
    ]


def _notes(ledger: tuple[Claim, ...], statuses: Mapping[str, Status]) -> str:
    open_ends = [
        f"{claim.id} ({statuses[claim.id]}): {claim.explained or claim.unexplained}"
        for claim in ledger
        if statuses[claim.id] in (Status.EXPLAINED, Status.UNEXPLAINED, Status.DIFFERS)
        and (claim.explained or claim.unexplained)
    ]
    ids_by_reason: dict[str, list[str]] = {}
    for claim in ledger:
        ids_by_reason.setdefault(claim.why, []).append(claim.id)
    if len(ids_by_reason) == 1:
        reasons = list(ids_by_reason)
    else:
        reasons = [f"{why} ({', '.join(ids)})" for why, ids in ids_by_reason.items()]
    notes = html_details("Where a number does not match", open_ends) if open_ends else ""
    return notes + html_details("What the claims are compared with", reasons)


def _frame_cell(value: object, digits: int) -> Cell:
    if isinstance(value, Interval):
        return Cell(f"[{value.lower:.{digits}g}, {value.upper:.{digits}g}]", numeric=True)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return Cell(f"{int(value):,}", numeric=True)
    if isinstance(value, Real) and not isinstance(value, bool):
        return Cell("\N{EN DASH}" if math.isnan(value) else f"{float(value):,.{digits}g}", numeric=True)
    return Cell("\N{EN DASH}" if value is None else str(value))
