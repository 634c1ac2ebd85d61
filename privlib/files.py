"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Callable
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
