"""A progress bar in the terminal that a notebook was started from, and nowhere in the notebook."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TextIO

from tqdm import tqdm


def follow(name: str, *, delay: float = 1.0) -> Callable[[int, int], None]:
    """What long work calls with the number of steps done and the number in all; silent where there is no terminal.

    Args:
        name: of the work, before the bar.
        delay: seconds that work may take before it shows a bar.
    """
    terminal = _terminal()
    if terminal is None:
        return lambda done, total: None
    bar = tqdm(desc=name, unit="step", file=terminal, ncols=80, mininterval=0.5, delay=delay)

    def progress(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)
        if done >= total:
            bar.close()
            terminal.close()

    return progress


def _terminal() -> TextIO | None:
    """The terminal behind this process's standard error, if it is one."""
    try:
        # A notebook's kernel puts a pipe of its own in place of descriptor 2, and answers with the one it took over.
        descriptor = sys.stderr.fileno()
    except (AttributeError, OSError):
        return None
    return os.fdopen(os.dup(descriptor), "w") if os.isatty(descriptor) else None
