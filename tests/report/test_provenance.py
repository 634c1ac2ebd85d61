"""The footer repeats the run: parameters from the notebook's own source, and a line a shell understands."""

import shlex

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from privlib import report
from privlib.report.ledger import LedgerError
from privlib.report.parameters import ParameterError, notebook_parameters
from privlib.report.provenance import papermill_line

SOURCE = """
num_steps: int = 39  # levels of the grid, at least 2
delta = 1e-5  # failure probability, in (0, 1)
betas = [1.0, 2.0]  # normalizations
name = "a b"
computed = 2 * 3  # an expression
"""


def write(root, source=SOURCE, asset="tab01"):
    folder = root / "notebooks" / "denoisers"
    folder.mkdir(parents=True, exist_ok=True)
    cell = new_code_cell(source, metadata={"tags": ["parameters"]})
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    nbformat.write(new_notebook(cells=[cell], metadata={"kernelspec": kernel}), folder / f"{asset}.ipynb")
    return folder / f"{asset}.ipynb"


def test_parameters_are_read_with_type_default_and_help(tmp_path):
    parameters = notebook_parameters(write(tmp_path))
    assert [(p.name, p.kind, p.default) for p in parameters.values()] == [
        ("num_steps", int, 39),
        ("delta", float, 1e-5),
        ("betas", list, [1.0, 2.0]),
        ("name", str, "a b"),
        ("computed", None, None),
    ]
    assert parameters["delta"].describe() == "delta (float, default 1e-05): failure probability, in (0, 1)"


def test_a_parameter_that_papermill_cannot_see_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="cannot read the parameters q: .*no '=' in its comment"):
        notebook_parameters(write(tmp_path, "q = 0.5  # as in q = B/n\n"))


def test_the_footer_names_what_was_changed(checkout, shown):
    write(checkout)
    namespace = {"num_steps": 20, "delta": 1e-5, "betas": [4.0], "name": "a b", "computed": 6, "seed": 7}
    report.footer("tab01", namespace)
    (bundle,) = shown
    text = bundle["text/plain"]
    line = next(line for line in text.splitlines() if line.startswith("Repeat"))
    assert "num_steps = 20, betas = [4.0], computed = 6" in text
    assert "Seed: 7" in text and "Device: cpu" in text and "MiB" in text and "no data or weights used" in text
    words = shlex.split(line.partition(": ")[2])
    assert words[:3] == ["papermill", "notebooks/denoisers/tab01.ipynb", "out.ipynb"]
    assert words[3:] == ["-p", "num_steps", "20", "-y", '{"betas": [4.0]}', "-p", "computed", "6"]
    assert '<section class="pv-footer"' in bundle["text/html"]


def test_text_that_looks_like_a_number_stays_text(tmp_path):
    words = shlex.split(papermill_line(tmp_path, {"name": "1e3; rm", "flag": True, "none": None}))
    assert words[3:] == ["-r", "name", "1e3; rm", "-p", "flag", "True", "-p", "none", "None"]


def test_an_unknown_asset_is_refused(checkout):
    with pytest.raises(LedgerError, match="must name one notebook .* got 'tab99'"):
        report.footer("tab99", {})


def test_the_footer_names_data_and_weights_with_their_checksums(checkout, shown):
    write(checkout)
    report.footer("tab01", {"device": "auto"}, inputs={"emoji/private": "ab" * 32, "weights/emoji": "cd" * 32})
    (bundle,) = shown
    assert "emoji/private (sha256 abababababababab), weights/emoji (sha256 cdcdcdcdcdcdcdcd)" in bundle["text/plain"]
    assert "Device: c" in bundle["text/plain"]
