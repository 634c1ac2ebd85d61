"""Renew a stale bundle where the change of code did not change what it computes, without the hours of a full run.

    python -m privlib.pipeline.recheck ASSET [--tier cifar10] -p NAME VALUE [-p NAME VALUE]...

The notebook runs twice at the parameters of the bundle but for those given, which should make it small: in the revision
that the bundle was made by, and in this checkout. Where every table is the same, the bundle takes on the digests of
the present code and says that, and how, it was rechecked. Otherwise it stays as it is, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import yaml

from privlib.pipeline.parameters import checked_parameters
from privlib.report.bundles import Bundle, BundleError, bundle_path, kept_path, read_bundle, write_bundle
from privlib.report.code import code_digests
from privlib.report.ledger import repository_root
from privlib.report.parameters import notebook_parameters
from privlib.report.provenance import notebook_source

#: Relative difference that two runs of the same computation may have: other code may sum in another order.
TOLERANCE = 1e-9


class RecheckError(RuntimeError):
    """The two small runs could not be made, or differ; the message says where."""


def recheck(asset: str, tier: str, given: Mapping[str, str], *, root: Path) -> Bundle:
    """The bundle with the digests of the present code; nothing is written.

    Args:
        asset: notebook.
        tier: scale of the bundle.
        given: parameters, as on a command line, that make the run small.
        root: top of the checkout, with nothing uncommitted.

    Raises:
        BundleError: as ``read_bundle``; the bundle is not stale, or was made by code that is in no commit.
        ParameterError: a parameter that the notebook does not know, or of the wrong type.
        RecheckError: a run failed, or a table differs.
    """
    bundle = read_bundle(asset, tier, root=root)
    made_by = str(bundle.made["revision"])
    if not bundle.changed:
        raise BundleError(f"{asset}: its code has not changed, there is nothing to check")
    # Bundles that were renewed a moment ago may lie there uncommitted.
    changes = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)book/results")
    if changes or " " in made_by:
        raise BundleError(f"{asset}: both codes must be commits; made by {made_by!r}, uncommitted here: {changes!r}")
    revision = _git(root, "rev-parse", "--short=12", "HEAD")
    source = notebook_source(asset, root)
    small = checked_parameters(source, notebook_parameters(source), dict(given))
    with tempfile.TemporaryDirectory() as scratch:
        former = Path(scratch) / "former"
        _extract(root, made_by, former)
        tables = [
            _small_run(checkout, source.relative_to(root), tier, {**bundle.made["parameters"], **small}, Path(scratch))
            for checkout in (former, root)
        ]
    if found := _difference(*tables):
        raise RecheckError(f"{asset}: revisions {made_by} and {revision} differ: {found}")
    rechecked = {"date": datetime.date.today().isoformat(), "revision": revision, "parameters": small}
    made = {**bundle.made, "code": code_digests(source, root), "rechecked": rechecked}
    return replace(bundle, made=made, changed=())


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def _extract(root: Path, revision: str, folder: Path) -> None:
    archive = folder.with_suffix(".tar")
    done = subprocess.run(["git", "archive", "--output", str(archive), revision], cwd=root, check=False)
    if done.returncode:
        raise RecheckError(f"revision {revision} is not in this repository")
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")


def _small_run(checkout: Path, notebook: Path, tier: str, parameters: Mapping[str, object], scratch: Path) -> dict:
    """Tables that the notebook keeps when it runs in ``checkout``."""
    profile = scratch / "profile.yml"
    settings = {name: value for name, value in parameters.items() if name not in ("tier", "run_folder")}
    profile.write_text(yaml.safe_dump({"tier": tier, "assets": {notebook.stem: {"parameters": settings}}}))
    kept = kept_path(notebook.stem, tier, root=checkout)
    former = kept.read_bytes() if kept.is_file() else None
    command = [sys.executable, "-m", "privlib.pipeline.run", str(notebook), str(scratch / "out.ipynb")]
    command += ["--results", str(scratch / "out.json"), "--profile", str(profile)]
    try:
        done = subprocess.run(command, cwd=checkout, env=os.environ | {"PYTHONPATH": str(checkout)}, check=False)
        if done.returncode:
            raise RecheckError(f"{notebook} failed in {checkout}; see above")
        tables = json.loads(kept.read_text(encoding="utf-8"))["tables"]
    finally:
        if former is None:
            kept.unlink(missing_ok=True)
        else:  # a full run that is not committed yet
            kept.write_bytes(former)
    # What so few samples say of the claims is of no account.
    return {name: rows for name, rows in tables.items() if name != "claims"}


def _difference(former: object, present: object, where: str = "tables") -> str | None:
    """Where two JSON values differ, in words; None if they do not."""
    if isinstance(former, float) and isinstance(present, (int, float)):
        same = math.isclose(former, present, rel_tol=TOLERANCE, abs_tol=1e-12)
        return None if same else f"{where}: {former!r} and {present!r}"
    if isinstance(former, dict) and isinstance(present, dict) and former.keys() == present.keys():
        pairs = ((former[key], present[key], f"{where}.{key}") for key in former)
    elif isinstance(former, list) and isinstance(present, list) and len(former) == len(present):
        pairs = ((*pair, f"{where}[{index}]") for index, pair in enumerate(zip(former, present, strict=True)))
    else:
        return None if former == present else f"{where}: {former!r} and {present!r}"
    return next((found for pair in pairs if (found := _difference(*pair))), None)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="privlib.pipeline.recheck", description=__doc__.partition(",")[0])
    parser.add_argument("asset", metavar="ASSET")
    parser.add_argument("--tier", default="cifar10")
    parser.add_argument("-p", dest="given", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    options = parser.parse_args(arguments)
    root = repository_root()
    try:
        bundle = recheck(options.asset, options.tier, dict(options.given), root=root)
    except (BundleError, RecheckError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    write_bundle(bundle, bundle_path(options.asset, options.tier, root=root))
    sys.stdout.write(f"{options.asset}: {bundle.origin}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
