"""Digests see what computes, and nothing else."""

import json

import pytest

from privlib.report.code import code_digests

MODULE = '''"""What it is."""

import math


class Thing:
    """A thing."""

    def area(self):  # of a disc
        """Formula."""
        return math.pi


TEXT = "# not a comment"
'''


@pytest.fixture
def checkout(tmp_path):
    for name in ("numerics.py", "report/__init__.py", "figures.py"):
        path = tmp_path / "privlib" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(MODULE, encoding="utf-8")
    return tmp_path


def digests(checkout, *, compute="x = 1\n", parameters="seed = 0\n", figure="plot(x)\n"):
    imports = "from privlib import figures, numerics, report\n"
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Title"]},
        {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": parameters},
        {"cell_type": "code", "metadata": {"tags": ["hide-input"]}, "source": [imports, compute]},
        {"cell_type": "code", "metadata": {"mystnb": {"image": {"alt": "A plot."}}}, "source": figure},
    ]
    notebook = checkout / "notebooks" / "paper" / "fig01.ipynb"
    notebook.parent.mkdir(exist_ok=True, parents=True)
    notebook.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return code_digests(notebook, checkout)


def test_what_shows_does_not_count(checkout):
    first = digests(checkout)
    assert set(first) == {"notebooks/paper/fig01.ipynb", "privlib/numerics.py"}
    (checkout / "privlib" / "figures.py").write_text("COLOUR = 1\n")
    assert digests(checkout, parameters="seed = 1\n", figure="plot(x, 2)\n") == first
    assert digests(checkout, compute="x = 2\n") != first


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("What it is.", "What it was.\n\nAt length.", True),
        ("A thing.", "Something.", True),
        ("  # of a disc", "", True),
        ("import math\n\n", "import math  # the module\n\n# A remark.\n", True),
        ("math.pi", "math.pi * 1.0", False),
        ("# not a", "# no", False),
        ("import math", "import cmath as math", False),
    ],
)
def test_comments_and_docstrings_do_not_count(checkout, old, new, same):
    before = digests(checkout)
    assert MODULE.count(old) == 1
    (checkout / "privlib" / "numerics.py").write_text(MODULE.replace(old, new), encoding="utf-8")
    assert (digests(checkout) == before) is same
