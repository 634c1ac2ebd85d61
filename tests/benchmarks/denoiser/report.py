"""The measurements as JSON and as Markdown."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks.attempts import MIB
from tests.benchmarks.denoiser import ACCURACY, Measured
from tests.benchmarks.denoiser.methods import BLOCK_METHODS, METHODS
from tests.benchmarks.report import table, write_texts

RATE, MEMORY, LINEAR = 0.85, 256 * MIB, 1.2


def verdicts(measured: Measured) -> list[tuple[str, str, bool]]:
    """Aim, what was measured, and whether the one meets the other."""
    rows = []
    if measured.accuracy:
        worst = max(e for errors in measured.accuracy.values() for name, e in errors.items() if "ours" in name)
        rows.append((f"relative error at most {ACCURACY:g}", f"{worst:.1e}", worst <= ACCURACY))
    for name in ("ours", "ours_bytes"):
        rates = measured.rates(name)
        if rates:
            told = f"{min(rates):.2f} to {max(rates):.2f}"
            rows.append((f"{name}: {RATE:g} of the rate of the two products", told, min(rates) >= RATE))
    extra = [found["bytes"] for name, found in measured.memory.items() if "ours" in name]
    extra += [found["bytes"] for found in measured.growth.values()]
    if extra:
        rows.append(("at most 256 MiB beyond the data", f"{max(extra) / MIB:.0f} MiB", max(extra) <= MEMORY))
    if measured.growth:
        rate = [found["seconds"] / records for records, found in measured.growth.items()]
        told = f"time for a record {rate[-1] / rate[0]:.2f} of that at the smallest size"
        rows.append((f"linear up to {max(measured.growth):,} records", told, rate[-1] <= LINEAR * rate[0]))
    return rows


def write(measured: Measured, folder: Path) -> None:
    """``denoiser.json`` and ``denoiser.md`` in ``folder``, each replaced as a whole."""
    data = asdict(measured) | {"verdicts": verdicts(measured), "wrong": measured.wrong()}
    write_texts(
        folder,
        {"denoiser.json": json.dumps(data, indent=1, allow_nan=False) + "\n", "denoiser.md": markdown(measured)},
    )


def markdown(measured: Measured) -> str:
    sizes = measured.sizes
    parts = [
        "# Benchmark of the empirical denoiser",
        f"Batch {sizes.batch}, {sizes.records:,} records of 3 x 32 x 32 numbers, synthetic smooth images. Methods take "
        f"turns in one process; times are the shortest of {sizes.rounds}. The two products `X Y^T` and `W Y` alone, in "
        "float32, have rate 1. Memory is the peak of resident memory beyond the data while a method is set up and "
        "called once, in a fresh process.",
        table(
            ["aim", "measured", "met"], [[a, told, "yes" if met else "**no**"] for a, told, met in verdicts(measured)]
        ),
        *(f"**Defect**: {text}." for text in measured.wrong()),
        "## What is compared",
        table(["method", "what it does"], [[name, _first_line(f)] for name, f in (METHODS | BLOCK_METHODS).items()]),
    ]
    for threads, by_sigma in measured.speed.items():
        rows = [
            [name, *(_rate(times, name) for times in by_sigma.values())]
            for name in METHODS
            if name not in measured.missing
        ]
        rows += [[name, *("not installed" for _ in by_sigma)] for name in measured.missing]
        parts += [f"## Rate and seconds, {threads} thread(s)", table(["method", *map(_level, by_sigma)], rows)]
    if measured.accuracy:
        names = list(next(iter(measured.accuracy.values())))
        rows = [[name, *(f"{errors[name]:.1e}" for errors in measured.accuracy.values())] for name in names]
        parts += [
            "## Largest relative error",
            f"{sizes.accuracy_records:,} records, half of them within two sigma of the other half; against direct "
            "float64 distances, for the same float32 x.",
            table(["method", *map(_level, measured.accuracy)], rows),
        ]
    if measured.memory:
        rows = [[name, f"{found['bytes'] / MIB:,.0f}"] for name, found in measured.memory.items()]
        parts += ["## Memory beyond the data", table(["method", "MiB"], rows)]
    if measured.growth:
        rows = [
            [f"{records:,}", f"{found['seconds']:.2f}", f"{1e6 * found['seconds'] / records:.2f}"]
            + [f"{found['bytes'] / MIB:,.0f}"]
            for records, found in measured.growth.items()
        ]
        parts += ["## Growth, ours on bytes", table(["records", "seconds", "microseconds a record", "MiB"], rows)]
    if measured.blocks:
        rows = [[name, f"{found['seconds']:.3f}", f"{found['error']:.1e}"] for name, found in measured.blocks.items()]
        parts += [
            f"## {sizes.blocks:,} different blocks of {sizes.block_width} in one call, sigma = 10",
            table(["method", "seconds", "largest relative error"], rows),
        ]
    parts += ["## Machine", table(["what", "value"], [list(row) for row in measured.machine.items()])]
    return "\n\n".join(parts) + "\n"


def _level(sigma: str) -> str:
    return f"sigma = {float(sigma):g}"


def _rate(times: dict[str, float], name: str) -> str:
    return f"{times['products'] / times[name]:.2f} ({times[name]:.3f} s)" if name in times else ""


def _first_line(function: object) -> str:
    return function.__doc__.strip().splitlines()[0]
