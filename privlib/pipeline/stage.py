"""Gather the pages of the book where jupyter-book reads them: prose, executed notebooks, pages made by code, data.

    python -m privlib.pipeline.stage SITE --executed DIR --pages FILE... --grid FILE --notebooks FILE...

Run from the top of the checkout. SITE is replaced as a whole; notebooks keep their places below ``notebooks/``, so that
``_toc.yml`` and the links between pages read as in the checkout.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from privlib.files import replaced_folder
from privlib.pipeline.explorer_page import write_fragment


def stage(site: Path, *, executed: Path, pages: Sequence[Path], grid: Path, notebooks: Sequence[Path]) -> None:
    """Fill ``site`` from the checkout in the working folder and the given products of the build.

    Raises:
        OSError: a file is missing or cannot be written; ``site`` is then as before.
    """
    with replaced_folder(site) as fresh:
        shutil.copytree(
            "book",
            fresh / "book",
            ignore=shutil.ignore_patterns("claims", "what_holds.yml"),
            copy_function=shutil.copyfile,
        )
        for notebook in notebooks:
            _copy(notebook, fresh / "notebooks" / notebook.relative_to(executed))
        for page in pages:
            _copy(page, fresh / "book" / page.name)
        _copy(grid, fresh / "book" / "_static" / "explorer" / "grid.json")
        explorer = fresh / "book" / "explorer"
        write_fragment(grid, explorer / "explorer.js", explorer / "fragment.html")
        _copy(Path("_config.yml"), fresh / "_config.yml")
        # Last, because the build takes it for the sign that the rest is there.
        _copy(Path("_toc.yml"), fresh / "_toc.yml")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="privlib.pipeline.stage", description="Gather the pages of the book.")
    parser.add_argument("site", type=Path, metavar="SITE")
    parser.add_argument("--executed", type=Path, required=True, metavar="DIR", help="folder of the executed notebooks")
    parser.add_argument("--pages", type=Path, nargs="+", required=True, metavar="FILE", help="Markdown for book/")
    parser.add_argument("--grid", type=Path, required=True, metavar="FILE", help="data of the explorer")
    parser.add_argument("--notebooks", type=Path, nargs="+", required=True, metavar="FILE", help="executed notebooks")
    stage(**vars(parser.parse_args(arguments)))
    return 0


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


if __name__ == "__main__":
    sys.exit(main())
