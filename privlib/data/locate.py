"""Where data lies, and whether it is whole: clear messages in place of stack traces."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

#: Bundled data and weights.
ASSETS = Path(__file__).resolve().parents[1] / "assets"


class DataError(RuntimeError):
    """Data or weights are missing, incomplete, or not what their checksum says."""


@cache
def check_sums(folder: Path) -> None:
    """Raise DataError unless every file listed in ``folder/SHA256SUMS`` is there and unchanged; once a process."""
    for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        expected, name = line.split()
        if not (folder / name).is_file():
            raise DataError(f"{folder / name} is missing; restore it with: git checkout -- privlib/assets")
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != expected:
            raise DataError(
                f"{folder / name} differs from its checksum; restore it with: git checkout -- privlib/assets"
            )
