"""What code a result was made by: one digest for each file that computes, so that a later change can be named."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tokenize
from pathlib import Path

from privlib.report.dependencies import notebook_modules

#: Modules that show results or keep them, and do not make them.
SHOWING = ("privlib/report/", "privlib/figures.py", "privlib/files.py", "privlib/pipeline/")


def code_digests(notebook: Path, root: Path) -> dict[str, str]:
    """Digest of the notebook and of every privlib module that computes for it, by path from ``root``.

    Comments, docstrings and blank lines do not count, nor do the modules of ``SHOWING``. Of the notebook neither the
    parameters count, which are recorded by their values, nor cells with an alternative text, which draw.

    Raises:
        SyntaxError: a code cell or module is not valid Python.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code" and _computes(cell["metadata"])]
    found = {notebook.relative_to(root).as_posix(): _digest("\n".join(sources))}
    for module in notebook_modules(notebook, root):
        name = module.relative_to(root).as_posix()
        if not name.startswith(SHOWING):
            found[name] = _digest(module.read_text(encoding="utf-8"))
    return found


def _computes(metadata: dict) -> bool:
    return "parameters" not in metadata.get("tags", []) and "image" not in metadata.get("mystnb", {})


def _digest(source: str) -> str:
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if documented and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines[text.lineno - 1 : text.end_lineno] = [""] * (text.end_lineno - text.lineno + 1)
    kept = "\n".join(line.rstrip() for line in lines if line.strip())
    return hashlib.sha256(kept.encode()).hexdigest()[:16]
