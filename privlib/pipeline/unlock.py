"""Remove the lock that a killed Snakemake left on this folder, so that the next build starts without a hand.

    python -m privlib.pipeline.unlock

Snakemake takes its lock away when it is interrupted, but not when it is killed or the power fails, and then refuses to
start. The lock goes only if no Snakemake runs in this folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil  # comes with Snakemake


def remove_stale_lock(folder: Path) -> bool:
    """Remove Snakemake's lock files in ``folder`` unless a Snakemake works there; True if any were removed."""
    locks = list((folder / ".snakemake" / "locks").glob("*.lock"))
    if not locks or _snakemake_runs_in(folder):
        return False
    for lock in locks:
        lock.unlink(missing_ok=True)
    return True


def main() -> int:
    if remove_stale_lock(Path.cwd()):
        sys.stderr.write("removed the lock of a build that was killed\n")
    return 0


def _snakemake_runs_in(folder: Path) -> bool:
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            if process.pid != os.getpid() and any(Path(word).name == "snakemake" for word in command[:3]):
                if Path(process.cwd()) == folder.resolve():
                    return True
        except psutil.Error:
            # Gone meanwhile, or somebody else's: it cannot be writing here under our name.
            continue
    return False


if __name__ == "__main__":
    sys.exit(main())
