"""Render the epsilon explorer as one HTML fragment: controls, tables, data and script, with no other file to load.

Staging calls ``write_fragment``; ``book/explorer.md`` includes the result. Without JavaScript the tables are what
readers see; with it they fold away and the controls appear.
"""

from __future__ import annotations

from html import escape
from itertools import product
from pathlib import Path

from privlib.pipeline.explorer_data import Grid
from privlib.report.markup import Cell, html_table

_STYLE = """
.pv-explorer fieldset { border: 0; margin: 0 0 1rem; padding: 0; display: grid; gap: 0.75rem 1.25rem;
  grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); }
.pv-explorer legend { font-weight: 600; padding: 0; margin: 0; font-size: 1.1rem; grid-column: 1 / -1; }
.pv-explorer .pv-wide { grid-column: 1 / -1; }
.pv-explorer label { display: block; font-weight: 600; margin-bottom: 0.2rem; }
.pv-explorer select, .pv-explorer input[type="range"] { width: 100%; min-height: 2.25rem; font: inherit; }
.pv-explorer select { background: var(--pst-color-background); color: var(--pst-color-text-base);
  border: 1px solid var(--pst-color-text-muted); border-radius: 0.25rem; padding: 0.25rem 0.5rem; }
.pv-explorer input[type="range"] { accent-color: var(--pst-color-primary); }
.pv-explorer :is(select, input):focus-visible { outline: 3px solid var(--pst-color-primary); outline-offset: 2px; }
.pv-explorer .pv-hint { color: var(--pst-color-text-muted); font-size: 0.9rem; }
.pv-explorer .pv-answer { border: 1px solid var(--pst-color-border); border-radius: 0.5rem; padding: 0.75rem 1rem;
  background: var(--pst-color-surface); color: var(--pst-color-text-base); margin-bottom: 1rem; }
.pv-explorer .pv-answer p { margin: 0 0 0.5rem; font-size: 1.25rem; }
.pv-explorer .pv-answer dl { display: grid; grid-template-columns: minmax(7rem, max-content) minmax(0, 1fr);
  gap: 0.15rem 1rem; margin: 0; }
.pv-explorer .pv-answer dt { font-weight: 600; }
.pv-explorer .pv-answer dd { margin: 0; }
.pv-explorer figure { margin: 0 0 1rem; }
.pv-explorer svg { display: block; width: 100%; height: auto; max-width: 44rem; color: var(--pst-color-text-base); }
.pv-explorer tbody th { white-space: nowrap; }
.pv-explorer svg text { font-size: 15px; }
@media (max-width: 36rem) { .pv-explorer tbody th { white-space: nowrap; }
.pv-explorer svg text { font-size: 25px; } }
.bd-content .pv-explorer figcaption { color: var(--pst-color-text-base); font-size: 0.9rem; font-weight: 400;
  text-align: start; max-width: 44rem; }
"""


def fragment(grid: Grid, script: str) -> str:
    """The fragment as HTML.

    Args:
        grid: axes and printed ends.
        script: JavaScript that wires the controls; it finds the data in the element ``pv-explorer-data``.
    """
    # "</" would end the element that carries the text.
    data = grid.to_json().strip().replace("</", "<\\/")
    return "\n".join(
        [
            f"<style>{_STYLE}</style>",
            '<div class="pv-explorer pv-output" id="pv-explorer">',
            _controls(grid),
            '<details class="pv-details" id="pv-explorer-tables" open><summary>All numbers as tables</summary>',
            *_tables(grid),
            "</details>",
            "</div>",
            f'<script type="application/json" id="pv-explorer-data">{data}</script>',
            f"<script>{script}</script>",
            "",
        ]
    )


def write_fragment(grid: Path, script: Path, target: Path) -> None:
    """Read the grid and the script, write the fragment; parent folders of ``target`` are made.

    Raises:
        OSError: a file is missing or cannot be written.
    """
    text = fragment(Grid.from_json(grid.read_text(encoding="utf-8")), script.read_text(encoding="utf-8"))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def _controls(grid: Grid) -> str:
    """Hidden until the script has filled them, since without it they would do nothing."""
    selects = (
        ("data", "Data set", [f"{d.name} (n = {d.records:,})" for d in grid.data_sets]),
        ("block", "Expected block size B", [f"{size:,}" for size in grid.block_sizes]),
        ("beta", "Public normalization beta", [f"{beta:g}" for beta in grid.betas]),
        ("count", "Outputs released", [f"{count:,}" for count in grid.counts]),
    )
    return "\n".join(
        [
            '<div id="pv-explorer-live" hidden><form><fieldset><legend>Design choices of the sampler</legend>',
            *(_select(name, label, options) for name, label, options in selects),
            '<div class="pv-wide"><label for="pv-x-handoff">Hand-off: private steps before the public denoiser</label>',
            f'<input type="range" id="pv-x-handoff" min="0" max="{len(grid.handoffs) - 1}" step="1" '
            'aria-describedby="pv-x-handoff-text">',
            '<div class="pv-hint" id="pv-x-handoff-text"></div></div>',
            "</fieldset></form>",
            '<div class="pv-answer"><p id="pv-x-answer" role="status" aria-live="polite"></p>',
            '<dl id="pv-x-facts"></dl></div>',
            '<figure><svg id="pv-x-chart" viewBox="0 0 640 310" role="img" aria-labelledby="pv-x-chart-title">'
            '<title id="pv-x-chart-title"></title><g id="pv-x-chart-body"></g></svg>',
            '<figcaption id="pv-x-caption"></figcaption></figure></div>',
        ]
    )


def _select(name: str, label: str, options: list[str]) -> str:
    entries = "".join(f'<option value="{place}">{escape(text)}</option>' for place, text in enumerate(options))
    return f'<div><label for="pv-x-{name}">{label}</label><select id="pv-x-{name}">{entries}</select></div>'


def _tables(grid: Grid) -> list[str]:
    """One table for each data set, beta and count: hand-offs down, block sizes across, both ends in a cell."""
    tables = []
    header = ["Private steps", "Last private noise level", *(f"B = {size:,}" for size in grid.block_sizes)]
    axes = (enumerate(grid.data_sets), enumerate(grid.betas), enumerate(grid.counts))
    for (d, data), (b, beta), (c, count) in product(*axes):
        outputs = "one output" if count == 1 else f"{count:,} outputs"
        rows = []
        for h, (steps, sigma) in enumerate(zip(grid.handoffs, grid.handoff_sigmas, strict=True)):
            places = [grid.index(d, size, b, c, h) for size in range(len(grid.block_sizes))]
            cells = [Cell(_ends(grid.lower[place], grid.upper[place]), numeric=True) for place in places]
            rows.append([Cell(f"{steps} of {grid.num_steps}"), Cell(sigma, numeric=True), *cells])
        caption = f"Epsilon on {data.name}, beta = {beta:g}, {outputs}, delta = {data.delta:g}"
        tables.append(html_table(caption, header, rows))
    return tables


def _ends(lower: str | None, upper: str | None) -> str:
    if lower is None:
        return "not certified"
    if upper is None:
        return f"at least {lower}"
    return upper if lower == upper else f"{lower} to {upper}"
