"""A bundle is renewed only where a small run of the former code and one of the present code agree."""

import json
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from privlib.pipeline import recheck
from privlib.report.bundles import Bundle, bundle_path, read_bundle, write_bundle
from privlib.report.code import code_digests

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = """count = 1000  # samples, at least 1
tier = "embedded"  # scale of the run
"""
KEEP = """from privlib import report
from privlib.report import bundles
from privlib.toy import mean

bundles.keep("tab01", globals(), tables={"main": [{"mean": mean(count)}]}, inputs={})
report.claims("tab01", {}, tier=tier)
"""


def commit(folder, message):
    name = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    subprocess.run(["git", *name, "commit", "--quiet", "--message", message], cwd=folder, check=True)
    found = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=folder, check=True, capture_output=True)
    return found.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A checkout with a bundle whose code has been written in another way since; returns it and its first commit."""
    folder = tmp_path / "checkout"
    ignored = shutil.ignore_patterns("assets", "__pycache__")
    shutil.copytree(ROOT / "privlib", folder / "privlib", ignore=ignored)
    (folder / ".gitignore").write_text("_build/\n__pycache__/\n", encoding="utf-8")
    (folder / "privlib" / "toy.py").write_text("def mean(n):\n    return sum(range(n)) / n\n", encoding="utf-8")
    cells = [new_markdown_cell("# Title"), new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = folder / "notebooks" / "paper" / "tab01.ipynb"
    notebook.parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=[*cells, new_code_cell(KEEP)], metadata={"kernelspec": kernel}), notebook)
    claims = folder / "book" / "claims" / "tab01.yml"
    claims.parent.mkdir(parents=True)
    claims.write_text("paper: p\nasset: tab01\nwhy: none\nclaims: []\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    first = commit(folder, "first")
    made = {"date": "2026-01-02", "revision": first, "device": "cpu", "parameters": {"tier": "cifar10"}, "inputs": {}}
    made["code"] = code_digests(notebook, folder)
    write_bundle(
        Bundle("tab01", "cifar10", made, {"main": [{"mean": 499.5}]}), bundle_path("tab01", "cifar10", root=folder)
    )
    (folder / "privlib" / "toy.py").write_text("def mean(n):\n    return (n - 1) / 2\n", encoding="utf-8")
    commit(folder, "closed form")
    monkeypatch.chdir(folder)
    return folder, first


@pytest.mark.slow
def test_a_change_without_effect_renews_the_bundle(repository, capsys):
    folder, first = repository
    assert read_bundle("tab01", "cifar10", root=folder).changed == ("privlib/toy.py",)
    assert recheck.main(["tab01", "-p", "count", "10"]) == 0
    bundle = read_bundle("tab01", "cifar10", root=folder)
    assert bundle.changed == () and bundle.made["revision"] == first and bundle.tables["main"] == [{"mean": 499.5}]
    assert bundle.made["rechecked"]["parameters"] == {"count": 10}
    assert "a small run at revision" in bundle.origin and "stale" not in bundle.origin
    assert not list((folder / "_build").rglob("*.json"))


@pytest.mark.slow
def test_a_change_of_the_numbers_is_refused_and_named(repository, capsys):
    folder, first = repository
    (folder / "privlib" / "toy.py").write_text("def mean(n):\n    return n / 2\n", encoding="utf-8")
    commit(folder, "wrong")
    before = bundle_path("tab01", "cifar10", root=folder).read_bytes()
    assert recheck.main(["tab01", "-p", "count", "10"]) == 1
    assert "tables.main[0].mean: 4.5 and 5.0" in capsys.readouterr().err
    assert bundle_path("tab01", "cifar10", root=folder).read_bytes() == before


def test_uncommitted_code_and_unknown_parameters_are_refused(repository, capsys):
    folder, _ = repository
    assert recheck.main(["tab01", "-p", "cuont", "10"]) == 1
    assert "unknown parameter cuont" in capsys.readouterr().err
    (folder / "privlib" / "toy.py").write_text("def mean(n):\n    return 0\n", encoding="utf-8")
    assert recheck.main(["tab01", "-p", "count", "10"]) == 1
    assert "both codes must be commits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("former", "present", "found"),
    [
        ({"a": [1.0, None, "x"]}, {"a": [1.0 + 1e-12, None, "x"]}, None),
        ({"a": [1.0]}, {"a": [1.001]}, "tables.a[0]: 1.0 and 1.001"),
        ({"a": [True]}, {"a": [False]}, "tables.a[0]: True and False"),
        ({"a": [1.0]}, {"a": [1.0, 2.0]}, "tables.a"),
        ({"a": []}, {"b": []}, "tables"),
        ({"a": [None]}, {"a": [1.0]}, "tables.a[0]"),
    ],
)
def test_differences_are_found(former, present, found):
    said = recheck._difference(json.loads(json.dumps(former)), json.loads(json.dumps(present)))
    assert said is None if found is None else said.startswith(found)
