"""Which privlib modules a notebook uses, directly or through others, read from the source without importing it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE = "privlib"


def notebook_modules(notebook: Path, root: Path) -> list[Path]:
    """Files under ``root/privlib`` that ``notebook`` imports, directly or not, sorted.

    The ``__init__`` files of packages are included, and imports inside functions count. A name that a package
    re-exports counts as the package and all that it imports. Imports by computed names are not seen.

    Raises:
        SyntaxError: a code cell or module is not valid Python.
    """
    return module_closure(_imported(ast.parse(_notebook_code(notebook), filename=str(notebook)), package=""), root)


def module_imports(path: Path, root: Path) -> set[str]:
    """Names of the privlib modules that the module at ``path`` imports itself (see ``module_path`` for what exists)."""
    parts = path.relative_to(root).with_suffix("").parts
    package = ".".join(parts[:-1])
    names = set(_imported(ast.parse(path.read_text(encoding="utf-8"), filename=str(path)), package))
    return {name for name in names if module_path(name, root) is not None}


def module_path(name: str, root: Path) -> Path | None:
    """The file of module ``name`` (a package's is its ``__init__.py``), or None if there is no such module."""
    base = root.joinpath(*name.split("."))
    for path in (base / "__init__.py", base.with_suffix(".py")):
        if path.is_file():
            return path
    return None


def module_closure(names: Iterable[str], root: Path) -> list[Path]:
    """Files of the named modules and of every privlib module that they import, directly or not, sorted."""
    found: set[Path] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        path = module_path(name, root)
        if path is None or path in found:
            continue
        found.add(path)
        # Importing a.b.c runs a and a.b first.
        waiting.extend(_parents(name))
        waiting.extend(module_imports(path, root))
    return sorted(found)


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Every name below ``privlib`` that may be a module: ``from a import b`` gives both ``a`` and ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name == PACKAGE or name.startswith(PACKAGE + "."))


def _notebook_code(notebook: Path) -> str:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in "".join(cell["source"]).splitlines()]
    # Lines for IPython alone (%matplotlib, !ls) import nothing.
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
