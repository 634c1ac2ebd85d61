"""Files and folders that are whole or not there."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside ``path``, then rename: a reader sees the old file or the new one, never half of one.

    Args:
        path: where the file goes; its folder is made where there is none.
        write: called with the path to write to. What it leaves there when it raises is taken away.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """``replace_file`` by a text in UTF-8."""
    replace_file(path, lambda part: part.write_text(text, encoding="utf-8"))


@contextlib.contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """An empty folder beside ``target`` to write to; it takes the place of ``target`` if the block ends well.

    The exchange is two renames: a crash between them leaves no ``target`` rather than a mixed one. If the block raises,
    ``target`` stays as it was.
    """
    fresh, old = (target.with_name(f".{target.name}.{suffix}") for suffix in ("new", "old"))
    for folder in (fresh, old):
        shutil.rmtree(folder, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        yield fresh
        if target.exists():
            target.rename(old)
        fresh.rename(target)
    finally:
        for folder in (fresh, old):
            shutil.rmtree(folder, ignore_errors=True)
