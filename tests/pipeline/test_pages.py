"""From results to pages: the status page, the check, staging, and a site that asks nobody for anything."""

import json

import nbformat
import pytest
import yaml
from nbformat.v4 import new_markdown_cell, new_notebook

from privlib.files import replaced_folder
from privlib.pipeline import moved, site, stage, status
from privlib.pipeline.explorer_data import DataSet, Grid

CLAIMS = [
    {"id": "tab01.a.eps", "place": "Table 1, a", "printed": "0.30", "kind": "exact"},
    {"id": "tab01.b.eps", "place": "Table 1, b", "printed": "0.40", "kind": "exact", "unexplained": "tried <q>"},
    {"id": "tab01.c.fid", "place": "Table 1, c", "printed": "37.39", "kind": "scale", "why": "needs images"},
]
STATUSES = {"tab01.a.eps": "match", "tab01.b.eps": "unexplained", "tab01.c.fid": "not run at this scale"}


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A checkout whose one notebook has run; returns a function that writes its results."""
    monkeypatch.chdir(tmp_path)
    claims = tmp_path / "book" / "claims" / "tab01.yml"
    claims.parent.mkdir(parents=True)
    content = {"paper": "p", "asset": "tab01", "why": "as printed", "claims": CLAIMS}
    claims.write_text(yaml.safe_dump(content), encoding="utf-8")
    executed = tmp_path / "_build" / "executed" / "smoke" / "denoisers" / "tab01.ipynb"
    executed.parent.mkdir(parents=True)
    cost = {"duration": 12.34, "start_time": "2026-01-02T03:04:05.6+00:00", "peak_memory_bytes": 300 * 2**20}
    notebook = new_notebook(cells=[new_markdown_cell("# Table 1: <costs>\n\ntext")], metadata={"papermill": cost})
    nbformat.write(notebook, executed)

    def write(**changed):
        statuses = STATUSES | {key.replace("_", "."): value for key, value in changed.items()}
        values = {"tab01.a.eps": 0.301, "tab01.b.eps": 0.5, "tab01.c.fid": None}
        results = tmp_path / "tab01.json"
        results.write_text(
            json.dumps({"asset": "tab01", "tier": "smoke", "values": values, "statuses": statuses}), encoding="utf-8"
        )
        return results, executed

    return write


def test_the_status_page_sums_up(build, tmp_path):
    results, executed = build()
    assert status.main([str(tmp_path / "s.md"), "--results", str(results), "--notebooks", str(executed)]) == 0
    page = (tmp_path / "s.md").read_text(encoding="utf-8")
    assert "**1 of 2** numbers" in page and "1 match, 1 unexplained, 1 not run at this scale" in page
    assert '<a href="../notebooks/denoisers/tab01.html">Table 1: &lt;costs&gt;</a>' in page
    assert "tried &lt;q&gt;" in page and "- 1 not run: needs images" in page
    assert "12.3" in page and ">300<" in page and "2026-01-02 03:04" in page
    assert page.count("<caption>") == 3


def test_the_check_passes_and_fails(build, capsys):
    assert moved.main([str(build()[0])]) == 0
    assert "3 claims: 1 match" in capsys.readouterr().out
    assert moved.main([str(build(tab01_a_eps="differs")[0])]) == 1
    assert "tab01.a.eps (Table 1, a) differs: printed 0.30, now 0.301" in capsys.readouterr().err


def test_results_of_another_ledger_are_refused(build):
    with pytest.raises(ValueError, match="not those of the ledger"):
        moved.main([str(build(tab01_z_eps="match")[0])])


def tiny_grid() -> str:
    grid = Grid(
        num_steps=39,
        data_sets=(DataSet("d", 100, 1e-5),),
        block_sizes=(5,),
        betas=(1.0,),
        counts=(1,),
        handoffs=(8,),
        handoff_sigmas=("1.5",),
        lower=("0.1",),
        upper=("0.2",),
    )
    return grid.to_json()


def test_staging_replaces_everything(build, tmp_path):
    _, executed = build()
    (tmp_path / "g.json").write_text(tiny_grid(), encoding="utf-8")
    for name in (
        "_config.yml",
        "_toc.yml",
        "book/index.md",
        "book/_static/book.css",
        "book/explorer/explorer.js",
        "status.md",
        "what_holds.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    folder = tmp_path / "_build" / "site"
    (folder / "book").mkdir(parents=True)
    (folder / "book" / "gone.md").write_text("a page of a former build", encoding="utf-8")
    arguments = [
        "--executed",
        "_build/executed/smoke",
        "--pages",
        "status.md",
        "what_holds.md",
        "--grid",
        "g.json",
        "--notebooks",
    ]
    assert stage.main([str(folder), *arguments, "_build/executed/smoke/denoisers/tab01.ipynb"]) == 0
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == [
        "_config.yml",
        "_toc.yml",
        "book/_static/book.css",
        "book/_static/explorer/grid.json",
        "book/explorer/explorer.js",
        "book/explorer/fragment.html",
        "book/index.md",
        "book/status.md",
        "book/what_holds.md",
        "notebooks/denoisers/tab01.ipynb",
    ]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["executed", "site"]


def test_a_failed_build_keeps_the_former_folder(tmp_path):
    target = tmp_path / "html"
    target.mkdir()
    (target / "index.html").write_text("former", encoding="utf-8")
    with pytest.raises(RuntimeError, match="no"), replaced_folder(target) as fresh:
        (fresh / "index.html").write_text("half", encoding="utf-8")
        raise RuntimeError("no")
    assert [path.name for path in tmp_path.iterdir()] == ["html"]
    assert (target / "index.html").read_text() == "former"


def test_external_requests_are_found(tmp_path):
    page = tmp_path / "p.html"
    page.write_text(
        """<link rel="stylesheet" href="https://cdn.example/x.css"><link rel="canonical" href="https://me.example">
        <script src="//cdn.example/x.js"></script><img src="local.png"><a href="https://paper.example">paper</a>
        <img srcset="http://img.example/2x.png">""",
        encoding="utf-8",
    )
    assert [found.partition("<")[2] for found in site.external_requests(page)] == [
        "link href=https://cdn.example/x.css>",
        "script src=//cdn.example/x.js>",
        "img srcset=http://img.example/2x.png>",
    ]


def test_mathjax_is_installed():
    assert (site.mathjax_folder() / "tex-mml-chtml.js").is_file()
