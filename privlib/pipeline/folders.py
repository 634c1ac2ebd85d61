"""Replacing a whole folder, so that nothing of a former build survives in it and it is never seen half-written."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path


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
