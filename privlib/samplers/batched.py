"""Long runs in batches, with a bar in the terminal, that can be interrupted and go on where they stopped."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from privlib.files import replace_text
from privlib.mechanisms import pooled
from privlib.numerics import check_count
from privlib.samplers.fingerprint import describe
from privlib.samplers.runs import Run
from privlib.samplers.stored import read_run, write_run
from privlib.source import code_checksum


def in_batches(
    sampler: functools.partial, *, count: int, batch_size: int, seed: int, folder: Path | str | None = None
) -> Run:
    """Draw ``count`` samples, ``batch_size`` at a time, as one run.

    Example::

        in_batches(partial(output_wise, private, plan, sampling_probability=25 / 50_000),
                   count=50_000, batch_size=256, seed=1, folder=Path("runs/emoji"))

    With a ``folder`` every finished batch is kept there at once, images and mechanism together, and a repeated call
    samples only what is missing: the result is that of an uninterrupted run to the bit (same machine, threads and
    device). ``run.json`` in the folder says what the batches were made from: sampler and arguments, checksums of data,
    weights and code, seed, batch size, versions of torch and numpy. ``count`` is not among them, so a run can be
    prolonged. A run that goes on with its own seed is one release, charged once for its ``count``; see ``noise``. The
    folder holds the seed and a checksum of the records: keep it as private as the records themselves.

    Args:
        sampler: a sampler of ``hybrid`` with all its arguments but count, seed and first_sample.
        count: number of samples.
        batch_size: samples in memory at once; lower it if memory runs out.
        seed: of the run.
        folder: where finished batches are kept; made if absent.

    Returns:
        one run: all images on the CPU, the mechanism of all of them, ``seconds`` summed over the batches.

    Raises:
        ValueError: an argument outside its range; a folder with batches of another run; a damaged file in it; with a
            folder, a sampler with an observer, which would miss the batches that are there, or with contents whose
            behaviour cannot be checked.
        torch.OutOfMemoryError: the batch does not fit on the GPU.
    """
    count, batch_size, seed = check_count(count), check_count(batch_size, "batch_size"), check_count(seed, "seed", 0)
    if not isinstance(sampler, functools.partial):
        raise ValueError(f"sampler must be a functools.partial of a sampler and its arguments, got {sampler!r}")
    if taken := {"count", "seed", "first_sample"} & sampler.keywords.keys():
        raise ValueError(f"sampler must not set {', '.join(sorted(taken))}: in_batches does")
    folder = None if folder is None else Path(folder)
    key = None if folder is None else _open_folder(folder, sampler, batch_size, seed)
    images, mechanisms, seconds = torch.empty(0), [], 0.0
    for first, size in _batches(count, batch_size, sampler.func.__name__):
        path = None if folder is None else folder / f"samples_{first:08d}_{size}.safetensors"
        if path is not None and path.exists():
            run = read_run(path, key=key)
        else:
            run = _sample(sampler, first, size, seed, batch_size)
            if path is not None:
                write_run(run, path, key=key)
        if first == 0:
            images = torch.empty((count, *run.images.shape[1:]), dtype=torch.float64)
        images[first : first + size] = run.images
        mechanisms.append(run.mechanism)
        seconds += run.seconds
    mechanism = None if None in mechanisms else pooled(mechanisms)
    return Run(images, mechanism, run.sigma, {**run.settings, "batch_size": batch_size}, seconds)


def _sample(sampler: functools.partial, first: int, size: int, seed: int, batch_size: int) -> Run:
    try:
        return sampler(count=size, first_sample=first, seed=seed)
    except torch.OutOfMemoryError as error:
        raise torch.OutOfMemoryError(
            f"the GPU ran out of memory at batch_size = {batch_size}; lower batch_size (and use another folder if "
            f"this one has batches of the old size). The allocator says: {error}"
        ) from error


def _open_folder(folder: Path, sampler: functools.partial, batch_size: int, seed: int) -> str:
    """Key of the batches of this run; ValueError if ``folder`` holds those of another."""
    if "observe" in sampler.keywords:
        raise ValueError("observe must be left out with a folder: it would miss the batches that are already there")
    made_from = {
        "sampler": describe(sampler, "sampler"),
        "seed": seed,
        "batch_size": batch_size,
        "code": code_checksum("denoisers", "samplers"),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
    text = json.dumps(made_from, indent=1, sort_keys=True)
    record = folder / "run.json"
    if any(folder.glob("samples_*.safetensors")):
        try:
            before = json.loads(record.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            before = None  # lost or damaged: what the batches are is not known
        if different := _differences(before, json.loads(text)):
            raise ValueError(
                f"{folder} holds batches of another run, which differs in {', '.join(different[:5])}; "
                "use another folder, or delete this one"
            )
    replace_text(record, text + "\n")
    return hashlib.sha256(text.encode()).hexdigest()


def _differences(before: object, now: object, name: str = "") -> list[str]:
    """Dotted names of the innermost entries that differ."""
    if isinstance(before, dict) and isinstance(now, dict) and before.keys() == now.keys():
        pairs = [(before[key], now[key], f"{name}.{key}".lstrip(".")) for key in now]
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = [(b, n, f"{name}[{i}]") for i, (b, n) in enumerate(zip(before, now, strict=True))]
    else:
        return [] if before == now else [name or "run.json"]
    return [found for pair in pairs for found in _differences(*pair)]


def _batches(count: int, batch_size: int, label: str) -> Iterator[tuple[int, int]]:
    """First sample and size of every batch, under a bar that only terminals see (``disable=None``)."""
    with tqdm(total=count, desc=label, unit="sample", disable=None) as bar:
        for first in range(0, count, batch_size):
            size = min(batch_size, count - first)
            yield first, size
            bar.update(size)
