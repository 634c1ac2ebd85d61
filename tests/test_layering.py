"""The dependency direction of the library, read from the source: compute never learns what shows its numbers."""

import ast
from pathlib import Path

import pytest

from privlib.report.dependencies import module_imports

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "privlib").rglob("*.py"))

# A part of the library may import its own modules and parts further up in this list.
LAYERS = [
    {"types"},
    {"numerics", "files", "source"},
    {"schedules", "data"},
    {"mechanisms", "aggregation"},
    {"guarantees"},
    {"denoisers"},
    {"samplers", "training", "inversion", "metrics"},
    {"attacks", "baselines"},  # they run the samplers and the inversion that they attack or are compared with
    {"accounting"},
    {"report", "figures", "certificates", "adaptation"},
    {"pipeline"},
]
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}

# Accountants charge descriptions of mechanisms; they never see models, data or samplers.
ACCOUNTING_SEES = {"types", "numerics", "mechanisms", "aggregation", "guarantees", "accounting"}

# The report shows numbers that it is given, so that touching an accountant re-runs just the notebooks that use it.
REPORT_SEES = {"types", "files", "report", "figures"}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(name: str) -> str:
    """The part of the library that a module belongs to; empty for the package itself."""
    return name.partition(".")[2].partition(".")[0]


def imports_of(path: Path) -> set[str]:
    """Modules that ``path`` asks for, without the packages that Python runs on the way to them."""
    names = module_imports(path, ROOT)
    return {name for name in names if not any(other.startswith(name + ".") for other in {*names, name_of(path)})}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path):
    part = part_of(name_of(path))
    if not part:
        assert not imports_of(path), "privlib itself imports nothing, so that every import stays cheap"
        return
    assert part in RANK, f"privlib.{part} is new: give it a place in LAYERS"
    used = {part_of(name) for name in imports_of(path)} - {part, ""}
    wrong = sorted(other for other in used if RANK.get(other, len(LAYERS)) >= RANK[part])
    assert not wrong, f"{name_of(path)} must not import {wrong}"
    if part == "accounting":
        assert used <= ACCOUNTING_SEES
    if part in ("report", "figures"):
        assert used <= REPORT_SEES


def test_there_is_no_cycle():
    graph = {name_of(path): imports_of(path) for path in MODULES}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail, name])
        if name not in done:
            for other in graph.get(name, ()):
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_are_short_and_compute_stays_silent(path):
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= 400, "one idea a module: split it"
    tree = ast.parse(source)
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "print" not in calls
    if part_of(name_of(path)) != "figures":
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not [name for name in imported if name.partition(".")[0] in ("matplotlib", "seaborn")]
