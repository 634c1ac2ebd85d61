"""The footer of a page: everything needed to repeat the run that made it, written by code."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from html import escape
from pathlib import Path

from IPython.display import display

from privlib.report.ledger import LedgerError, repository_root
from privlib.report.parameters import Parameter, notebook_parameters

_STARTED = time.monotonic()


def footer(asset: str, namespace: Mapping[str, object], *, inputs: Mapping[str, str] | None = None) -> None:
    """Show how the page was made: revision, parameters, seed, device, cost, inputs, and the line that repeats it.

    Args:
        asset: name of the notebook; its source is found under ``notebooks/``.
        namespace: the notebook's ``globals()``, from which parameters, ``seed`` and ``device`` are read.
        inputs: checksum (SHA-256, hexadecimal) of each data set and of each file of weights by its name.

    Raises:
        LedgerError: no notebook, or more than one, of that name.
        ParameterError: the parameters cell cannot be read.
    """
    root = repository_root()
    source = notebook_source(asset, root)
    parameters = notebook_parameters(source)
    changed = changed_parameters(parameters, namespace)
    shown = ", ".join(f"{name} = {value!r}" for name, value in changed.items())
    entries = {
        "Revision": git_revision(root),
        "Parameters that differ from the defaults": shown or "none",
        "Seed": str(namespace.get("seed", "none: nothing on this page is random")),
        "Device": device_name(namespace),
        "Wall time": f"{time.monotonic() - _STARTED:.1f} s since the library was loaded",
        "Peak memory": _peak_memory(),
        "Data and weights": ", ".join(f"{name} (sha256 {digest[:16]})" for name, digest in (inputs or {}).items())
        or "no data or weights used",
        "Repeat this run": papermill_line(source.relative_to(root), changed),
    }
    items = "".join(f"<dt>{escape(key)}</dt><dd>{_value_html(key, value)}</dd>" for key, value in entries.items())
    section = f'<section class="pv-footer" aria-label="How this page was made"><dl>{items}</dl></section>'
    html = f'<div class="pv-output">{section}</div>'
    text = "\n".join(f"{key}: {value}" for key, value in entries.items())
    display({"text/html": html, "text/plain": text}, raw=True)


def notebook_source(asset: str, root: Path) -> Path:
    """The one ``<root>/notebooks/<paper>/<asset>.ipynb``; raises LedgerError if there is none or more than one."""
    found = sorted((root / "notebooks").glob(f"*/{asset}.ipynb"))
    if len(found) != 1:
        raise LedgerError(
            f"asset must name one notebook under {root / 'notebooks'}, got {asset!r} ({len(found)} found)"
        )
    return found[0]


def changed_parameters(parameters: Mapping[str, Parameter], namespace: Mapping[str, object]) -> dict[str, object]:
    """Parameters whose value in ``namespace`` is not the default; those whose default is an expression always count."""
    return {
        name: namespace[name]
        for name, parameter in parameters.items()
        if name in namespace and not (parameter.literal and namespace[name] == parameter.default)
    }


def git_revision(root: Path) -> str:
    """Commit of the checkout, with a remark if tracked files differ from it."""
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return "not in a git checkout"
    return f"{commit} with uncommitted changes" if changes else commit


def papermill_line(source: Path, changed: Mapping[str, object]) -> str:
    """The shell line that runs ``source`` with the ``changed`` parameters; run it from the top of the checkout."""
    words = ["papermill", source.as_posix(), "out.ipynb"]
    for name, value in changed.items():
        if isinstance(value, str):
            words += ["-r", name, value]
        elif value is None or isinstance(value, (bool, int, float)):
            words += ["-p", name, repr(value)]
        else:
            # papermill reads lists and mappings as YAML, of which JSON is a part.
            words += ["-y", json.dumps({name: value})]
    return shlex.join(words)


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def device_name(namespace: Mapping[str, object]) -> str:
    """The device that a notebook ran on, as its footer says it."""
    import torch  # here, because the pipeline imports this package for every notebook and needs no torch

    named = str(namespace.get("device", "cpu"))
    device = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if named == "auto" else named)
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return f"{device} (threads: {torch.get_num_threads()}; cores in the machine: {os.cpu_count()})"


def _peak_memory() -> str:
    if sys.platform == "win32":
        return "not measured on this system"
    import resource  # not on Windows

    unit = 1 if sys.platform == "darwin" else 1024  # macOS reports bytes, Linux KiB
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20:,.0f} MiB"


def _value_html(key: str, value: str) -> str:
    return f"<code>{escape(value)}</code>" if key == "Repeat this run" else escape(value)
