"""What a notebook depends on: all that its imports run, and nothing else."""

import json
from pathlib import Path

import pytest

from privlib.report.dependencies import module_closure, notebook_modules

FILES = {
    "__init__.py": "",
    "types.py": "import math\n",
    "numerics.py": "from privlib.types import X\n",
    "accounting/__init__.py": "",
    "accounting/gdp.py": "from privlib import numerics\n",
    "accounting/pld.py": "def f():\n    from . import gdp\n    return gdp\n",
    "accounting/rdp.py": "from ..types import X\n",
    "report/__init__.py": "from privlib.report.display import claims\n",
    "report/display.py": "import privlib.types as t\n",
    "figures.py": "import matplotlib\n",
}


@pytest.fixture
def library(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "privlib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def used(library: Path, *sources: str) -> set[str]:
    cells = [{"cell_type": "markdown", "source": ["import privlib.figures"]}]
    cells += [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in sources]
    notebook = library / "n.ipynb"
    notebook.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return {str(path.relative_to(library / "privlib")) for path in notebook_modules(notebook, library)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import numpy", set()),
        ("import privlib", {"__init__.py"}),
        ("from privlib.types import X", {"__init__.py", "types.py"}),
        (
            "from privlib.accounting import gdp",
            {"__init__.py", "types.py", "numerics.py", "accounting/__init__.py", "accounting/gdp.py"},
        ),
        (
            "import privlib.accounting.rdp as r",
            {"__init__.py", "types.py", "accounting/__init__.py", "accounting/rdp.py"},
        ),
        ("def f():\n    from privlib import figures", {"__init__.py", "figures.py"}),
        ("from privlib import report", {"__init__.py", "types.py", "report/__init__.py", "report/display.py"}),
        ("%matplotlib inline\nif True:\n    !ls\n    import privlib.types", {"__init__.py", "types.py"}),
    ],
)
def test_imports_are_followed(library, source, expected):
    assert used(library, source) == expected


def test_functions_and_relative_imports_are_followed(library):
    assert "accounting/gdp.py" in used(library, "from privlib.accounting import pld")
    assert {path.name for path in module_closure(["privlib.accounting.pld"], library)} >= {
        "pld.py",
        "gdp.py",
        "types.py",
    }


def test_touching_one_accountant_concerns_just_its_notebooks(library):
    assert "accounting/rdp.py" not in used(
        library, "from privlib.accounting import gdp, pld\nfrom privlib import report"
    )
