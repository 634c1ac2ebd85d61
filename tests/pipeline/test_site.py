"""The site that jupyter-book makes of one small notebook with the book's own configuration and style."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from privlib.pipeline import site
from privlib.report import RESULTS_MIME
from privlib.report.markup import Cell, html_table
from tests.pipeline.conftest import ALT_TEXT

ROOT = Path(__file__).resolve().parents[2]
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


def source(folder: Path) -> Path:
    """Pages as staging leaves them: an index, and a notebook with a figure, a table, and recorded values."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config["bibtex_bibfiles"] = ["book/r.bib"]
    files = {
        "_config.yml": yaml.safe_dump(config),
        "_toc.yml": "format: jb-book\nroot: book/index\nchapters:\n  - file: notebooks/denoisers/tab01\n",
        "book/index.md": "# Index\n\nWords and $a^2$.\n",
        "book/r.bib": "@misc{x, title={T}, author={A}, year={2020}}\n",
        "book/_static/explorer/page.js": "throw new Error('loaded by a page that did not ask for it')",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "book" / "_static" / "book.css", folder / "book" / "_static")
    table = (
        f'<div class="pv-output">{html_table("Caption", ["a", "b"], [[Cell("row"), Cell("1", numeric=True)]])}</div>'
    )
    recorded = {"text/html": table, "text/plain": "t", RESULTS_MIME: {"asset": "tab01", "secret": "never shown"}}
    cells = [
        new_markdown_cell("# Table 1"),
        new_code_cell(
            "f()", metadata={"mystnb": ALT_TEXT}, outputs=[new_output("display_data", {"image/svg+xml": SVG})]
        ),
        new_code_cell("g()", outputs=[new_output("display_data", recorded)]),
    ]
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    path = folder / "notebooks" / "denoisers" / "tab01.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    return folder


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    folder = tmp_path_factory.mktemp("build")
    assert site.main([str(source(folder / "site")), str(folder / "html")]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["html", "site"]
    return folder / "html"


def test_a_page_shows_what_was_recorded_for_readers_only(html):
    page = (html / "notebooks" / "denoisers" / "tab01.html").read_text(encoding="utf-8")
    assert 'alt="An empty square"' in page
    assert '<caption><span class="pv-caption">Caption</span></caption>' in page and '<th scope="row">row</th>' in page
    assert "never shown" not in page and RESULTS_MIME not in page
    assert re.search(r'href="[^"]*_static/book\.css', page)


def test_pages_read_offline_and_load_no_script_of_another_page(html):
    for path in html.rglob("*.html"):
        assert site.external_requests(path) == []
        assert "explorer/page.js" not in path.read_text(encoding="utf-8")
    index = (html / "book" / "index.html").read_text(encoding="utf-8")
    (mathjax,) = re.findall(r'src="([^"]*tex-mml-chtml\.js)', index)
    assert (html / "book" / mathjax).resolve().is_file()
    for style in html.rglob("_static/**/*.css"):
        assert not re.search(r"""(url\(|@import)\s*['"]?\s*(https?:)?//""", style.read_text(encoding="utf-8"))
    assert (html / "searchindex.js").is_file()


def test_a_warning_fails_the_build_and_keeps_the_site(html, tmp_path, capfd):
    folder = source(tmp_path / "site")
    (folder / "book" / "index.md").write_text("# Index\n\n{doc}`missing`\n", encoding="utf-8")
    shutil.copytree(html, tmp_path / "html", ignore=shutil.ignore_patterns("mathjax"))
    assert site.main([str(folder), str(tmp_path / "html")]) == 1
    assert "unknown document" in (said := capfd.readouterr().err) and "jupyter-book failed" in said
    assert (tmp_path / "html" / "index.html").is_file()
