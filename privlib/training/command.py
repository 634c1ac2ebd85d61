"""What the training commands have in common: a run that may be stopped, and what they say at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from privlib.data.locate import DataError


def report(run: Callable[[], Iterable[Path]]) -> int:
    """Run, and name the files that came of it; the exit status of the command.

    0 done; 1 data or weights are missing, in the words of the DataError; 130 stopped from the keyboard.
    """
    try:
        for path in run():
            sys.stderr.write(f"wrote {path}\n")
    except DataError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; the same command goes on from the last checkpoint\n")
        return 130
    return 0
