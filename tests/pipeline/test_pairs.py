"""Notebooks and their text say the same, and no output is committed."""

from pathlib import Path

import jupytext
import nbformat
import pytest
from nbformat.v4 import new_output

from privlib.pipeline import pairs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def pair(write_notebook):
    notebook = write_notebook()
    jupytext.write(nbformat.read(notebook, as_version=4), notebook.with_suffix(".py"), fmt="py:percent")
    return notebook


def test_a_fresh_pair_agrees(pair):
    assert pairs.pair_problems(pair) == []
    assert pairs.main([str(pair.parents[1])]) == 0


def test_disagreement_is_found(pair, capsys):
    text = pair.with_suffix(".py")
    text.write_text(text.read_text(encoding="utf-8").replace("count = 3", "count = 4"), encoding="utf-8")
    assert pairs.main([str(pair.parents[1])]) == 1
    assert "does not agree with tab01.py; run make sync" in capsys.readouterr().err


def test_outputs_are_found_and_stripped(pair, capsys):
    notebook = nbformat.read(pair, as_version=4)
    notebook.cells[1].outputs = [new_output("stream", text="x")]
    nbformat.write(notebook, pair)
    assert pairs.main([str(pair.parents[1])]) == 1
    assert "cell 2 holds outputs" in capsys.readouterr().err
    assert pairs.main(["--strip", str(pair.parents[1])]) == 0


def test_a_lonely_half_and_a_foreign_kernel_are_found(pair, write_notebook):
    pair.with_suffix(".py").rename(pair.with_name("tab02.py"))
    assert "tab01.py is missing" in pairs.pair_problems(pair)[0]
    assert "tab02.ipynb is missing" in pairs.pair_problems(pair.with_name("tab02.ipynb"))[0]
    foreign = write_notebook(asset="tab03", kernel="venv")
    jupytext.write(nbformat.read(foreign, as_version=4), foreign.with_suffix(".py"), fmt="py:percent")
    assert "kernelspec must name python3" in pairs.pair_problems(foreign)[0]


def test_the_books_notebooks_agree_with_their_text():
    assert pairs.main([str(ROOT / "notebooks")]) == 0
