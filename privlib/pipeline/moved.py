"""Fail when a number or a trend that a paper prints is no longer reproduced.

    python -m privlib.pipeline.moved RESULTS...

Exit status 1 if an exact claim differs or a trend fails, and every such claim on a line of its own.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from privlib.pipeline.results import load_findings
from privlib.report.status import FAILURES


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="privlib.pipeline.moved", description="Fail if a printed number has moved.")
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS", help="results files of a build")
    findings = [finding for each in load_findings(parser.parse_args(arguments).results).values() for finding in each]
    counts = Counter(finding.status for finding in findings)
    sys.stdout.write(f"{len(findings)} claims: {', '.join(f'{n} {status}' for status, n in counts.most_common())}\n")
    moved = [finding for finding in findings if finding.status in FAILURES]
    for finding in moved:
        claim = finding.claim
        sys.stderr.write(
            f"error: {claim.id} ({claim.place}) {finding.status}: printed {claim.printed}, now {finding.value}\n"
        )
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main())
