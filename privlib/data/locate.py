"""Where data lies, and whether it is whole: clear messages in place of stack traces."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: Bundled data and weights.
ASSETS = Path(__file__).resolve().parents[1] / "assets"

#: Environment variable with the folder in which the sets that are not bundled lie, each in a folder of its own.
VARIABLE = "PRIVLIB_DATA"

ARCHIVES = ("*.tar", "*.tar.*", "*.tgz", "*.zip", "*.7z")


class DataError(RuntimeError):
    """Data or weights are missing, incomplete, or not what their checksum says."""


@dataclass(frozen=True)
class Description:
    """A set that a reader has to bring: how to recognise it on disk, and what to say where it is absent.

    Attributes:
        title: name of the set.
        names: names that its folder usually has.
        marks: glob patterns; a folder in which one of them finds something holds the set, whole or in part.
        layouts: accepted layouts, a sentence.
        source: how to get the set, a sentence.
    """

    title: str
    names: tuple[str, ...]
    marks: tuple[str, ...]
    layouts: str
    source: str


def find_folder(wanted: Description, folder: str | Path | None) -> Path:
    """The folder of a set: ``folder`` (by default the one that PRIVLIB_DATA names) or one of the usual names in it.

    Raises:
        DataError: no folder is given, or the set is not there; the message says where it was looked for, which layouts
            are accepted, how to get the data, and which archives lie there unpacked.
    """
    base = folder or os.environ.get(VARIABLE)
    advice = f"Accepted layouts: {wanted.layouts} {wanted.source}"
    if not base:
        raise DataError(
            f"{wanted.title} does not come with the library, and no folder was given: pass folder=, or set {VARIABLE} "
            f"to a folder that holds {wanted.names[0]}/. {advice}"
        )
    base = Path(base).expanduser()
    candidates = [*(base / name for name in wanted.names), base]
    for candidate in candidates:
        if any(next(candidate.glob(mark), None) for mark in wanted.marks):
            return candidate
    places = ", ".join(str(candidate) for candidate in candidates)
    archives = [str(file) for candidate in candidates for kind in ARCHIVES for file in sorted(candidate.glob(kind))]
    packed = f" These archives are not unpacked: {', '.join(archives)}." if archives else ""
    raise DataError(f"{wanted.title} was not found. Looked in: {places}.{packed} {advice}")


@cache
def check_sums(folder: Path) -> None:
    """Raise DataError unless every file listed in ``folder/SHA256SUMS`` is there and unchanged; once a process."""
    restore = "restore it with: git checkout -- privlib/assets"
    sums = folder / "SHA256SUMS"
    if not sums.is_file():
        raise DataError(f"{sums} is missing; {restore}")
    for line in sums.read_text(encoding="utf-8").splitlines():
        expected, name = line.split()
        if not (folder / name).is_file():
            raise DataError(f"{folder / name} is missing; {restore}")
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != expected:
            raise DataError(f"{folder / name} differs from its checksum; {restore}")


def write_sums(files: Iterable[Path], folder: Path) -> None:
    """Write ``SHA256SUMS`` of ``files``, which lie in ``folder`` or below it, as ``check_sums`` reads it."""
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder).as_posix()}\n"
        for file in sorted(files)
    ]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
