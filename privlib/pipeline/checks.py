"""What an executed notebook must satisfy before it may become a page."""

from __future__ import annotations

import nbformat

from privlib.report.status import RESULTS_MIME


class PageError(ValueError):
    """An executed notebook is not fit to be a page; the message names the cell."""


def checked_results(notebook: nbformat.NotebookNode, asset: str) -> dict:
    """Check an executed notebook and return the one results bundle that it publishes.

    Raises:
        PageError: an error output; an image without alternative text; no results bundle, more than one, or one of
            another asset.
    """
    bundles = []
    for number, cell in enumerate(notebook.cells, start=1):
        for output in cell.get("outputs", []):
            where = f"{asset}: cell {number}"
            if output.output_type == "error":
                raise PageError(f"{where} raised {output.ename}: {output.evalue}")
            data = output.get("data", {})
            if any(mime.startswith("image/") for mime in data) and not _has_alt_text(cell, output):
                raise PageError(
                    f'{where} shows an image without alt text: give it mystnb={{"image": {{"alt": "..."}}}}'
                )
            if RESULTS_MIME in data:
                bundles.append(data[RESULTS_MIME])
    if len(bundles) != 1:
        raise PageError(f"{asset}: need exactly one call of report.claims(...), found {len(bundles)}")
    if bundles[0]["asset"] != asset:
        raise PageError(f"{asset}: report.claims was called for {bundles[0]['asset']!r}, not for this notebook")
    return dict(bundles[0])


def _has_alt_text(cell: nbformat.NotebookNode, output: nbformat.NotebookNode) -> bool:
    # myst-nb reads the cell's metadata under mystnb (or its older name), and the output's under image.
    places = [cell.metadata.get("mystnb", {}), cell.metadata.get("render", {}), output.get("metadata", {})]
    return any(str(place.get("image", {}).get("alt", "")).strip() for place in places)
