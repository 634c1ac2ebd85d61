"""Throw-away notebooks that need no library to start quickly, and a profile to run them with."""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

PARAMETERS = """tier = "embedded"  # scale of the run
count = 3  # outputs released, at least 1
delta = 1e-5  # failure probability, in (0, 1)
betas = [1.0, 2.0]  # normalizations
"""


def results_cell(asset="tab01", **values):
    bundle = {"asset": asset, "tier": "embedded", "values": values, "statuses": dict.fromkeys(values, "match")}
    data = json.dumps({"application/vnd.privlib.results+json": bundle, "text/plain": "claims"})
    return new_code_cell(f"import json\nfrom IPython.display import display\ndisplay(json.loads({data!r}), raw=True)")


def image_cell(**metadata):
    data = {"image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'/>"}
    return new_code_cell(f"from IPython.display import display\ndisplay({data!r}, raw=True)", metadata=metadata)


ALT_TEXT = {"image": {"alt": "An empty square"}}


@pytest.fixture
def write_notebook(tmp_path):
    """Write a notebook of a title, a parameters cell and the given cells; returns its path."""

    def write(*cells, asset="tab01", kernel="python3"):
        head = [new_markdown_cell("# Title"), new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})]
        metadata = {"kernelspec": {"name": kernel, "language": "python", "display_name": kernel}}
        path = tmp_path / "notebooks" / "denoisers" / f"{asset}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(new_notebook(cells=[*head, *cells], metadata=metadata), path)
        return path

    return write


@pytest.fixture
def profile(tmp_path):
    """A profile file that changes one parameter of ``tab01``."""
    path = tmp_path / "smoke.yml"
    path.write_text("tier: smoke\nassets:\n  tab01: {parameters: {count: 2}}\n", encoding="utf-8")
    return path
