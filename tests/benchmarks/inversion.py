"""Textual Inversion of many pictures side by side against one after the other, on a tiny pipeline with random weights.

The ratio holds for this machine and this network, where the overhead of a call weighs most; on a real model and a GPU
it is the share of the device that a batch of one leaves idle.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings, invert
from tests.benchmarks.attempts import ROOT, say
from tests.benchmarks.machine import describe
from tests.benchmarks.report import table, write_texts
from tests.inversion import tiny


def measure(*, pictures: int, steps: int, rounds: int) -> dict[str, float]:
    """Median seconds of both ways, their ratio, and the largest difference of a vector's entry."""
    settings = Settings(tiny.TEMPLATES, tiny.WORD, steps=steps, learning_rate=0.01, batch_size=pictures)
    images, seconds, vectors = tiny.images(pictures), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        model = FrozenModel.from_pipeline(tiny.pipeline(Path(folder)))
    invert(model, images, replace(settings, steps=1))
    for name, size in (("batch", pictures), ("one_by_one", 1)):
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            vectors[name] = invert(model, images, replace(settings, batch_size=size)).vectors
            times.append(time.perf_counter() - start)
        seconds[name] = statistics.median(times)
    difference = float((vectors["batch"] - vectors["one_by_one"]).abs().max())
    return {**seconds, "ratio": seconds["one_by_one"] / seconds["batch"], "difference": difference}


def run(folder: Path, *, quick: bool) -> int:
    """Write ``inversion.json`` and ``inversion.md``; exit status 1 where the two ways disagree."""
    pictures, steps, rounds = (8, 3, 1) if quick else (24, 6, 3)
    found = measure(pictures=pictures, steps=steps, rounds=rounds)
    facts = {"machine": describe(), "threads": torch.get_num_threads(), "pictures": pictures, "steps": steps, **found}
    told = [
        ["side by side", f"{found['batch']:.3g}", "1"],
        ["one after the other", f"{found['one_by_one']:.3g}", f"{found['ratio']:.2f}"],
    ]
    text = f"# Textual Inversion of {pictures} pictures, {steps} steps\n\n"
    text += table(["way", "seconds", "times as long"], told) + "\n\n"
    text += f"Largest difference of an entry: {found['difference']:.1e}, in single precision.\n"
    write_texts(folder, {"inversion.json": json.dumps(facts, indent=1) + "\n", "inversion.md": text})
    say(f"inversion: one after the other takes {found['ratio']:.2f} times as long as side by side")
    say(f"wrote {folder.relative_to(ROOT)}/inversion.md and inversion.json")
    return 1 if found["difference"] > 1e-3 else 0
