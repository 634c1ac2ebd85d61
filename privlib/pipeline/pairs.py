"""Notebooks are committed twice: as ``.py`` text, which people edit, and as ``.ipynb`` without outputs, which run.

    python -m privlib.pipeline.pairs [--strip] FOLDER

Exit status 1 and one line a problem if a pair disagrees or a notebook holds outputs; ``--strip`` removes outputs first.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import jupytext
import nbformat

# The metadata that matters to a page; the rest (cell ids, editors' marks) may differ.
_METADATA = ("tags", "mystnb")


def pair_problems(notebook: Path) -> list[str]:
    """What is wrong with ``notebook`` (.ipynb) and its text beside it; empty if both agree and no output is stored."""
    text = notebook.with_suffix(".py")
    if not text.is_file():
        return [f"{notebook}: {text.name} is missing beside it"]
    if not notebook.is_file():
        return [f"{text}: {notebook.name} is missing beside it; run make sync"]
    content = nbformat.read(notebook, as_version=4)
    cells = content.cells
    problems = [
        f"{notebook}: cell {number} holds outputs; run make sync"
        for number, cell in enumerate(cells, start=1)
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None)
    ]
    if (kernel := content.metadata.get("kernelspec", {}).get("name")) != "python3":
        problems.append(f"{notebook}: kernelspec must name python3, as every machine does, got {kernel!r}")
    if [_essence(cell) for cell in cells] != [_essence(cell) for cell in jupytext.read(text).cells]:
        problems.append(f"{notebook}: does not agree with {text.name}; run make sync")
    return problems


def strip_outputs(notebook: Path) -> None:
    """Remove outputs and execution counts from ``notebook``; the file is not touched if there are none."""
    content = nbformat.read(notebook, as_version=4)
    changed = False
    for cell in content.cells:
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
            cell.outputs, cell.execution_count, changed = [], None, True
    if changed:
        nbformat.write(content, notebook)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="privlib.pipeline.pairs", description="Check notebooks and their text.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder with a folder of notebooks for each paper")
    parser.add_argument("--strip", action="store_true", help="remove stored outputs first")
    options = parser.parse_args(arguments)
    if options.strip:
        for notebook in sorted(options.folder.glob("*/*.ipynb")):
            strip_outputs(notebook)
    names = {path.with_suffix(".ipynb") for suffix in ("ipynb", "py") for path in options.folder.glob(f"*/*.{suffix}")}
    problems = [problem for notebook in sorted(names) for problem in pair_problems(notebook)]
    sys.stderr.writelines(f"error: {problem}\n" for problem in problems)
    return 1 if problems else 0


def _essence(cell: nbformat.NotebookNode) -> tuple:
    return cell.cell_type, cell.source.strip(), {key: cell.metadata[key] for key in _METADATA if key in cell.metadata}


if __name__ == "__main__":
    sys.exit(main())
