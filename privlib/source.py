"""The checksum of source code: what a stored result was made by."""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


@functools.cache
def code_checksum(*parts: str) -> str:
    """SHA-256 of modules and folders of the library, named from ``privlib``; comments and docstrings left out."""
    digest = hashlib.sha256()
    for path in sorted(path for part in parts for path in _modules(PACKAGE / part)):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
                node.body = node.body[1:]
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\n{ast.dump(tree)}\n".encode())
    return digest.hexdigest()


def _modules(part: Path) -> list[Path]:
    return [part] if part.is_file() else list(part.rglob("*.py"))
