"""Parameters of a notebook, as its cell tagged ``parameters`` declares them."""

from __future__ import annotations

import ast
import logging
from dataclasses import dataclass
from pathlib import Path

import nbformat
import papermill

_TYPES = {kind.__name__: kind for kind in (bool, int, float, str, list, tuple, dict)}


class ParameterError(ValueError):
    """A notebook's parameters cell cannot be read, or a value does not fit it."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: its ``name``, accepted ``kind`` (None accepts anything), default and the comment behind it.

    ``default`` is None and ``literal`` is False where the default is an expression rather than a plain value.
    """

    name: str
    kind: type | None
    default: object
    literal: bool
    help: str

    def describe(self) -> str:
        kind = "any type" if self.kind is None else self.kind.__name__
        default = f"default {self.default!r}" if self.literal else "default: an expression"
        return f"{self.name} ({kind}, {default})" + (f": {self.help}" if self.help else "")


def notebook_parameters(path: Path) -> dict[str, Parameter]:
    """Parameters of a notebook in the order of its parameters cell; empty if it has no such cell.

    Raises:
        ParameterError: a parameter that papermill cannot see (it skips lines with two equals signs, so a comment must
            not hold one).
    """
    log = logging.getLogger("papermill")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        seen = papermill.inspect_notebook(path)
    finally:
        log.setLevel(level)
    if hidden := _assigned_names(path) - set(seen):
        raise ParameterError(
            f"{path}: papermill cannot read the parameters {', '.join(sorted(hidden))}: "
            "write one assignment a line, and no '=' in its comment"
        )
    return {name: _parameter(entry) for name, entry in seen.items()}


def _assigned_names(path: Path) -> set[str]:
    notebook = nbformat.read(path, as_version=4)
    tagged = [cell.source for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    try:
        body = ast.parse(tagged[0]).body if tagged else []
    except SyntaxError as error:
        raise ParameterError(f"{path}: the parameters cell is not valid Python: {error}") from None
    names: set[str] = set()
    for node in body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names


def _parameter(entry: dict) -> Parameter:
    try:
        default, literal = ast.literal_eval(entry["default"]), True
    except (ValueError, SyntaxError):
        default, literal = None, False
    annotated = _TYPES.get(entry["inferred_type_name"])
    kind = annotated or (type(default) if default is not None else None)
    return Parameter(name=entry["name"], kind=kind, default=default, literal=literal, help=entry["help"])
