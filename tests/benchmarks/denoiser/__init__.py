"""Time, accuracy and memory of the empirical denoiser beside other ways to compute the same posterior mean."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch

from tests.benchmarks.attempts import ROOT, say
from tests.benchmarks.denoiser.methods import METHODS, installed
from tests.benchmarks.machine import describe

ACCURACY = 1e-5


@dataclass(frozen=True)
class Sizes:
    """How much is measured; the defaults are the sizes that aims are stated for, with d = 3,072."""

    records: int = 50_000
    batch: int = 64
    sigmas: tuple[float, ...] = (0.002, 1.0, 5.0, 80.0)
    rounds: int = 5
    accuracy_records: int = 4_000
    accuracy_sigmas: tuple[float, ...] = (0.002, 0.1, 1.0, 10.0, 80.0)
    growth: tuple[int, ...] = (50_000, 100_000, 200_000, 400_000)
    blocks: int = 1_000
    block_width: int = 25


QUICK = Sizes(
    records=2_000,
    batch=8,
    sigmas=(0.002, 5.0),
    rounds=1,
    accuracy_records=400,
    growth=(2_000, 4_000),
    blocks=20,
)


@dataclass
class Measured:
    """What has been measured so far, and on what.

    Attributes:
        speed: seconds of a call, {threads: {sigma: {method: seconds}}}; products are the time to compare with.
        accuracy: largest relative error of a row, {sigma: {method: error}}.
        memory: {method: {"bytes": beyond the data, "seconds": of the call}}.
        growth: the same for ours on bytes, {records: ...}.
        blocks: {method: {"seconds": ..., "error": ...}}.
        missing: methods that are not installed here.
    """

    machine: dict[str, str]
    sizes: Sizes
    missing: tuple[str, ...]
    speed: dict = field(default_factory=dict)
    accuracy: dict = field(default_factory=dict)
    memory: dict = field(default_factory=dict)
    growth: dict = field(default_factory=dict)
    blocks: dict = field(default_factory=dict)

    def rates(self, method: str) -> list[float]:
        """Rate of ``method`` over that of the two products, for each number of threads and sigma."""
        found = [by_method for by_sigma in self.speed.values() for by_method in by_sigma.values()]
        return [times["products"] / times[method] for times in found if method in times]

    def wrong(self) -> list[str]:
        """Where ours misses its accuracy: a defect, whatever the speed."""
        rows = [(f"sigma = {s}", m, e) for s, errors in self.accuracy.items() for m, e in errors.items()]
        rows += [("blocks", name, found["error"]) for name, found in self.blocks.items()]
        return [f"{name}, {where}: error {e:.1e}" for where, name, e in rows if "ours" in name and not e <= ACCURACY]


def measure(task: str, threads: int, **arguments) -> dict:
    """Run one task of ``worker`` in a fresh process."""
    say(f"denoiser: {task}, {threads} threads, {arguments}")
    process = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.denoiser.worker"],
        input=json.dumps({"task": task, "threads": threads, "arguments": arguments}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode != 0:
        raise RuntimeError(f"{task} {arguments}: exit status {process.returncode}\n{process.stderr[-2000:]}")
    return json.loads(process.stdout.splitlines()[-1])


def run(folder: Path, *, quick: bool) -> int:
    """Exit status: 1 where ours is less accurate than it says."""
    from tests.benchmarks.denoiser import report

    sizes = QUICK if quick else Sizes()
    methods = [name for name in METHODS if installed(name)]
    measured = Measured(describe(), sizes, tuple(name for name in METHODS if name not in methods))
    threads, batch = torch.get_num_threads(), sizes.batch
    means = [name for name in methods if "products" not in name]

    exact = [name for name in means if name != "ours_bytes"]  # ties as close as at sigma = 0.002 do not fit bytes
    measured.accuracy = measure(
        "accuracy", threads, records=sizes.accuracy_records, batch=batch, sigmas=sizes.accuracy_sigmas, methods=exact
    )
    report.write(measured, folder)
    fast = [name for name in methods if name != "keops"]
    for count in sorted({1, threads}):
        measured.speed[str(count)] = measure(
            "speed", count, records=sizes.records, batch=batch, sigmas=sizes.sigmas, methods=fast, rounds=sizes.rounds
        )
    for name in set(methods) - set(fast):
        # Tens of times slower, so at one sigma and once; the time hardly depends on either.
        once = measure(
            "speed", threads, records=sizes.records, batch=batch, sigmas=sizes.sigmas[-1:], methods=[name], rounds=1
        )
        measured.speed[str(threads)][str(sizes.sigmas[-1])].update(once[str(sizes.sigmas[-1])])
    report.write(measured, folder)
    for name in means:
        measured.memory[name] = measure("memory", threads, records=sizes.records, batch=batch, sigma=5.0, method=name)
    for records in sizes.growth:
        measured.growth[records] = measure(
            "memory", threads, records=records, batch=batch, sigma=5.0, method="ours_bytes"
        )
    measured.blocks = measure(
        "blocks",
        threads,
        records=sizes.records,
        batch=sizes.blocks,
        width=sizes.block_width,
        sigma=10.0,
        rounds=sizes.rounds,
    )
    report.write(measured, folder)
    for aim, told, met in report.verdicts(measured):
        say(f"{aim}: {told}: {'met' if met else 'NOT met'}")
    for text in measured.wrong():
        say(f"DEFECT: {text}")
    say(f"wrote {folder.name}/denoiser.md and denoiser.json")
    return 1 if measured.wrong() else 0
