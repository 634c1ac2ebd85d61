"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path

import torch

from tests.benchmarks.attempts import GIB, ROOT

_PACKAGES = ("privlib", "torch", "numpy", "scipy", "dp-accounting", "prv-accountant", "pykeops")


def describe() -> dict[str, str]:
    """Processor, cores, memory, load, threads, revision and versions, each as a short text."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    rows = {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory": f"{memory:.1f} GiB",
        "load average at the start": f"{os.getloadavg()[0]:.2f}",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "torch threads": str(torch.get_num_threads()),
        "revision": _revision(),
    }
    return rows | {name: _version(name) for name in _PACKAGES}


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", listing.read_text()) if listing.exists() else None
    return found.group(1) if found else platform.processor() or "unknown"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _revision() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return process.stdout.strip() or "unknown"
