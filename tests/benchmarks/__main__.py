"""Measure the certified accountant, the empirical denoiser, batched inversion, or all; reports go to ``_build/bench/``.

The exit status is 1 where ours fails or is wrong, not where an aim is missed: speed depends on what else the machine
does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.benchmarks import accountant, denoiser, inversion
from tests.benchmarks.attempts import ROOT

FOLDER = ROOT / "_build" / "bench"
SUITES = {"accountant": accountant.run, "denoiser": denoiser.run, "inversion": inversion.run}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"{' or '.join(SUITES)}; all if left out")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases, limits of seconds")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.suites if name not in SUITES]
    if unknown:
        parser.error(f"unknown suite {unknown[0]!r}, choose from {', '.join(SUITES)}")
    return max(SUITES[name](FOLDER, quick=options.quick) for name in options.suites or SUITES)


if __name__ == "__main__":
    sys.exit(main())
