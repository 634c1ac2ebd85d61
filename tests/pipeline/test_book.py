"""The book as configured: every page exists, every notebook is a page, and the graph holds together."""

import shutil
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell

from tests.pipeline.conftest import results_cell

ROOT = Path(__file__).resolve().parents[2]
BUILT = {"book/status", "book/what_holds"}  # pages that the build writes
NOTEBOOKS = {str(path.relative_to(ROOT).with_suffix("")) for path in (ROOT / "notebooks").glob("*/*.ipynb")}


def pages() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]


@pytest.mark.parametrize("page", [page for page in pages() if page not in BUILT])
def test_every_page_of_the_contents_exists(page):
    assert page in NOTEBOOKS or (ROOT / f"{page}.md").is_file()


def test_every_notebook_is_a_page_with_a_ledger_file():
    assert set(pages()) >= NOTEBOOKS
    ledger = {path.stem for path in (ROOT / "book" / "claims").glob("*.yml")}
    assert {Path(notebook).name for notebook in NOTEBOOKS} <= ledger


def snakemake(folder, *arguments):
    command = [sys.executable, "-m", "snakemake", "-c1", "--max-checksum-file-size", "0", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_just_the_notebooks_concerned_are_stale(tmp_path):
    """Two tiny notebooks in a copy of the checkout: built, unchanged, one module touched, one profile changed."""
    copied = ("Snakefile", "_config.yml", "_toc.yml", "requirements.lock")
    for name in copied:
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "privlib", tmp_path / "privlib", ignore=shutil.ignore_patterns("__pycache__"))
    profile = tmp_path / "notebooks" / "profiles" / "smoke.yml"
    profile.parent.mkdir(parents=True)
    profile.write_text("tier: smoke\nassets: {}\n", encoding="utf-8")
    claims = tmp_path / "book" / "claims"
    claims.mkdir(parents=True)
    for asset, module in (("one", "gdp"), ("two", "certified")):
        text = (
            f'# %% tags=["parameters"]\nn = 1  # a number\n\n# %%\nif not n:\n    import privlib.accounting.{module}\n'
        )
        notebook = jupytext.reads(text, fmt="py:percent")
        notebook.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "Python 3"}
        notebook.cells += [results_cell(asset=asset), new_code_cell("n")]
        path = tmp_path / "notebooks" / "denoisers" / f"{asset}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)
        (claims / f"{asset}.yml").write_text(f"paper: p\nasset: {asset}\nclaims: []\n", encoding="utf-8")
    smoke = ("--config", "profile=smoke", "--")

    def stale():
        plan = snakemake(tmp_path, "--dry-run", *smoke, "one", "two")
        assert plan.returncode == 0, plan.stderr
        lines = (plan.stdout + plan.stderr).splitlines()
        return {line.split()[-1].rstrip(":") for line in lines if line.startswith(("rule ", "localrule "))}

    assert stale() == {"one", "two"}
    done = snakemake(tmp_path, *smoke, "one", "two")
    assert done.returncode == 0, done.stderr
    assert stale() == set()
    (tmp_path / "privlib" / "accounting" / "contour.py").touch()
    assert stale() == {"two"}
    assert snakemake(tmp_path, *smoke, "two").returncode == 0
    profile.write_text("tier: smoke\nassets:\n  one: {parameters: {n: 2}}\n", encoding="utf-8")
    assert stale() == {"one"}
    (claims / "two.yml").touch()
    assert stale() == {"one", "two"}
    profile.write_text("tier: smoke\nassets:\n  three: {}\n", encoding="utf-8")
    refused = snakemake(tmp_path, "--dry-run", *smoke, "one")
    assert refused.returncode != 0 and "no notebook is named three" in refused.stdout + refused.stderr
